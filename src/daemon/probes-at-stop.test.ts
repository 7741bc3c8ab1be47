// A program that never answers is asked for its version. A daemon that stops ends the program without waiting for it.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../client/client.ts";
import { createCompany } from "../contract/companies.ts";
import { listBrains, testBrain } from "../contract/hiring.ts";
import { setSecret } from "../contract/secrets.ts";
import { startDaemon } from "./daemon.ts";

test("a hanging probe ends with the daemon and never uses the closed store", async () => {
  const folder = mkdtempSync(join(tmpdir(), "agency-probes-"));
  const path = process.env["PATH"];
  const pids = join(folder, "pids");
  // The program ignores the signal to end.
  const hangs = `#!/bin/sh\ntrap "" TERM\necho $$ >> ${pids}\nwhile :; do sleep 1; done\n`;
  writeFileSync(join(folder, "claude"), hangs, { mode: 0o755 });
  process.env["PATH"] = `${folder}:${path}`;
  const bugs: unknown[] = [];
  try {
    const daemon = await startDaemon({
      home: join(folder, "home"),
      port: 0,
      schedule: false,
      log: (line) => {
        if (line["level"] === "error") bugs.push(line);
      },
    });
    const client = createClient(daemon);
    const { id: companyId } = await client.call(createCompany, { name: "Bakery" });
    await client.call(setSecret, { companyId, name: "ANTHROPIC_API_KEY", value: "sk-ant-0123456789" });
    const listed = client.call(listBrains, { companyId }).catch((error: unknown) => error);
    const tested = client
      .call(testBrain, { companyId, type: "claude_local" })
      .catch((error: unknown) => error);
    const asked = (): number[] =>
      existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n").map(Number) : [];
    while (asked().length === 0) await sleep(10);
    const begun = performance.now();
    await daemon.stop();
    const took = performance.now() - begun;
    assert.ok(took < 15_000, `the stop took ${Math.round(took)} ms, as long as a probe`);
    for (const pid of asked()) assert.throws(() => process.kill(pid, 0), /ESRCH/);
    await Promise.all([listed, tested]);
    assert.deepEqual(bugs, []);
  } finally {
    process.env["PATH"] = path;
    rmSync(folder, { recursive: true, force: true });
  }
});
