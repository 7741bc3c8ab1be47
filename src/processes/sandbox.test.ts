import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { demandHeldStill, place } from "../testing/process-place.ts";

const node = JSON.stringify(process.execPath);

test("a session in a sandbox reaches the daemon's address and no other", async (context) => {
  const { start } = await place(context, { sandbox: true });
  const ask = `for (const port of [4601, 4602]) await fetch("http://127.0.0.1:" + port + "/hello").then((answer) => answer.text(), (error) => error.cause.code).then(console.log)`;
  const running = await start(`${node} --input-type=module -e '${ask}'`);
  running.release();
  const { code, output } = await running.exited;
  assert.deepEqual([code, output], [0, "asked for /hello\nECONNREFUSED\n"]);
});

test("in a sandbox a session has its own user, processes and environment, and no rights", async (context) => {
  const { start, runner } = await place(context, { sandbox: true });
  const running = await start(
    `read -r line; echo "$line"; pwd; id -u; echo "$EXTRA"; grep CapEff /proc/self/status; ls /proc | grep -c '^[0-9]'; hostname; ls /proc/self/fd | tr '\\n' ' '; env | cut -d= -f1 | sort | tr '\\n' ' '`,
  );
  running.release();
  const { output } = await running.exited;
  const [briefing, folder, user, extra, rights, processes = "", host, rest = ""] = output.split("\n");
  assert.deepEqual(
    [briefing, folder, user, extra],
    ["the briefing", runner.workspaceFor("one"), "1000", "[redacted]"],
  );
  assert.equal(rights, "CapEff:\t0000000000000000");
  assert.ok(Number(processes) < 8, processes);
  assert.equal(host, "agency");
  // The fourth descriptor is the folder that ls reads.
  assert.equal(
    rest.trim(),
    "0 1 2 3 AGENCY_TOKEN AGENCY_URL AGENCY_WORKSPACE EXTRA HOME HTTPS_PROXY HTTP_PROXY LANG NODE_USE_ENV_PROXY NO_PROXY PATH PWD TMPDIR http_proxy https_proxy no_proxy",
  );
});

test("a sandbox shows the system, the program and files that its arguments name, and no file of a home", async (context) => {
  const { start, folder } = await place(context, { sandbox: true });
  const outside = mkdtempSync(join(tmpdir(), "agency-outside-"));
  context.after(() => rmSync(outside, { recursive: true, force: true }));
  const script = join(outside, "agent.mjs");
  writeFileSync(join(outside, "secret"), "hidden");
  writeFileSync(join(folder, "board-token"), "hidden");
  mkdirSync(join(folder, "homes", "of-another-agent"), { recursive: true });
  writeFileSync(
    script,
    `import { readdirSync, readFileSync } from "node:fs";
     const tries = { outside: () => readdirSync(process.argv[3]), secret: () => readFileSync(process.argv[3] + "/secret"),
       token: () => readFileSync(process.argv[4], "utf8"), home: () => readdirSync(process.env.AGENCY_WORKSPACE + "/../.."),
       own: () => readdirSync(process.env.HOME + "/..").length,
       root: () => readdirSync("/"), etc: () => readFileSync("/etc/shadow") };
     for (const [name, look] of Object.entries(tries))
       try { console.log(name, String(look())) } catch (error) { console.log(name, error.code) }`,
  );
  const args = [script, "first", outside, join(folder, "board-token")];
  const running = await start("", "one", { command: process.execPath, args });
  running.release();
  const { output } = await running.exited;
  const said = Object.fromEntries(
    output
      .trim()
      .split("\n")
      .map((line) => line.split(" ")),
  );
  assert.deepEqual(
    {
      ...said,
      root: said.root?.split(",").filter((name: string) => ["home", "root", "sys", "boot"].includes(name)),
    },
    {
      outside: "agent.mjs",
      secret: "ENOENT",
      token: "ENOENT",
      home: "homes,workspaces",
      own: "1",
      root: [],
      etc: "ENOENT",
    },
  );
});

test("a session in a sandbox has no keyring, no virtual sockets and no other way around its network", async (context) => {
  const { start } = await place(context, { sandbox: true });
  // add_key, keyctl and io_uring_setup; sockets of the families Unix, internet, internet 6, vsock and packet.
  const numbers = process.arch === "arm64" ? [217, 219, 425] : [248, 250, 425];
  const tries = `my ($type, $name, $value) = ("user", "name", "x");
    for (${numbers.join()}) { print syscall($_, $type, $name, $value, 1, -3), " $!\n" }
    for (1, 2, 10, 40, 17) { print socket(my $opened, $_, 1, 0) ? "opened\n" : "$!\n" }`;
  const running = await start("", "one", { command: "/usr/bin/perl", args: ["-e", tries] });
  running.release();
  const { output } = await running.exited;
  const refused = "-1 Operation not permitted";
  const unknown = "Address family not supported by protocol";
  const answers = [refused, refused, refused, "opened", "opened", "opened", unknown, unknown];
  assert.deepEqual(output.trim().split("\n"), answers);
});

test("a home behind a symbolic link works", async (context) => {
  const real = mkdtempSync(join(tmpdir(), "agency-real-"));
  context.after(() => rmSync(real, { recursive: true, force: true }));
  mkdirSync(join(real, "home"));
  symlinkSync(join(real, "home"), join(real, "link"));
  const { start } = await place(context, { sandbox: true, inside: join(real, "link") });
  const running = await start("echo written > file; cat file");
  running.release();
  const { code, output } = await running.exited;
  assert.deepEqual([code, output], [0, "written\n"]);
  assert.equal(readFileSync(join(real, "home/workspaces/one/file"), "utf8"), "written\n");
});

test("a missing command ends a session in a sandbox with an exit code", async (context) => {
  const { start } = await place(context, { sandbox: true });
  const running = await start("", "one", { command: "/nowhere/at-all", args: [] });
  running.release();
  assert.equal((await running.exited).code, 127);
});

test("a session in a sandbox does nothing before it is released, nor while it is held still", async (context) => {
  await demandHeldStill(await place(context, { sandbox: true }));
});
