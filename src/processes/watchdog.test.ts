import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { place } from "../testing/process-place.ts";
import { byWorkspace } from "./process-table.ts";

const node = JSON.stringify(process.execPath);

/** What a session tries that has limits, and the reason its end is recorded with. */
const excesses = {
  "starts more processes than it may": [
    "for i in $(seq 30); do sleep 100 & done; wait",
    /^it (ran \d+ processes and threads, more than|reached) the limit of 20 .*\(maxSessionProcesses\)$/,
  ],
  "uses more memory than it may": [
    `${node} -e 'const kept = []; setInterval(() => kept.push(Buffer.alloc(8_000_000, 1)), 10)'`,
    /^it used (\d+ MB of|more) memory,? (more )?than the limit of 150 MB \(maxSessionMemoryMb\)$/,
  ],
  "writes more than it may": [
    "for i in $(seq 30); do head -c 1000000 /dev/zero > file$i; sleep 0.05; done; sleep 100",
    /^its files took \d+ MB, more than the limit of 10 MB \(maxSessionDiskMb\)$/,
  ],
  "hides what it writes": [
    "exec 5> hidden; rm hidden; head -c 9000000 /dev/zero >&5; exec 6> more; rm more; head -c 9000000 /dev/zero >&6; sleep 100",
    /^its files took \d+ MB, more than the limit of 10 MB \(maxSessionDiskMb\)$/,
  ],
} as const;

for (const [name, [script, reason]] of Object.entries(excesses))
  test(`a session that ${name} is ended with that reason`, async (context) => {
    const limits = name.includes("processes") ? { processes: 20 } : { memoryMb: 150, diskMb: 10 };
    const { start } = await place(context, { limits });
    const running = await start(script);
    running.release();
    assert.match((await running.exited).reason, reason);
  });

test("no file becomes larger than all files together may be", async (context) => {
  const { start } = await place(context, { limits: { diskMb: 2 } });
  const running = await start("head -c 5000000 /dev/zero > file; wc -c < file");
  running.release();
  assert.equal((await running.exited).output.trim(), String(2 * 1024 * 1024));
});

test("sessions whose leases are not confirmed for 15 seconds are ended, with what left their group", async (context) => {
  const { start, watchdog, runner } = await place(context);
  const running = await start("setsid sleep 100 & (setsid env -i sleep 100 &) ; sleep 100");
  running.release();
  await sleep(2500);
  const workspace = runner.workspaceFor("one");
  assert.equal(byWorkspace().get(workspace)?.length, 3);
  const from = performance.now();
  watchdog.confirm(0);
  const { reason } = await running.exited;
  const took = performance.now() - from;
  assert.equal(reason, "its lease was not confirmed for 13 seconds");
  assert.ok(took > 9000 && took < 15_000, `${Math.round(took)} ms`);
  for (let tries = 0; byWorkspace().has(workspace) && tries < 100; tries++) await sleep(10);
  assert.equal(byWorkspace().get(workspace), undefined);
});
