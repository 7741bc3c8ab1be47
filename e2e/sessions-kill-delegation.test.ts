import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendMessage } from "../src/contract/mail.ts";
import { viewCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { pauseAgent, resumeAgent, terminateAgent, updateAgent, viewAgent } from "../src/contract/agents.ts";
import { reclaimOutcome } from "../src/contract/delegation.ts";
import { bothStores, type StoreKind } from "../src/testing/organization.ts";
import { sampleOf } from "../src/testing/seeds.ts";
import { sleeper, tokensOf } from "./support/agents.ts";
import { type BuiltDaemon, startDaemon } from "./support/daemon.ts";
import { checkRefused } from "./support/living-checker.ts";
import { onNewHome } from "./support/home.ts";
import { gone, sessionProcesses } from "./support/processes.ts";
import { dieOnTheWay, endOf, ofSessions } from "./support/steps.ts";

const events = ["outcome.create#2", "outcome.delegate", "outcome.submit", "agent.retire"];

/** The agents to stop: one alone, or a boss with all agents below it. */
const stops = {
  "outcome.reclaim": (board: BuiltDaemon["board"], id: string) =>
    board.call(reclaimOutcome, { id, reason: "enough" }),
  "agent.terminate": (board: BuiltDaemon["board"], id: string) => board.call(terminateAgent, { id }),
  "agent.pause": (board: BuiltDaemon["board"], id: string) => board.call(pauseAgent, { id }),
} as const;

const ways = bothStores.flatMap((store) =>
  events.flatMap((event) => [`before ${event}`, `after ${event}`]).map((step) => ({ store, step })),
);
const stopping = bothStores.flatMap((store) =>
  Object.entries(stops).flatMap(([event, stop]) =>
    [false, true].map((committed) => ({ store, event, stop, committed })),
  ),
);

describe("a daemon that dies while work is delegated", { concurrency: 2 }, () => {
  for (const { store, step } of sampleOf(ways, 3))
    test(`on ${store} at "${step}" is followed by one that brings it to its end`, () =>
      dieOnTheWay(store, step));
});

describe("a daemon that dies while it stops agents", { concurrency: 2 }, () => {
  for (const { store, event, stop, committed } of sampleOf(stopping, 4))
    test(
      committed
        ? `on ${store} after "${event}" has stopped them all, and their processes end`
        : `on ${store} before "${event}" has stopped none of them`,
      () => dieWhileStopping(store, event, stop, committed),
    );
});

async function dieWhileStopping(
  store: StoreKind,
  event: string,
  stop: (board: BuiltDaemon["board"], id: string) => Promise<unknown>,
  committed: boolean,
): Promise<void> {
  await onNewHome(store, async (options) => {
    const step = `${committed ? "after" : "before"} ${event}`;
    const starting = startDaemon({ ...options, env: { ...options.env, AGENCY_FAIL_AT: step } });
    const daemon = await starting.ready;
    const { board, companyId } = daemon;
    const { rootAgentId } = await board.call(viewCompany, { companyId });
    // The agent that gets their work back has no model.
    await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
    const boss = await board.call(createAgent, { companyId, name: "Chief", role: "boss", ...sleeper });
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
      assert.deepEqual(
        await checkRefused(
          next.url,
          before.map(({ token }) => token),
        ),
        [],
      );
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
      // Agents that were not stopped continue. Stopped agents do not start again.
      const left = expected.filter((isStopped) => !isStopped).length;
      const again = await tokensOf(options.home, before.length + left);
      assert.equal(again.length, before.length + left);
      await sleep(300);
      const live = (): number =>
        new Set(sessionProcesses(options.home).map(({ sessionId }) => sessionId)).size;
      for (let tries = 0; live() > left && tries < 300; tries++) await sleep(100);
      assert.equal(live(), left);
      if (committed && event === "agent.terminate")
        for (const { id } of reports)
          assert.equal((await next.board.call(viewAgent, { id })).boss?.id, rootAgentId);
      if (committed && event === "agent.pause") await next.board.call(resumeAgent, { id: boss.id });
      assert.equal(next.log(), "");
    } finally {
      assert.deepEqual(await next.stop(), { code: 0, signal: null });
    }
    assert.deepEqual(sessionProcesses(options.home), []);
  });
}
