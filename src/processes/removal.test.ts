import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { remover } from "./removal.ts";

const isRoot = process.getuid?.() === 0;
/** Root can enter every folder. So if the tests run as root, these run as another user as well. */
const users = isRoot ? (["root", "nobody"] as const) : (["this user"] as const);

/** Things that a session can leave behind. Each is a shell script that runs in the workspace. */
const shapes: Readonly<Record<string, string>> = {
  "a folder without any right": "mkdir a && echo x > a/file && chmod 000 a",
  "folders without rights in each other": "mkdir -p a/b/c && echo x > a/b/c/file && chmod 000 a/b/c a/b a",
  "folders that can't be changed":
    "mkdir -p a/b && echo x > a/b/file && chmod 400 a/b/file && chmod 555 a/b a",
  "files without rights": "echo x > a && chmod 000 a && mkdir b && mkfifo b/pipe && chmod 111 b",
  "a path that is too long": deep(200, ""),
  "a long path without rights": deep(100, 'fs.mkdirSync("e"); fs.chmodSync("e", 0); fs.chmodSync(".", 0);'),
  "names like options": "mkdir -p -- '-rf' '--help' '; id' '$(id)' '*' && echo x > '-rf/\n'",
  "links to the outside":
    "ln -s ../outside a && ln -s / b && mkdir c && ln -s ../../outside/file c/d && ln -s . e && chmod 000 c",
  "the workspace itself without rights": "echo x > a && chmod 000 .",
};

for (const user of users)
  describe(`removing the folder of a session as ${user}`, () => {
    for (const [name, script] of Object.entries(shapes))
      test(`${name}: nothing is left, and nothing outside is touched`, (context) => {
        const folder = mkdtempSync(join(tmpdir(), "agency-removal-"));
        context.after(() => {
          execFileSync("chmod", ["-R", "u+rwx", folder]);
          rmSync(folder, { recursive: true });
        });
        chmodSync(folder, 0o777);
        const outside = join(folder, "outside");
        mkdirSync(outside, { mode: 0o777 });
        writeFileSync(join(outside, "file"), "outside", { mode: 0o666 });
        chmodSync(outside, 0o777);
        const workspace = join(folder, "workspace");
        as(user, "sh", "-c", `mkdir -p '${workspace}' && cd '${workspace}' && ${script}`);
        assert.equal(existsSync(workspace), true);
        const module = JSON.stringify(new URL("removal.ts", import.meta.url).href);
        const call = `import { remover } from ${module}; await remover()(${JSON.stringify(workspace)});`;
        as(user, process.execPath, "--input-type=module", "-e", call);
        assert.equal(existsSync(workspace), false);
        assert.equal(readFileSync(join(outside, "file"), "utf8"), "outside");
      });
  });

test("a workspace that became a link is removed, but not the link's target", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "agency-removal-"));
  context.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "outside"), { mode: 0o500 });
  symlinkSync(join(folder, "outside"), join(folder, "workspace"));
  const remove = remover();
  await remove(join(folder, "workspace"));
  await remove(join(folder, "workspace"));
  assert.deepEqual(
    [existsSync(join(folder, "workspace")), existsSync(join(folder, "outside"))],
    [false, true],
  );
});

test("20,000 files are removed while the daemon keeps answering", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "agency-removal-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync("sh", ["-c", "for i in $(seq 20); do mkdir $i; (cd $i && touch $(seq 1000)); done"], {
    cwd: folder,
  });
  let turns = 0;
  const counting = setInterval(() => turns++, 1);
  await remover()(folder);
  clearInterval(counting);
  assert.equal(existsSync(folder), false);
  assert.ok(turns > 5, `the daemon had ${turns} turns meanwhile`);
});

/** Node enters one folder after the other. A shell would fail to print its working directory. */
function deep(levels: number, then: string): string {
  const enter = `for (let i = 0; i < ${levels}; i++) { fs.mkdirSync(n); process.chdir(n); }`;
  return `'${process.execPath}' -e 'const n = "d".repeat(100); ${enter} ${then}'`;
}

function as(user: (typeof users)[number] | "this user", ...command: readonly string[]): void {
  const [program = "", ...args] =
    user === "nobody"
      ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", ...command]
      : command;
  execFileSync(program, args, { stdio: "pipe" });
}
