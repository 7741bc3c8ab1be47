import { monthOf } from "../budgets/budget.ts";
import { moneyOf } from "../budgets/requested.ts";
import { markSeen, newEvents, type Seen, seenSoFar, sumOf } from "../events/ledger.ts";
import { expire } from "../approvals/concluding.ts";
import { approvalById } from "../approvals/table.ts";
import { companiesWithHalted, pauseFor, resumeHalted } from "../budgets/halting.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { type Writing, writeIn } from "../dispatch/context.ts";
import type { ReadTx } from "../store/store.ts";
import { tellOnce } from "../mail/notices.ts";
import { deliver } from "../mail/post.ts";
import { messageById } from "../mail/table.ts";
import { seeNodes } from "../readers/nodes.ts";
import { agentsAhead } from "./agents-ahead.ts";
import { concerned } from "./concerned.ts";
import type { NodeParts } from "./node-parts.ts";
import { keepNodeTrouble } from "./node-trouble.ts";
import { createNodeSessions } from "./node-sessions.ts";
import { type Due, dueNow, type DueThing } from "./due.ts";
import { overloadedOf, suggestGrowth } from "./growth.ts";
import { createLanes, type InCompany } from "./lanes.ts";
import { brainWaits } from "./texts.ts";
import { agentsAfter, readinessOf, type Readiness, withWork } from "./work.ts";

/**
 * The scheduler of one node. Its memory is never the truth: whether an agent has work, whether a session is live and when a
 * message is due are read from the store each time. Its memory (which agents to look at, which agents wait for a free place)
 * may be lost at any moment. The sweep then finds everything again.
 *
 * tick() does a bounded amount of all pending work and returns the time for the next call. The daemon calls it after commits
 * and at that time. The simulator calls it at any time.
 */
export interface Scheduler {
  /** Ends what an earlier run of this node left, then ticks once. */
  start(): Promise<void>;
  /** Returns when to call again at the latest, on the database's clock in milliseconds. Null means at the next commit. */
  tick(): Promise<number | null>;
  /** The database's time at the end of the last tick. A node's own clock may be hours ahead of it. */
  readonly now: () => number;
  /** Renews the leases of this node, without waiting for any company or tick. */
  renewLeases(): Promise<void>;
  /** Starts no more sessions and asks the running ones to stop. They are ended after this time. */
  drain(milliseconds: number): Promise<void>;
  /** Ends every session of this node. */
  stop(): Promise<void>;
  readonly running: () => number;
}

export const renewEvery = 5000;
const pauseWhileBusy = 1000;
const usualSweep = 30_000;
const sweepSize = 50;
/** The most rounds of a tick. The next tick continues. */
const mostRounds = 10;
/** How many agents are looked at together on a node with limited room. Once the node is full, the others are not read. */
const looksAtOnce = 100;
/** Events after which a waiting agent may find a place: a session ended, or a limit or a budget was raised. */
const freesAPlace = new Set([
  "session.end",
  "company.update",
  "company.thaw",
  "agent.pause",
  "agent.terminate",
  "agent.retire",
  "agent.reclaim",
  "outcome.reclaim",
  "agent.set_budget",
  "agent.update",
  "budget.release",
  "provider.put",
  "provider.remove",
  "secret.set",
]);

/** Events that may change which MCP servers an agent may use: of grants, of outcomes and holders that end, of servers. */
const changesGrants =
  /^(?:permission|mcp_server|company|approval|reorganization)\.|^outcome\.(?:delegate|complete|close|reopen|reclaim)$|^agent\.(?:create|terminate|retire|reclaim)$/;

/** Calls that a person makes after repairing a brain, or to see whether it works. */
const mendsBrains = new Set(["agent.resume", "agent.wakeup", "brain.test", "secret.set"]);

interface SeenAgent {
  readonly id: string;
  readonly verdict: Readiness;
  /** Whether the brain's program is missing here but installed on another node. */
  readonly startsElsewhere: boolean;
}

