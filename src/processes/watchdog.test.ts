import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { place } from "../testing/process-place.ts";
import { byWorkspace, processTable } from "./process-table.ts";
import { allowed } from "../testing/allowed.ts";

const isRunning = (pid: number): boolean => processTable().has(pid);
const node = JSON.stringify(process.execPath);

/** Attempts of a session to exceed its limits, and the reason that each end is recorded with. */
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
  "makes many empty files": [
    "for i in $(seq 4000); do : > empty$i; done; sleep 100",
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

test("a watchdog that could not be started is started again, and watches the sessions that run by then", async (context) => {
  const { start } = await place(context, { limits: { diskMb: 10 } });
  const { execPath } = process;
  process.execPath = "/nowhere/node";
  const starting = start("for i in $(seq 30); do head -c 1000000 /dev/zero > file$i; done; sleep 100");
  const running = await starting.finally(() => (process.execPath = execPath));
  running.release();
  assert.match((await running.exited).reason, /^its files took \d+ MB/);
});

test("a home that is too large is emptied, and the agent's next session is told why and works", async (context) => {
  const { start, runner, folder } = await place(context, { limits: { diskMb: 10 } });
  const homes = () =>
    readdirSync(join(folder, "homes")).flatMap((id) => readdirSync(join(folder, "homes", id)));
  const fill =
    "mkdir -p $HOME/.cache; for i in $(seq 6); do head -c 2000000 /dev/zero > $HOME/.cache/file$i; done;";
  const first = await start(`${fill} sleep 100`);
  first.release();
  const { reason } = await first.exited;
  assert.match(
    reason,
    /^its files took \d+ MB, more than the limit of 10 MB \(maxSessionDiskMb\); its home folder/,
  );
  assert.match(reason, /was emptied/);
  assert.deepEqual(homes(), []);
  await runner.cleanUp("one");
  assert.deepEqual(readdirSync(join(folder, "workspaces")), []);
  const second = await start("ls -A $HOME | wc -l; sleep 4", "two");
  second.release();
  const { code, output } = await second.exited;
  assert.deepEqual([code, output.trim()], [0, "0"]);
  // The workspace took the space, so the home stays.
  const third = await start(
    `echo kept > $HOME/notes; for i in $(seq 30); do head -c 1000000 /dev/zero > file$i; done; sleep 100`,
    "three",
  );
  third.release();
  assert.doesNotMatch((await third.exited).reason, /home/);
  assert.deepEqual(homes(), ["notes"]);
});

test("no file can become larger than the limit for all files", async (context) => {
  const { start } = await place(context, { limits: { diskMb: 2 } });
  const running = await start("head -c 5000000 /dev/zero > file; wc -c < file");
  running.release();
  assert.equal((await running.exited).output.trim(), String(2 * 1024 * 1024));
});

test("sessions whose leases are not confirmed for 15 seconds are ended, with processes that left their group", async (context) => {
  const { start, runner, watchdog } = await place(context, { leaseMilliseconds: 15_000 });
  const running = await start(
    "setsid sleep 100 & setsid env -i /bin/sh -c 'echo $$ > pid; mv pid left; exec sleep 100' & sleep 100",
  );
  running.release();
  const workspace = runner.workspaceFor("one");
  const left = join(workspace, "left");
  // The leases are confirmed until all sessions run.
  let from = performance.now();
  for (const begun = from; !existsSync(left); from = performance.now()) {
    assert.ok(from - begun < allowed(60_000), "it does not start");
    watchdog.renewal()(15_000);
    await sleep(10);
  }
  const pid = Number(readFileSync(left, "utf8"));
  assert.ok(isRunning(pid));
  const { reason } = await running.exited;
  const took = performance.now() - from;
  assert.equal(reason, "its lease was not confirmed for 13 seconds");
  assert.ok(took > 9000 && took < allowed(15_000), `${Math.round(took)} ms`);
  for (let tries = 0; byWorkspace().has(workspace) && tries < 6000; tries++) await sleep(10);
  assert.equal(byWorkspace().get(workspace), undefined);
  for (let tries = 0; isRunning(pid) && tries < 6000; tries++) await sleep(10);
  assert.equal(isRunning(pid), false);
});
