import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bounded, ownTools } from "./own-tools.ts";
import { allowed } from "../../testing/allowed.ts";

const folder = mkdtempSync(join(tmpdir(), "agency-tools-"));
const { tools, stop } = ownTools(folder);
after(() => {
  stop();
  rmSync(folder, { recursive: true, force: true });
});
const run = async (name: string, input: unknown) => {
  const found = tools.find((tool) => tool.name === name);
  assert.ok(found !== undefined);
  return found.run(input);
};

describe("the tools of an API brain", () => {
  test("read returns a part with the number of lines, or the whole file as it is", async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `line ${index}`);
    writeFileSync(join(folder, "long"), lines.join("\n"));
    const { text } = await run("read", { path: "long", offset: 2990 });
    assert.equal(text, `${lines.slice(2990).join("\n")}\n(3000 lines in all)`);
    const first = await run("read", { path: "long" });
    assert.ok(first.text.startsWith("line 0\n") && !first.text.includes("line 2000\n"));
    await run("write", { path: "a/b/short", content: "öne\n" });
    assert.deepEqual(await run("read", { path: "a/b/short" }), { text: "öne\n", failed: false });
    assert.equal((await run("read", { path: "none" })).failed, true);
    assert.equal((await run("read", { path: 7 })).failed, true);
  });

  test("edit replaces exactly one text, or all if asked, and takes the new text as it is", async () => {
    await run("write", { path: "file", content: "a b a" });
    assert.match((await run("edit", { path: "file", old: "a", new: "c" })).text, /occurs 2 times/);
    assert.match((await run("edit", { path: "file", old: "x", new: "c" })).text, /does not occur/);
    assert.equal((await run("edit", { path: "file", old: "b", new: "$& $1" })).failed, false);
    await run("edit", { path: "file", old: "a", new: "c", all: true });
    assert.equal(readFileSync(join(folder, "file"), "utf8"), "c $& $1 c");
  });

  test("shell limits the length of its output, and ends a command with all processes it started", async () => {
    const { text } = await run("shell", { command: "echo begin; yes | head -c 300000; echo end" });
    assert.ok(
      text.length < 31_000 && text.startsWith("begin") && text.endsWith("end\n\n(exit code 0)"),
      text,
    );
    assert.match(text, /characters left out/);
    const command = `sleep 600 & echo $! > ${join(folder, "pid")}; sleep 600`;
    // On a busy machine, the second command may not run in time.
    for (let seconds = 3; !existsSync(join(folder, "pid")); seconds *= 2) {
      const ended = await run("shell", { command, timeoutSeconds: seconds });
      assert.ok(ended.text.includes(`(ended after ${seconds} seconds)`), ended.text);
    }
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    assert.ok(pid > 0);
    for (let tries = 0; tries < 3000 && isRunning(pid); tries++) await sleep(20);
    assert.equal(isRunning(pid), false);
  });

  test("a command that leaves a process in the background does not hold the session, and the end of the session ends both", async () => {
    const begun = performance.now();
    const { text } = await run("shell", { command: "sleep 60 & echo $!" });
    assert.ok(performance.now() - begun < allowed(5000));
    const pid = Number(/^\d+/.exec(text)?.[0]);
    assert.ok(process.kill(pid, 0));
    stop();
    for (let tries = 0; tries < 3000 && isRunning(pid); tries++) await sleep(20);
    assert.equal(isRunning(pid), false);
  });

  test("a bounded text has its beginning and its end", () => {
    assert.equal(bounded("short", 100), "short");
    const cut = bounded(`${"a".repeat(500)}${"b".repeat(500)}`, 90);
    assert.match(cut, /^a{30}\n… 910 characters left out …\nb{60}$/);
  });
});

/** A zombie counts as ended. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