export function createScheduler(parts: NodeParts): Scheduler {
  const { store, newId, sweepEvery = usualSweep } = parts;
  const at = async (step: string): Promise<void> => parts.at?.(step);
  const writeFor = (companyId: string, work: (call: Writing) => Promise<void>): Promise<void> =>
    writeIn(store, companyId, newId, work);
  const canStart = (brainType: string): boolean => parts.runner.canStart(brainType);
  const { troubleOf } = parts.brains ?? {};
  const agents = agentsAhead();
  /** The last event of each company that was followed, and the time up to which ended blocks have been noticed. */
  let seen: Seen = new Map();
  let alarmsSeen = 0;
  let renewed = 0;
  /** The database's time at the last transaction. */
  let time = 0;
  let swept = 0;
  /** The last agent of the current round of the sweep. Empty at the start of a round. */
  let sweepFrom = "";
  let month = "";
  let firstRound = true;
  /** True if a grant may have changed since the settings of the running sessions were compared. */
  let settingsMayDiffer = true;
  let stopping = false;
  let draining = false;
  const lanes = createLanes(parts.patience, parts.reportBug);
  /** True if this round did some of the work it found. Then there may be more to do. */
  let hasActed = false;
  /** True if not all new events were read. */
  let hasMoreNews = false;
  const run: InCompany = async (companyId, work) => {
    const isFree = await lanes.run(companyId, work);
    if (isFree) hasActed = true;
    return isFree;
  };
  const trouble = parts.trouble ?? keepNodeTrouble();
  const sessions = createNodeSessions(
    { ...parts, trouble },
    {
      freed: agents.placeFreed,
      full: agents.waitIn,
      run,
      runUncounted: lanes.run,
      roomFreed: agents.roomFreed,
      rests: () => trouble.restsUntil() > time,
    },
  );

  async function tick(): Promise<number | null> {
    for (let round = 1; ; round++) {
      await sessions.catchUp();
      hasActed = false;
      const found = await store.read(look);
      await act(found).catch((error: unknown) => {
        // These agents are no longer noted, and only the slow sweep would find them again.
        for (const { id } of found.verdicts) agents.lookAt(id);
        throw error;
      });
      if (stopping) return null;
      const isDone = !hasActed && !hasMoreNews && (agents.toLookAt() === 0 || draining);
      if (isDone) return nextTime(found.due.times);
      if (round === mostRounds) return time;
    }
  }

  /** Reads everything that a tick needs, in one transaction. Changes follow later, in transactions of their companies. */
  async function look(tx: ReadTx) {
    const { now } = tx;
    time = now;
    const processes = sessions.processes();
    const due = await dueNow(tx, { nodeId: parts.nodeId, alarmsAfter: alarmsSeen, followed: sumOf(seen) });
    for (const id of due.alarmed) agents.lookAt(id);
    alarmsSeen = now;
    await noteEvents(tx, due.chains);
    agents.reach(now);
    // The node may have rested until now.
    if (agents.waitsForRoom() && sessions.hasRoom()) agents.roomFreed();
    const isSweep = firstRound || now - swept >= sweepEvery;
    return {
      now,
      due,
      isSweep,
      overloaded: isSweep ? await sweep(tx) : [],
      halted: month === monthOf(now) ? null : await tx.all(companiesWithHalted, {}),
      unwanted: await sessions.look(tx, due, processes, settingsMayDiffer),
      verdicts: await lookAtAgents(tx),
    };
  }

  async function act(found: Awaited<ReturnType<typeof look>>): Promise<void> {
    const { now, due } = found;
    await deliverAll(due.mail);
    await expireAll(due.approvals);
    if (found.halted !== null && (await renewBudgets(found.halted))) month = monthOf(now);
    if (now - renewed >= renewEvery) await renewLeases();
    if (found.isSweep) {
      for (const companyId of (await parts.brains?.lookAgain()) ?? []) agents.placeFreed(companyId);
      await suggestGrowth(store, found.overloaded, newId, run);
    }
    settingsMayDiffer = !(await sessions.end(found.unwanted, now));
    await startAll(found.verdicts, now);
  }

  async function renewLeases(): Promise<void> {
    renewed = await sessions.renewLeases();
  }

  /** Reads the events since the last look and notes the agents they concern. */
  async function noteEvents(tx: ReadTx, chains: Due["chains"]): Promise<void> {
    const events = await newEvents(tx, seen, chains);
    for (const { operation, session_id, company_id, actor_kind } of events) {
      if (mendsBrains.has(operation) && actor_kind === "board") {
        parts.brains?.mended(company_id);
        trouble.mended();
        agents.placeFreed(company_id);
      }
      if (operation === "session.submit_summary" && session_id !== null)
        sessions.summarySubmitted(session_id, tx.now);
      if (freesAPlace.has(operation)) agents.placeFreed(company_id);
      if (changesGrants.test(operation)) settingsMayDiffer = true;
    }
    for (const id of await concerned(tx, events)) agents.lookAt(id);
    markSeen(seen, events);
    hasMoreNews = chains.some(({ company_id, seq }) => seq > (seen.get(company_id) ?? 0));
  }

  async function deliverAll(due: readonly DueThing[]): Promise<void> {
    for (const [companyId, messages] of Map.groupBy(due, (message) => message.company_id)) {
      await at("delivery");
      await run(companyId, () =>
        writeFor(companyId, async ({ tx }) => {
          // The company may have been archived since.
          if ((await companyState(tx, companyId)).state === "archived") return;
          for (const { id } of messages) {
            const message = await messageById(tx, id);
            // Another node may have delivered the message since.
            if (message.delivered_at === null && message.failure === null) await deliver(tx, message, newId);
          }
        }),
      );
      await at("delivered");
    }
  }

  /** Takes the next agents of the slow sweep. Returns the overloaded ones. */
  async function sweep(tx: ReadTx): Promise<Awaited<ReturnType<typeof overloadedOf>>> {
    const next = await tx.all(agentsAfter, { after: sweepFrom, limit: sweepSize });
    for (const { id } of next) agents.lookAt(id);
    sweepFrom = next.length < sweepSize ? "" : (next.at(-1)?.id ?? "");
    swept = tx.now;
    // The first round after the start has to reach every agent as fast as possible, so it looks for no overload.
    const isSlow = !firstRound;
    if (sweepFrom === "") firstRound = false;
    return isSlow ? overloadedOf(tx, next) : [];
  }

  /** Denies the approvals that were not decided in time. */
  async function expireAll(due: readonly DueThing[]): Promise<void> {
    for (const { id, company_id } of due)
      await run(company_id, () =>
        writeFor(company_id, async (call) => {
          await expire(call, await approvalById(call.tx, id), moneyOf);
        }),
      );
  }

  /**
   * Once a new month has begun, resumes the agents that a used-up budget had paused. Returns false while some companies are
   * left.
   */
  async function renewBudgets(halted: readonly { readonly company_id: string }[]): Promise<boolean> {
    let all = true;
    for (const { company_id } of halted)
      if (!(await run(company_id, () => writeFor(company_id, resumeHalted)))) all = false;
    return all;
  }

  /** Finds out whether the agents that may have work can be started. */
  async function lookAtAgents(tx: ReadTx): Promise<SeenAgent[]> {
    if (agents.toLookAt() === 0 || stopping || draining) return [];
    // Nothing is read without room. This node looks at these agents once a process has ended.
    if (!sessions.hasRoom()) {
      agents.leaveToOthers();
      return [];
    }
    const ids = agents.take(parts.capacity === undefined ? undefined : looksAtOnce);
    try {
      const able = await tx.all(withWork, { ids: JSON.stringify(ids), now: tx.now });
      const verdicts = [];
      for (const { id } of able) {
        const verdict = await readinessOf(tx, id, canStart, troubleOf);
        const isMissing = !verdict.start && verdict.trouble?.cause === "missing";
        const agent = isMissing ? verdict.agent : undefined;
        const startsElsewhere =
          agent !== undefined && (await seeNodes(tx, parts.nodeId)).canStartElsewhere(agent);
        verdicts.push({ id, verdict, startsElsewhere });
      }
      return verdicts;
    } catch (error) {
      for (const id of ids) agents.lookAt(id);
      throw error;
    }
  }

  async function startAll(verdicts: readonly SeenAgent[], now: number): Promise<void> {
    const ready = [];
    for (const seenAgent of verdicts) {
      if (seenAgent.verdict.start) ready.push(seenAgent.verdict.agent);
      else await putOff(seenAgent.id, seenAgent.verdict, seenAgent.startsElsewhere);
    }
    // The agent whose last session ended the longest ago starts first, which is fair.
    for (const agent of ready.toSorted(
      (a, b) => a.last_session_at - b.last_session_at || (a.id < b.id ? -1 : 1),
    ))
      if (!(await run(agent.company_id, () => startHere(agent))))
        agents.lookAfter(agent.id, now + pauseWhileBusy);
  }

  async function startHere({ id, company_id }: { id: string; company_id: string }): Promise<void> {
    if (!(await sessions.start(id, company_id))) agents.waitForRoom(id);
  }

  async function putOff(id: string, verdict: Readiness & { start: false }, startsElsewhere: boolean) {
    const { at: notBefore, why, companyId, lacks, trouble } = verdict;
    if (notBefore !== null) agents.lookAfter(id, notBefore);
    if (why !== "full" || companyId === null) return;
    agents.waitIn(companyId, id);
    if (startsElsewhere) return;
    // If a provider refuses a key, the gateway itself tells the board.
    if (trouble !== undefined && trouble.cause !== "refused" && trouble.cause !== "waiting")
      await run(companyId, () =>
        writeFor(companyId, async (call) => {
          await tellOnce(call, {
            about: trouble.says.slice(0, 200),
            kind: `brain ${trouble.cause}`,
            to: null,
            text: brainWaits(trouble),
          });
        }),
      );
    // Pauses an agent that has work but no budget, and asks the board to raise the budget, unless the board was already asked.
    if (lacks !== undefined)
      await run(companyId, () =>
        writeFor(companyId, async (call) => {
          const again = await readinessOf(call.tx, id);
          if (!again.start && again.lacks !== undefined) await pauseFor(call, id, again.lacks);
        }),
      );
  }

  function nextTime(times: readonly number[]): number | null {
    const all = [
      ...times,
      ...agents.times(),
      ...sessions.deadlines(),
      sessions.running() > 0 ? renewed + renewEvery : null,
      agents.waitsForRoom() && trouble.restsUntil() > time ? trouble.restsUntil() : null,
      swept + (firstRound ? 0 : sweepEvery),
    ];
    const due = all.filter((next) => next !== null);
    // Work in a busy company can't be done yet. When the present work ends with a commit, the commit wakes the scheduler.
    if (lanes.busy() > 0) return Math.max(Math.min(...due, time + pauseWhileBusy), time + pauseWhileBusy);
    return due.length === 0 ? null : Math.min(...due);
  }

  return {
    start: async () => {
      // Start after the present events: the first round of the sweep looks at every agent anyway.
      seen = await store.read(seenSoFar);
      await sessions.reconcile();
      await tick();
    },
    tick,
    now: () => time,
    renewLeases,
    drain: async (milliseconds) => {
      draining = true;
      await sessions.askAllToStop(milliseconds);
    },
    running: sessions.running,
    stop: async () => {
      stopping = true;
      await lanes.idle();
      await sessions.endAll();
    },
  };
}
