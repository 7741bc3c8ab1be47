import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { renewEvery, type Scheduler } from "../runtime/scheduler.ts";
import { openSqlite } from "../store/sqlite.ts";
import { allowed } from "../testing/allowed.ts";
import { runScheduler } from "./drive.ts";

const pause = (milliseconds: number, signal: AbortSignal) =>
  sleep(Math.max(milliseconds, 0), undefined, { signal }).catch(() => undefined);

/** A scheduler that counts its calls. */
function counting(parts: Partial<Scheduler> = {}): Scheduler & { ticks: number; renewals: number } {
  const counts = { ticks: 0, renewals: 0 };
  return Object.assign(counts, {
    start: async () => undefined,
    tick: async () => (counts.ticks++, null),
    now: () => 0,
    renewLeases: async () => void counts.renewals++,
    drain: async () => undefined,
    running: () => 0,
    stop: async () => undefined,
    ...parts,
  });
}

const until = async (isSo: () => boolean): Promise<void> => {
  for (const from = performance.now(); !isSo(); await sleep(20))
    assert.ok(performance.now() - from < allowed(10_000), "it did not happen");
};

const reportBug = (error: unknown): string => assert.fail(String(error));

test("the next tick follows the database's clock, however wrong the clock of this machine is", async () => {
  for (const hours of [-1, 1]) {
    const time = Date.now() + hours * 3_600_000;
    const store = openSqlite({ path: ":memory:", clock: () => time });
    const scheduler = counting();
    const ticking = counting({
      tick: async () => (scheduler.ticks++, time + (scheduler.ticks === 1 ? 200 : 30_000)),
      now: () => time,
    });
    const driven = await runScheduler({ store, scheduler: ticking, sleep: pause, reportBug });
    await until(() => scheduler.ticks >= 2);
    await sleep(300);
    await driven.stop();
    await store.close();
    assert.equal(scheduler.ticks, 2, "one at the start, one at the time it asked for");
  }
});

test("commits that come at once share a tick, and a tick that hangs does not hold up the leases", async () => {
  const store = openSqlite({ path: ":memory:", clock: Date.now });
  const scheduler = counting();
  const driven = await runScheduler({ store, scheduler, sleep: pause, reportBug });
  const from = performance.now();
  for (let round = 0; round < 500; round++) await store.write(async () => undefined);
  await until(() => scheduler.ticks >= 2);
  await driven.stop();
  const most = (performance.now() - from) / 25 + 2;
  assert.ok(scheduler.ticks <= most, `${scheduler.ticks} ticks instead of ${most} at most`);
  const hung = Promise.withResolvers<number | null>();
  const hanging = counting({ tick: () => hung.promise });
  const other = await runScheduler({ store, scheduler: hanging, sleep: pause, reportBug });
  await until(() => hanging.renewals >= 2);
  hung.resolve(null);
  await other.stop();
  await store.close();
});

test("leases whose renewal failed are renewed again soon", async () => {
  const store = openSqlite({ path: ":memory:", clock: Date.now });
  const failures: unknown[] = [];
  const slept: number[] = [];
  let renewals = 0;
  const scheduler = counting({
    renewLeases: async () => {
      renewals += 1;
      if (renewals === 2) throw new Error("the connection died");
    },
  });
  const driven = await runScheduler({
    store,
    scheduler,
    sleep: async (milliseconds, signal) => {
      // The scheduler itself rests for less.
      if (milliseconds < 500) return pause(milliseconds, signal);
      slept.push(milliseconds);
      return pause(slept.length < 3 ? 0 : 600_000, signal);
    },
    reportBug: (error) => (failures.push(error), ""),
  });
  await until(() => slept.length === 3);
  await driven.stop();
  await store.close();
  assert.deepEqual([slept, failures.length], [[renewEvery, 1000, renewEvery], 1]);
});

test("a daemon that drains waits for its sessions, and a second request ends the wait", async () => {
  const store = openSqlite({ path: ":memory:", clock: Date.now });
  for (const isHurried of [false, true]) {
    let live = 1;
    const asked: number[] = [];
    const scheduler = counting({
      running: () => live,
      drain: async (milliseconds) => void asked.push(milliseconds),
    });
    const driven = await runScheduler({ store, scheduler, sleep: pause, reportBug });
    let isStopped = false;
    const stopping = driven.drain(60_000).then(() => (isStopped = true));
    await sleep(300);
    assert.equal(isStopped, false);
    if (isHurried) void driven.drain(0);
    else live = 0;
    await stopping;
    await driven.stop();
    assert.deepEqual(asked, [60_000]);
  }
  await store.close();
});
