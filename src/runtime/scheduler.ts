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
import { concerned } from "./concerned.ts";
import type { NodeParts } from "./node-parts.ts";
import { createNodeSessions } from "./node-sessions.ts";
import { type Due, dueNow, type DueThing } from "./due.ts";
import { overloadedOf, suggestGrowth } from "./growth.ts";
import { createLanes, type InCompany } from "./lanes.ts";
import { brainWaits } from "./texts.ts";
import { agentsAfter, readinessOf, type Readiness, withWork } from "./work.ts";

/**
 * The scheduler of one node. Its memory is never the truth: whether an agent has work, whether a session is live and when a
 * message is due are read from the store each time. What it remembers (which agents to look at, which agents wait for a
 * free place) may be lost at any moment, and the sweep finds it again.
 *
 * tick() does a bounded amount of all pending work and returns when it wants to be called next. The daemon calls it after
 * commits and at that time. The simulator calls it at any time.
 */
export interface Scheduler {
  /** Ends what an earlier run of this node left, then ticks once. */
  start(): Promise<void>;
  /** Returns when to call again at the latest, in milliseconds of the database's clock. Null: at the next commit. */
  tick(): Promise<number | null>;
  /** The database's time at the end of the last tick. A node's own clock may be hours ahead of it. */
  readonly now: () => number;
  /** Renews the leases of this node. It waits for no company and no tick. */
  renewLeases(): Promise<void>;
  /** From now on no session starts. The running ones are asked to stop, and are ended after this time. */
  drain(milliseconds: number): Promise<void>;
  /** Ends every session of this node. */
  stop(): Promise<void>;
  readonly running: () => number;
}

export const renewEvery = 5000;
const pauseWhileBusy = 1000;
const usualSweep = 30_000;
const sweepSize = 50;
/** Rounds of a tick. The rest is left to the next one. */
const mostRounds = 10;
/** On a node that may fill up meanwhile. The rest is then not read at all. */
const looksAtOnce = 100;
/** Events after which an agent that waited may find a place: a session ended, or a limit or a budget was raised. */
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

/** Events that may change which MCP servers an agent may use: a grant, the end of its outcome, of a holder, of a server. */
const changesGrants =
  /^(?:permission|mcp_server|company|approval|reorganization)\.|^outcome\.(?:delegate|complete|close|reopen|reclaim)$|^agent\.(?:create|terminate|retire|reclaim)$/;

/** What a person does after mending a brain, or to see whether it works. */
const mendsBrains = new Set(["agent.resume", "agent.wakeup", "brain.test", "secret.set"]);

interface SeenAgent {
  readonly id: string;
  readonly verdict: Readiness;
  /** Its program is missing here, and another node has it. */
  readonly startsElsewhere: boolean;
}

