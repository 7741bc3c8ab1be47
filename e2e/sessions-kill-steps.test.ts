import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendDeferredMessage, sendMessage } from "../src/contract/mail.ts";
import {
  createAgent,
  pauseAgent,
  resumeAgent,
  terminateAgent,
  viewAgent,
  viewCompany,
} from "../src/contract/organization.ts";
import { listOutcomes, reclaimOutcome } from "../src/contract/outcomes.ts";
import { employActors, fixedPort, readNotes, sleeper, tokensOf } from "./support/agents.ts";
import { Arena } from "./support/arena.ts";
import { type BuiltDaemon, type DaemonOptions, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { Board } from "./support/living-board.ts";
import { comeToRest } from "./support/living-campaign.ts";
import { checkLiving, checkRefused } from "./support/living-checker.ts";
import { gone, sessionProcesses } from "./support/processes.ts";
import { Random } from "./support/random.ts";
import { sqliteTables } from "./support/tables.ts";

// The daemon kills itself with SIGKILL at one named step (src/runtime/fail-points.ts). The next one must find everything
// that was begun: ended or done, never half, and go on to the end.

/** A goal that is taken on, handed to somebody hired for it, done, verified and reported. */
const wayOfAGoal = [
  "intent",
  "intended",
  "spawned",
  "recorded",
  "exited",
  "intended#2",
  "spawned#2",
  "recorded#2",
  "exited#2",
  "delivery",
  "delivered",
  ...[
    "mail.send",
    "mail.deliver#2",
    "mail.acknowledge",
    "session.start",
    "session.start#2",
    "session.end",
    "session.submit_summary",
    "outcome.create#2",
    "agent.create",
    "outcome.delegate",
    "knowledge.create",
    "outcome.submit",
    "agent.retire",
    "outcome.complete",
  ].flatMap((event) => [`before ${event}`, `after ${event}`]),
];

describe("a daemon that dies on the way of a goal", { concurrency: 2 }, () => {
  for (const step of wayOfAGoal)
    test(`at "${step}" is followed by one that brings it to its end`, () => dieOnTheWay(step));
});

async function dieOnTheWay(step: string): Promise<void> {
  await onNewHome(async (options, folder) => {
    const starting = startDaemon({ ...options, env: { ...options.env, AGENCY_FAIL_AT: step } });
    const { board, companyId, token } = await starting.ready;
    const staff = await employActors(await starting.ready, folder, { wild: false, managers: 0, maxSessions: 4 });
    const goal = { companyId, to: staff.rootId, body: "goal one" };
    const deliverAt = new Date(Date.now() + 300).toISOString();
    const later = { companyId, to: staff.rootId, body: "deferred one", deliverAt };
    // It may die before it answers.
    const calls = [
      board.call(sendMessage, goal, { key: "goal" }),
      board.call(sendDeferredMessage, later, { key: "later" }),
    ];
    await Promise.allSettled(calls);
    assert.deepEqual(await endOf(starting, step), { code: null, signal: "SIGKILL" });
    const before = readNotes(folder).sessions;

    const arena = new Arena(options);
    try {
      const daemon = await arena.start();
      await gone(() => ofSessions(options.home, before), 5000, step);
      assert.deepEqual(await checkRefused(daemon.url, before.map(({ token: old }) => old)), []);
      // Whoever got no answer asks again, under the same key.
      const sent = await daemon.board.call(sendMessage, goal, { key: "goal" });
      const deferred = await daemon.board.call(sendDeferredMessage, later, { key: "later" });
      const onlooker = new Board({ arena, staff, token, companyId, random: new Random(1) });
      await comeToRest(arena, onlooker);
      const { outcomes } = await daemon.board.call(listOutcomes, { companyId, limit: 1000 });
      const goals = outcomes.filter(({ title }) => title === "goal one");
      assert.deepEqual(goals.map(({ status }) => status), ["completed"]);
      const notes = readNotes(folder);
      const letters = [
        { kind: "letter" as const, label: "goal one", id: sent.id },
        { kind: "letter" as const, label: "deferred one", id: deferred.id },
      ];
      const tables = sqliteTables(options.home);
      const attempts = [...letters, ...onlooker.attempts, ...notes.attempts];
      const sight = await checkLiving({ daemon, options, tables, notes, attempts, moment: "at rest" });
      await tables.close();
      assert.deepEqual(sight.problems, []);
      assert.deepEqual(sessionProcesses(options.home), []);
      assert.equal(daemon.log(), "");
      await arena.stop();
    } finally {
      await arena.end();
    }
  });
}

/** Who is stopped: one agent alone, or a boss with those below it. */
const stops = {
  "outcome.reclaim": (board: BuiltDaemon["board"], id: string) =>
    board.call(reclaimOutcome, { id, reason: "enough" }),
  "agent.reclaim": (board: BuiltDaemon["board"], id: string) =>
    board.call(reclaimOutcome, { id, reason: "enough" }),
  "agent.terminate": (board: BuiltDaemon["board"], id: string) => board.call(terminateAgent, { id }),
  "agent.pause": (board: BuiltDaemon["board"], id: string) => board.call(pauseAgent, { id }),
} as const;

describe("a daemon that dies while it stops agents", { concurrency: 2 }, () => {
  for (const [event, stop] of Object.entries(stops)) {
    test(`before "${event}" has stopped nobody`, (t) => dieWhileStopping(t, event, stop, false));
    test(`after "${event}" has stopped them all, and their processes end`, (t) =>
      dieWhileStopping(t, event, stop, true));
  }
});

async function dieWhileStopping(
  t: TestContext,
  event: string,
  stop: (board: BuiltDaemon["board"], id: string) => Promise<unknown>,
  committed: boolean,
): Promise<void> {
  await onNewHome(async (options) => {
    const step = `${committed ? "after" : "before"} ${event}`;
    const starting = startDaemon({ ...options, env: { ...options.env, AGENCY_FAIL_AT: step } });
    const daemon = await starting.ready;
    const { board, companyId } = daemon;
    const boss = await board.call(createAgent, { companyId, name: "Boss", role: "boss", ...sleeper });
    const reports = [];
    for (const name of ["Ann", "Ben"]) {
      const at = { companyId, name, role: "worker", reportsTo: boss.id, ...sleeper };
      reports.push(await board.call(createAgent, at));
    }
    const all = [boss, ...reports];
    for (const { id } of all) await board.call(sendMessage, { companyId, to: id, body: "wait" });
    const before = await tokensOf(options.home, all.length);
    await stop(board, boss.id).catch(() => undefined);
    assert.deepEqual(await endOf(starting, step), { code: null, signal: "SIGKILL" });

    const next = await startDaemon(options).ready;
    try {
      await gone(() => ofSessions(options.home, before), 5000, step);
      assert.deepEqual(await checkRefused(next.url, before.map(({ token }) => token)), []);
      const statuses = [];
      for (const { id } of all) statuses.push((await next.board.call(viewAgent, { id })).status);
      const isAll = event.endsWith("reclaim");
      const stopped = event === "agent.pause" ? "paused" : "terminated";
      const expected = all.map((_, number) => committed && (isAll || number === 0));
      assert.deepEqual(
        statuses.map((status) => status === stopped),
        expected,
        statuses.join(),
      );
      // Who was not stopped goes on; who was does not come back.
      const left = expected.filter((isStopped) => !isStopped).length;
      const again = await tokensOf(options.home, before.length + left);
      assert.equal(again.length, before.length + left);
      await sleep(300);
      const live = new Set(sessionProcesses(options.home).map(({ sessionId }) => sessionId));
      assert.equal(live.size, left);
      if (committed && event === "agent.terminate")
        for (const { id } of reports)
          assert.equal(
            (await next.board.call(viewAgent, { id })).boss?.id,
            (await next.board.call(viewCompany, { companyId })).rootAgentId,
          );
      if (committed && event === "agent.pause") await next.board.call(resumeAgent, { id: boss.id });
      assert.equal(next.log(), "");
    } finally {
      assert.deepEqual(await next.stop(), { code: 0, signal: null });
    }
    assert.deepEqual(sessionProcesses(options.home), []);
    t.diagnostic(step);
  });
}

async function onNewHome(play: (options: DaemonOptions, folder: string) => Promise<void>): Promise<void> {
  const home = temporaryFolder("steps");
  const notes = temporaryFolder("notes");
  try {
    const options = { home: home.path, port: await fixedPort(), env: { AGENCY_SANDBOX: "off" } };
    await play(options, join(notes.path, "notes"));
  } finally {
    home.remove();
    notes.remove();
  }
}

/** How it ended; it must come to the step by itself. */
async function endOf(starting: ReturnType<typeof startDaemon>, step: string): Promise<unknown> {
  const tooLate = AbortSignal.timeout(60_000);
  const late = new Promise((_, reject) => {
    tooLate.addEventListener("abort", () => reject(new Error(`it never came to "${step}"`)));
  });
  try {
    return await Promise.race([starting.ended, late]);
  } catch (error) {
    await starting.kill();
    throw error;
  }
}

function ofSessions(home: string, sessions: readonly { readonly id: string }[]) {
  const ids = new Set(sessions.map(({ id }) => id));
  return sessionProcesses(home).filter(({ sessionId }) => ids.has(sessionId));
}
