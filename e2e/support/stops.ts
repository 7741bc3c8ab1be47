import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { updateCompany, viewCompany } from "../../src/contract/companies.ts";
import { createAgent } from "../../src/contract/hiring.ts";
import { pauseAgent, resumeAgent, terminateAgent, updateAgent } from "../../src/contract/agents.ts";
import { sendMessage } from "../../src/contract/mail.ts";
import { reclaimOutcome } from "../../src/contract/delegation.ts";
import { listSessions } from "../../src/contract/sessions.ts";
import { allowed } from "../../src/testing/allowed.ts";
import { byLength } from "../../src/testing/run-length.ts";
import { deaf, farewell, runaway, sleeper, tokensOf } from "./agents.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./daemon.ts";
import { checkRefused } from "./living-checker.ts";
import { allPages } from "./pages.ts";
import { gone, sessionProcesses } from "./processes.ts";

// After a stop, no token of the stopped sessions is accepted. Seconds later none of their processes is left, children included.
export const promised = 5000;

export function testStops(sandbox: "on" | "off"): void {
  describe(`stopping with the sandbox ${sandbox}`, () => {
    const workers = byLength({ quick: 20, whole: 20, long: 100 });

    test("pausing or firing stops only that agent, and resuming starts it again", (t) =>
      withCrowd(t, { sandbox, leads: 2, workers }, async ({ daemon, sessions }) => {
        const { board, home } = daemon;
        for (const [operation, reason] of [
          [pauseAgent, "the agent was paused"],
          [terminateAgent, "the agent left"],
        ] as const) {
          const victim = sessions.find(({ agentId }) => agentId !== "" && !stopped.has(agentId));
          assert.ok(victim !== undefined);
          const mine = () => sessionProcesses(home).filter(({ sessionId }) => sessionId === victim.id);
          const others = () => sessionProcesses(home).filter(({ sessionId }) => sessionId !== victim.id);
          const before = others().length;
          assert.ok(mine().length >= 3, "a shell and its two children");
          await board.call(operation, { id: victim.agentId });
          assert.deepEqual(await checkRefused(daemon.url, [victim.token]), []);
          const took = await gone(mine, promised, reason);
          t.diagnostic(`${reason}: no process ${Math.round(took)} ms after the answer`);
          await saidFarewell(home, victim.id);
          assert.equal(others().length, before);
          stopped.add(victim.agentId);
        }
        const [paused = ""] = stopped;
        await board.call(resumeAgent, { id: paused });
        assert.equal((await tokensOf(home, sessions.length + 1)).length, sessions.length + 1);
      }));

    test("reclaiming the boss of a few dozen agents leaves no process", (t) =>
      withCrowd(
        t,
        { sandbox, leads: 2, workers, runaway: sandbox === "on", deaf: true },
        async ({ daemon, boss, sessions }) => {
          const start = performance.now();
          await daemon.board.call(reclaimOutcome, { id: boss.mandateId, reason: "force-stop" });
          await gone(() => sessionProcesses(daemon.home), promised, "reclaim");
          t.diagnostic(`${sessions.length} sessions ended after ${Math.round(performance.now() - start)} ms`);
          assert.deepEqual(await checkRefused(daemon.url, tokensIn(sessions)), []);
          await nobodyWorks(daemon);
        },
      ));

    test("after kill -9 of the daemon, the next daemon ends all earlier processes", (t) =>
      withCrowd(
        t,
        { sandbox, leads: 2, workers, runaway: sandbox === "on" },
        async ({ daemon, sessions }) => {
          await daemon.kill();
          const before = new Set(sessionProcesses(daemon.home).map(({ pid }) => pid));
          const options = { home: daemon.home, env: { AGENCY_SANDBOX: sandbox } };
          const next = await startDaemon(options).ready;
          try {
            const left = () => sessionProcesses(daemon.home).filter(({ pid }) => before.has(pid));
            const took = await gone(left, promised, "kill -9");
            t.diagnostic(
              `${before.size} processes outlived it, gone ${Math.round(took)} ms after the next was ready`,
            );
            assert.deepEqual(await checkRefused(next.url, tokensIn(sessions)), []);
          } finally {
            assert.deepEqual(await next.stop(), { code: 0, signal: null });
          }
          await gone(() => sessionProcesses(daemon.home), promised, "SIGTERM");
        },
      ));

    const stopped = new Set<string>();
  });
}

