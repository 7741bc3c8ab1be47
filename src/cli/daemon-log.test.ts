// The log of a detached daemon never grows beyond its limit, and its newest lines are never lost.
import assert from "node:assert/strict";
import { closeSync, mkdtempSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { daemonLog, newestLines, openLog, shortenLog } from "./daemon-log.ts";

test("a long log is moved aside, and the daemon continues in the same file", () => {
  const home = mkdtempSync(join(tmpdir(), "agency-log-"));
  const most = 1000;
  assert.equal(newestLines(home, 5), undefined);
  const log = openLog(home);
  try {
    for (let line = 1; line <= 1000; line++) {
      writeSync(log, `line ${line}\n`);
      shortenLog(home, log, most);
      const sizes = [daemonLog, `${daemonLog}.1`].map(
        (name) => statSync(join(home, name), { throwIfNoEntry: false })?.size ?? 0,
      );
      assert.ok(
        sizes.every((size) => size <= most + 10),
        String(sizes),
      );
      const last = Math.max(1, line - 29);
      const newest = Array.from({ length: line - last + 1 }, (_, at) => `line ${last + at}`);
      assert.equal(newestLines(home, 30), newest.join("\n"));
    }
    assert.equal(statSync(join(home, `${daemonLog}.1`)).mode & 0o077, 0);
  } finally {
    closeSync(log);
    rmSync(home, { recursive: true });
  }
});
