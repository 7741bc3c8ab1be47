import assert from "node:assert/strict";
import { test } from "node:test";
import { listRoster } from "../contract/roster.ts";
import { type Script, scriptedAgent, scriptedRunner, scriptedStart } from "./scripted-runner.ts";

const calls: unknown[] = [];
const make = () =>
  scriptedRunner(async ({ operation, token }) => {
    calls.push([operation.name, token]);
    return { agents: [], nextCursor: null };
  });

test("a session plays the planned script, calls with its own token, and exits with the script's exit code", async () => {
  const runner = make();
  runner.plan(scriptedAgent.id, async ({ call }) => {
    await call(listRoster, {});
    return { code: 3 };
  });
  const running = await runner.start(scriptedStart);
  assert.equal(runner.alive(), 1);
  running.release();
  assert.equal((await running.exited).code, 3);
  assert.deepEqual(calls, [["org.roster", "token"]]);
  runner.verify();
});

test("verify fails on a session without a plan and on a plan without a session", async () => {
  const runner = make();
  const running = await runner.start(scriptedStart);
  running.release();
  await running.exited;
  assert.throws(() => runner.verify(), /no session of Ann was planned/);
  runner.verify();
  runner.plan(scriptedAgent.id, async () => undefined);
  assert.throws(() => runner.verify(), /1 planned session was never started/);
});

test("verify fails on a script that threw and on a process that was never released", async () => {
  const runner = make();
  const broken: Script = async () => assert.equal(1, 2);
  runner.plan(scriptedAgent.id, broken, async () => undefined);
  const running = await runner.start(scriptedStart);
  running.release();
  assert.equal((await running.exited).code, 1);
  await runner.start(scriptedStart);
  assert.throws(() => runner.verify(), /1 !== 2/);
  assert.throws(() => runner.verify(), /neither released nor ended/);
});

test("a killed session ends at once, and its next call does not reach dispatch", async () => {
  const runner = make();
  const gate = Promise.withResolvers<void>();
  runner.plan(scriptedAgent.id, async ({ call, hold }) => {
    await hold(gate.promise);
    await call(listRoster, {});
  });
  const running = await runner.start(scriptedStart);
  running.release();
  assert.equal(runner.held(), 1);
  const before = calls.length;
  running.kill();
  assert.equal((await running.exited).code, null);
  gate.resolve();
  await new Promise(setImmediate);
  assert.equal(calls.length, before);
  assert.deepEqual([runner.alive(), runner.held()], [0, 0]);
  runner.verify();
});