export interface Crowd {
  readonly daemon: BuiltDaemon;
  readonly boss: { readonly id: string; readonly mandateId: string };
  readonly sessions: readonly { readonly id: string; readonly agentId: string; readonly token: string }[];
}

/** Hires a boss, leads below it and workers below them, all at work. The root agent is a person, who does nothing. */
export async function withCrowd(
  t: TestContext,
  size: { sandbox: string; leads: number; workers: number; runaway?: boolean; deaf?: boolean },
  play: (crowd: Crowd) => Promise<void>,
): Promise<void> {
  const home = temporaryFolder("stop");
  const daemon = await startDaemon({ home: home.path, env: { AGENCY_SANDBOX: size.sandbox } }).ready;
  try {
    const { board, companyId } = daemon;
    const { rootAgentId } = await board.call(viewCompany, { companyId });
    await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
    await board.call(updateCompany, { companyId, maxSessions: 500 });
    const hire = (name: string, reportsTo: string | undefined, brain: typeof sleeper | typeof runaway) =>
      board.call(createAgent, {
        companyId,
        name,
        role: "sleeper",
        ...brain,
        ...(reportsTo === undefined ? {} : { reportsTo }),
      });
    const boss = await hire("Chief", undefined, sleeper);
    const leads = [];
    for (let number = 0; number < size.leads; number++)
      leads.push(await hire(`Lead ${number}`, boss.id, sleeper));
    const all = [boss, ...leads];
    for (let number = 0; number < size.workers; number++) {
      const brain =
        number === 0 && size.runaway === true ? runaway : number === 1 && size.deaf === true ? deaf : sleeper;
      all.push(await hire(`Worker ${number}`, leads[number % leads.length]?.id, brain));
    }
    const start = performance.now();
    for (const { id } of all) await board.call(sendMessage, { companyId, to: id, body: "wait" });
    const said = await tokensOf(home.path, all.length);
    const live = await allPages(
      (cursor) => board.call(listSessions, { companyId, live: true, limit: 1000, cursor }),
      "sessions",
    );
    t.diagnostic(
      `${said.length} sessions said their token ${Math.round(performance.now() - start)} ms after the first message`,
    );
    const agents = new Map(live.map(({ id, agent }) => [id, agent.id]));
    const sessions = said.map(({ id, token }) => ({ id, token, agentId: agents.get(id) ?? "" }));
    assert.equal(
      new Set(sessions.map(({ agentId }) => agentId)).size,
      all.length,
      "an agent has no session, or more than one",
    );
    assert.ok(sessionProcesses(home.path).length >= 3 * all.length, "a shell and its children for each");
    await play({ daemon, boss, sessions });
  } finally {
    await daemon.stop();
    home.remove();
  }
}

/** Waits until the transcript has the farewell of a sleeper. The last lines arrive after the process is gone. */
async function saidFarewell(home: string, sessionId: string): Promise<void> {
  const path = join(home, "transcripts", `${sessionId}.jsonl`);
  for (const start = performance.now(); !readFileSync(path, "utf8").includes(farewell); await sleep(20))
    assert.ok(performance.now() - start < allowed(promised), "its program was asked to end first");
}

export async function nobodyWorks({ board, companyId }: BuiltDaemon): Promise<void> {
  assert.deepEqual((await board.call(listSessions, { companyId, live: true })).sessions, []);
}

export function tokensIn(sessions: Crowd["sessions"]): string[] {
  return sessions.map(({ token }) => token);
}