export function createScheduler(parts: NodeParts): Scheduler {
  const { store, newId, sweepEvery = usualSweep } = parts;
  const at = async (step: string): Promise<void> => parts.at?.(step);
  const writeFor = (companyId: string, work: (call: Writing) => Promise<void>): Promise<void> =>
    writeIn(store, companyId, newId, work);
  const canStart = (brainType: string): boolean => parts.runner.canStart(brainType);
  const { troubleOf } = parts.brains ?? {};
  /** Agents that may have work. Each is looked at once in this tick. */
  const toLookAt = new Set<string>();
  /** Agents that may start only at a certain time, after a session without progress for example. */
  const later = new Map<string, number>();
  /** By company, the agents that have work but found no free place or budget. */
  const waiting = new Map<string, Set<string>>();
  /** Agents that may have work while this node runs as many sessions as it may, in the order in which they came. */
  const waitingForRoom = new Set<string>();
  /** The last event of each company that was followed, and the time up to which ended blocks were noticed. */
  let seen: Seen = new Map();
  let alarmsSeen = 0;
  let renewed = 0;
  /** The database's time, as the last transaction saw it. */
  let time = 0;
  let swept = 0;
  /** The last agent of the current round of the sweep. Empty at the start of a round. */
  let sweepFrom = "";
  let month = "";
  let firstRound = true;
  /** A grant may have changed since the settings of the running sessions were compared. */
  let settingsMayDiffer = true;
  let stopping = false;
  let draining = false;
  const lanes = createLanes(parts.patience, parts.reportBug);
  /** Some of what was found was done in this round. So there may be more to do, or another next time. */
  let hasActed = false;
  /** Not all new events were read. */
  let hasMoreNews = false;
  const run: InCompany = async (companyId, work) => {
    const isFree = await lanes.run(companyId, work);
    if (isFree) hasActed = true;
    return isFree;
  };
  const sessions = createNodeSessions(parts, {
    freed: lookAgain,
    full: wait,
    run,
    runUncounted: lanes.run,
    roomFreed: () => {
      for (const id of waitingForRoom) toLookAt.add(id);
      waitingForRoom.clear();
    },
  });

  async function tick(): Promise<number | null> {
    for (let round = 1; ; round++) {
      await sessions.catchUp();
      hasActed = false;
      const found = await store.read(look);
      await act(found).catch((error: unknown) => {
        // They are no longer noted, and only the slow sweep would find them again.
        for (const { id } of found.verdicts) toLookAt.add(id);
        throw error;
      });
      if (stopping) return null;
      const isDone = !hasActed && !hasMoreNews && (toLookAt.size === 0 || draining);
      if (isDone) return nextTime(found.due.times);
      if (round === mostRounds) return time;
    }
  }

  /** Everything that a tick reads, in one transaction. What follows from it is done later, in transactions of its companies. */
  async function look(tx: ReadTx) {
    const { now } = tx;
    time = now;
    const processes = sessions.processes();
    const due = await dueNow(tx, { nodeId: parts.nodeId, alarmsAfter: alarmsSeen, followed: sumOf(seen) });
    for (const id of due.alarmed) toLookAt.add(id);
    alarmsSeen = now;
    await noteEvents(tx, due.chains);
    for (const [agentId, notBefore] of later)
      if (notBefore <= now && later.delete(agentId)) toLookAt.add(agentId);
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
      for (const companyId of (await parts.brains?.lookAgain()) ?? []) lookAgain(companyId);
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
        lookAgain(company_id);
      }
      if (operation === "session.submit_summary" && session_id !== null)
        sessions.summarySubmitted(session_id, tx.now);
      if (freesAPlace.has(operation)) lookAgain(company_id);
      if (changesGrants.test(operation)) settingsMayDiffer = true;
    }
    for (const id of await concerned(tx, events)) toLookAt.add(id);
    markSeen(seen, events);
    hasMoreNews = chains.some(({ company_id, seq }) => seq > (seen.get(company_id) ?? 0));
  }

  async function deliverAll(due: readonly DueThing[]): Promise<void> {
    for (const [companyId, messages] of Map.groupBy(due, (message) => message.company_id)) {
      await at("delivery");
      await run(companyId, () =>
        writeFor(companyId, async ({ tx }) => {
          // It may have been archived since.
          if ((await companyState(tx, companyId)).state === "archived") return;
          for (const { id } of messages) {
            const message = await messageById(tx, id);
            // Another node may have delivered it since.
            if (message.delivered_at === null && message.failure === null) await deliver(tx, message, newId);
          }
        }),
      );
      await at("delivered");
    }
  }

  /** The next agents of the slow sweep. Returns those of them that have too much to do. */
  async function sweep(tx: ReadTx): Promise<Awaited<ReturnType<typeof overloadedOf>>> {
    const agents = await tx.all(agentsAfter, { after: sweepFrom, limit: sweepSize });
    for (const { id } of agents) toLookAt.add(id);
    sweepFrom = agents.length < sweepSize ? "" : (agents.at(-1)?.id ?? "");
    swept = tx.now;
    // Not in the first round after the start, which has to reach every agent as fast as possible.
    const isSlow = !firstRound;
    if (sweepFrom === "") firstRound = false;
    return isSlow ? overloadedOf(tx, agents) : [];
  }

  /** An approval that is not decided in time is denied. */
  async function expireAll(due: readonly DueThing[]): Promise<void> {
    for (const { id, company_id } of due)
      await run(company_id, () =>
        writeFor(company_id, async (call) => {
          await expire(call, await approvalById(call.tx, id), moneyOf);
        }),
      );
  }

  /** Resumes the agents that a used-up budget had paused, once a new month has begun. False: not in every company yet. */
  async function renewBudgets(halted: readonly { readonly company_id: string }[]): Promise<boolean> {
    let all = true;
    for (const { company_id } of halted)
      if (!(await run(company_id, () => writeFor(company_id, resumeHalted)))) all = false;
    return all;
  }

  /** There may be a free place, so the agents that waited for one are looked at again. */
  function lookAgain(companyId: string): void {
    for (const id of waiting.get(companyId) ?? []) toLookAt.add(id);
    waiting.delete(companyId);
  }

  /** Whether the agents that may have work can be started. */
  async function lookAtAgents(tx: ReadTx): Promise<SeenAgent[]> {
    if (toLookAt.size === 0 || stopping || draining) return [];
    if (!sessions.hasRoom()) {
      leaveToOthers();
      return [];
    }
    const ids = [...toLookAt].slice(0, parts.capacity === undefined ? undefined : looksAtOnce);
    for (const id of ids) toLookAt.delete(id);
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
      for (const id of ids) toLookAt.add(id);
      throw error;
    }
  }

  async function startAll(verdicts: readonly SeenAgent[], now: number): Promise<void> {
    const ready = [];
    for (const seenAgent of verdicts) {
      if (seenAgent.verdict.start) ready.push(seenAgent.verdict.agent);
      else await putOff(seenAgent.id, seenAgent.verdict, seenAgent.startsElsewhere);
    }
    // To be fair, the agent whose last session is the longest ago starts first.
    for (const agent of ready.toSorted(
      (a, b) => a.last_session_at - b.last_session_at || (a.id < b.id ? -1 : 1),
    ))
      if (!(await run(agent.company_id, () => startHere(agent)))) later.set(agent.id, now + pauseWhileBusy);
  }

  async function startHere({ id, company_id }: { id: string; company_id: string }): Promise<void> {
    if (!(await sessions.start(id, company_id))) waitingForRoom.add(id);
  }

  /** Without room, nothing is read: the other nodes look at these agents themselves, and this one does once a process ended. */
  function leaveToOthers(): void {
    for (const id of toLookAt) waitingForRoom.add(id);
    toLookAt.clear();
  }

  async function putOff(id: string, verdict: Readiness & { start: false }, startsElsewhere: boolean) {
    const { at: notBefore, why, companyId, lacks, trouble } = verdict;
    if (notBefore !== null) later.set(id, notBefore);
    if (why !== "full" || companyId === null) return;
    wait(companyId, id);
    if (startsElsewhere) return;
    // The gateway itself tells the board of a key that is refused.
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
    // Pauses an agent that has work but no budget, and asks the board to raise it, unless the board was asked already.
    if (lacks !== undefined)
      await run(companyId, () =>
        writeFor(companyId, async (call) => {
          const again = await readinessOf(call.tx, id);
          if (!again.start && again.lacks !== undefined) await pauseFor(call, id, again.lacks);
        }),
      );
  }

  function wait(companyId: string, agentId: string): void {
    const line = waiting.get(companyId) ?? new Set<string>();
    waiting.set(companyId, line.add(agentId));
  }

  function nextTime(times: readonly number[]): number | null {
    const all = [
      ...times,
      ...later.values(),
      ...sessions.deadlines(),
      sessions.running() > 0 ? renewed + renewEvery : null,
      swept + (firstRound ? 0 : sweepEvery),
    ];
    const due = all.filter((next) => next !== null);
    // What is due in a company that is busy can't be done yet. The end of its work wakes the scheduler, if it commits.
    if (lanes.busy() > 0) return Math.max(Math.min(...due, time + pauseWhileBusy), time + pauseWhileBusy);
    return due.length === 0 ? null : Math.min(...due);
  }

  return {
    start: async () => {
      // Older events are skipped: the first round of the sweep looks at every agent anyway.
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
