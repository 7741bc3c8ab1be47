// The clock of a node may be wrong. So rules use the database's clock (`tx.now`) and waits use passing time
// (`performance.now()`). Only the files listed here read the clock of the machine.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const mayLook: Readonly<Record<string, string>> = {
  "brains/codex/login.ts":
    "Codex itself goes by this clock when it renews its login, and a token that is refused is renewed at any time",
  "cli/approvals.ts": "shows how long ago something was",
  "cli/copies.ts": "the name of a file",
  "cli/following.ts": "shows how long ago something was",
  "cli/logs.ts": "shows how long ago something was",
  "cli/main.ts": "shows how long ago something was",
  "cli/people.ts": "shows how long something still is",
  "cli/status.ts": "shows how long ago something was",
  "cli/terminal.ts": "shows how long ago something was",
  "cli/work-screens.ts": "shows how long ago something was",
  "daemon/ids.ts": "neighbours in an index; the chance behind it makes an id unique",
  "daemon/installation.ts": "when this process started, for people",
  "daemon/log-lines.ts": "the log of this machine",
  "daemon/migrating.ts": "the name of a folder",
  "daemon/opening.ts": "SQLite has no clock of its own: one process, one clock",
  "daemon/speed.ts": "a measured row",
  "daemon/telemetry.ts": "the collector compares spans of this machine",
  "processes/transcript.ts":
    "shows when a line was said; the lines of one session come from one machine and keep their order",
  "repos/mirrors.ts": "shows when this machine fetched its own mirror",
  "servers/signing-in.ts": "shows until when a link works",
  "store/copy-sqlite.ts": "SQLite has no clock of its own: one process, one clock",
};

test("only named files look at the clock of the machine", () => {
  const looking = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
    (file) =>
      file.endsWith(".ts") &&
      !/\.test\.ts$|^(?:testing|web|simulator)\//.test(file) &&
      /\bDate\.now\b|\bnew Date\(\)/.test(readFileSync(join("src", file), "utf8")),
  );
  assert.ok(looking.includes("daemon/opening.ts"));
  assert.deepEqual(
    looking.filter((file) => !(file in mayLook)),
    [],
    "a rule goes by tx.now, a wait by performance.now()",
  );
  assert.deepEqual(
    Object.keys(mayLook).filter((file) => !looking.includes(file)),
    [],
    "these files don't look at the clock any more",
  );
  assert.deepEqual(
    Object.keys(mayLook).filter((file) => !looking.includes(file)),
    [],
    "these files no longer look at the clock, so they need no permission",
  );
});
