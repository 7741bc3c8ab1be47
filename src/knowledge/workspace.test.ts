// Import by path and copies into the workspace, against a session that tries to reach files outside.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { Refusal } from "../contract/refusal.ts";
import { byLength } from "../testing/run-length.ts";
import { placeCopy, readFromWorkspace } from "./workspace.ts";
import { allowed } from "../testing/allowed.ts";

const mine = "the session's own words";
const secret = "a secret of the host";
const patience = byLength({ quick: 300, whole: 1000, long: 2000 });

describe("the workspace", () => {
  let folder: string;
  let workspace: string;
  let outside: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "agency-workspace-")));
    workspace = join(folder, "workspace");
    outside = join(folder, "outside");
    mkdirSync(join(workspace, "sub"), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(workspace, "mine"), mine);
    writeFileSync(join(workspace, "sub", "mine"), mine);
    writeFileSync(join(outside, "secret"), secret);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const read = (path: string, maxBytes = 1000): string =>
    Buffer.from(readFromWorkspace(workspace, path, maxBytes)).toString();

  test("a regular file in the workspace is read by a relative and by an absolute path", () => {
    for (const path of ["mine", "./mine", "sub/mine", "sub/../mine", join(workspace, "sub", "mine")])
      assert.equal(read(path), mine, path);
    writeFileSync(join(workspace, "empty"), "");
    assert.equal(read("empty"), "");
    // This link stays within the workspace.
    symlinkSync("sub", join(workspace, "alias"));
    assert.equal(read("alias/mine"), mine);
  });

  test("no file outside is read, whatever path leads there", () => {
    const paths = {
      "an absolute path": join(outside, "secret"),
      "a path upward": relative(workspace, join(outside, "secret")),
      "a path through a folder and upward": "sub/../../outside/secret",
      "a neighbour whose name begins the same": `${workspace}-2/secret`,
      "the environment of the daemon": "/proc/self/environ",
      "an open file of the daemon": "/proc/self/fd/0",
      "the workspace itself": ".",
      "its parent": "..",
      "a folder": "sub",
      nothing: "missing",
      "a file as a folder": "mine/x",
      "a name with NUL": `mine\0/../../outside/secret`,
      "no name": "",
    };
    mkdirSync(`${workspace}-2`);
    writeFileSync(join(`${workspace}-2`, "secret"), secret);
    for (const [what, path] of Object.entries(paths))
      assert.equal(
        codeOf(() => read(path)),
        "refused",
        what,
      );
    rmSync(`${workspace}-2`, { recursive: true });
  });

  test("links of every kind are refused", () => {
    symlinkSync(join(outside, "secret"), join(workspace, "link"));
    symlinkSync("../outside/secret", join(workspace, "relative-link"));
    symlinkSync(join(workspace, "mine"), join(workspace, "link-to-mine"));
    symlinkSync("/proc/self/environ", join(workspace, "environ"));
    symlinkSync(outside, join(workspace, "folder-link"));
    symlinkSync("..", join(workspace, "sub", "up"));
    symlinkSync("loop", join(workspace, "loop"));
    linkSync(join(outside, "secret"), join(workspace, "hard-link"));
    for (const path of [
      "link",
      "relative-link",
      "link-to-mine",
      "environ",
      "folder-link/secret",
      "sub/up/../../outside/secret",
      "loop",
      "loop/x",
      "hard-link",
    ])
      assert.equal(
        codeOf(() => read(path)),
        "refused",
        path,
      );
  });

  test("pipes, sockets and devices are refused at once", async () => {
    execFileSync("/bin/sh", ["-c", 'mkfifo "$0"', join(workspace, "pipe")]);
    const server = createServer().listen(join(workspace, "socket"));
    await once(server, "listening");
    const started = performance.now();
    for (const path of ["pipe", "socket", "/dev/zero", "/dev/null", "/dev/tty", "/dev/stdin"])
      assert.equal(
        codeOf(() => read(path)),
        "refused",
        path,
      );
    assert.ok(performance.now() - started < allowed(1000));
    server.close();
    await once(server, "close");
  });

  test("a file past the limit is too large, to the byte, also a sparse one", () => {
    writeFileSync(join(workspace, "large"), "x".repeat(100));
    assert.equal(read("large", 100).length, 100);
    assert.equal(
      codeOf(() => read("large", 99)),
      "too_large",
    );
    truncateSync(join(workspace, "large"), 2 ** 40);
    assert.equal(
      codeOf(() => read("large", 1000)),
      "too_large",
    );
  });

  test("a missing workspace leads to a refusal, not to an internal error", () => {
    rmSync(workspace, { recursive: true });
    assert.equal(
      codeOf(() => read("mine")),
      "refused",
    );
    assert.equal(
      codeOf(() => placeCopy(workspace, "id", Buffer.from("x"))),
      "refused",
    );
  });

  test("a file that grows while it is read never exceeds the limit", async () => {
    const limit = 300_000;
    const path = join(workspace, "growing");
    writeFileSync(path, "");
    const codes = await against(
      `const chunk = "x".repeat(10_000);
       for (let size = 0; ; size += chunk.length) {
         if (size > 600_000) { fs.truncateSync(data.path, 0); size = 0; }
         fs.appendFileSync(data.path, chunk);
         if (stopped()) break;
       }`,
      { path },
      () => {
        return codeOf(() => assert.ok(read("growing", limit).length <= limit));
      },
    );
    assert.deepEqual(without(codes, "answered", "too_large"), {});
  });

  test("a file that is deleted again and again is read whole or refused", async () => {
    const path = join(workspace, "fleeting");
    const codes = await against(
      `while (!stopped()) {
         fs.writeFileSync(data.path + ".new", data.mine);
         fs.renameSync(data.path + ".new", data.path);
         fs.unlinkSync(data.path);
       }`,
      { path, mine },
      () => codeOf(() => assert.equal(read("fleeting"), mine)),
    );
    assert.deepEqual(without(codes, "answered", "refused"), {});
  });

  const swaps = {
    "the file and a link to a secret": `
      fs.symlinkSync(data.secret, data.path + ".link");
      fs.renameSync(data.path + ".link", data.path);
      fs.writeFileSync(data.path + ".new", data.mine);
      fs.renameSync(data.path + ".new", data.path);`,
    "its folder and a link to the secret's folder": `
      fs.renameSync(data.folder, data.folder + ".away");
      fs.symlinkSync(data.outside, data.folder);
      fs.unlinkSync(data.folder);
      fs.renameSync(data.folder + ".away", data.folder);`,
    "the file and the secret by another name": `
      fs.linkSync(data.secret, data.path + ".link");
      fs.renameSync(data.path + ".link", data.path);
      fs.unlinkSync(data.path);
      fs.writeFileSync(data.path + ".new", data.mine);
      fs.renameSync(data.path + ".new", data.path);`,
  };
  for (const [what, swap] of Object.entries(swaps))
    test(`a session that swaps ${what} while it is read learns nothing`, async () => {
      const data = {
        path: join(workspace, "swapped", "secret"),
        folder: join(workspace, "swapped"),
        outside,
        secret: join(outside, "secret"),
        mine,
      };
      mkdirSync(data.folder);
      writeFileSync(data.path, mine);
      const codes = await against(`while (!stopped()) { ${swap} }`, data, () =>
        codeOf(() => assert.equal(read("swapped/secret"), mine)),
      );
      // Both cases occurred: the right file, and something else in its place.
      assert.deepEqual(Object.keys(codes).toSorted(), ["answered", "refused"], JSON.stringify(codes));
      assert.equal(readFileSync(data.secret, "utf8"), secret);
    });

  test("a copy is read only, and a new copy replaces the old one", () => {
    for (const content of ["first", "second, longer", "3"]) {
      const path = placeCopy(workspace, "some-id", Buffer.from(content));
      assert.equal(path, join(workspace, "kb", "some-id"));
      assert.equal(readFileSync(path, "utf8"), content);
      assert.equal(statSync(path).mode & 0o777, 0o444);
    }
    assert.deepEqual(readdirSync(join(workspace, "kb")), ["some-id"]);
    // The file belongs to the session, which may name it.
    assert.equal(read("kb/some-id"), "3");
  });

  test("a copy is written only at its place and changes no other file, whatever exists at that place", () => {
    const target = join(outside, "target");
    writeFileSync(target, secret, { mode: 0o640 });
    const place = (): string => codeOf(() => placeCopy(workspace, "id", Buffer.from("copy")));
    const kb = join(workspace, "kb");
    mkdirSync(kb);
    for (const put of [
      () => symlinkSync(target, join(kb, "id")),
      () => linkSync(target, join(kb, "id")),
      () => symlinkSync(join(outside, "new"), join(kb, "id")),
    ]) {
      put();
      assert.equal(place(), "answered");
      assert.equal(readFileSync(join(kb, "id"), "utf8"), "copy");
      rmSync(join(kb, "id"));
    }
    mkdirSync(join(kb, "id"));
    assert.equal(place(), "refused");
    rmSync(kb, { recursive: true });
    for (const link of [outside, "../outside", workspace]) {
      symlinkSync(link, kb);
      assert.equal(place(), "refused");
      rmSync(kb);
    }
    writeFileSync(kb, "a file");
    assert.equal(place(), "refused");
    assert.deepEqual(readdirSync(outside).toSorted(), ["secret", "target"]);
    assert.deepEqual([readFileSync(target, "utf8"), statSync(target).mode & 0o777], [secret, 0o640]);
  });

  test("a session that replaces the folder of the copies with a link can't redirect a copy", async () => {
    const kb = join(workspace, "kb");
    mkdirSync(kb);
    const target = join(outside, "id");
    writeFileSync(target, secret, { mode: 0o640 });
    const codes = await against(
      `const attempt = (step) => { try { step(); } catch {} };
       while (!stopped()) {
         // placeCopy may have made the folder again in between.
         attempt(() => fs.rmSync(data.kb + ".away", { recursive: true, force: true }));
         attempt(() => fs.renameSync(data.kb, data.kb + ".away"));
         attempt(() => fs.symlinkSync(data.outside, data.kb));
         attempt(() => fs.unlinkSync(data.kb));
       }`,
      { kb, outside },
      () => codeOf(() => placeCopy(workspace, "id", Buffer.from("copy"))),
    );
    assert.deepEqual(Object.keys(codes).toSorted(), ["answered", "refused"]);
    assert.deepEqual(readdirSync(outside).toSorted(), ["id", "secret"]);
    assert.deepEqual([readFileSync(target, "utf8"), statSync(target).mode & 0o777], [secret, 0o640]);
  });
});

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof Refusal && error.message !== "" && error.hint !== "") return error.code;
    throw error;
  }
  return "answered";
}

function without(counts: Record<string, number>, ...expected: string[]): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([code]) => !expected.includes(code)));
}

/** Repeats an action for a while as a thread works against it, and counts the results. */
async function against(
  work: string,
  data: Readonly<Record<string, string>>,
  attempt: () => string,
): Promise<Record<string, number>> {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `const fs = require("node:fs");
     const { parentPort, workerData: { stop, data } } = require("node:worker_threads");
     const stopped = () => Atomics.load(stop, 0) === 1;
     parentPort.postMessage("ready");
     ${work}`,
    { eval: true, workerData: { stop, data } },
  );
  const exited = once(worker, "exit");
  await once(worker, "message");
  const counts: Record<string, number> = {};
  try {
    for (const started = performance.now(); performance.now() - started < patience;) {
      const code = attempt();
      counts[code] = (counts[code] ?? 0) + 1;
    }
  } finally {
    Atomics.store(stop, 0, 1);
    await exited;
  }
  return counts;
}
