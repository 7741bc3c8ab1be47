import { monthOf } from "../budgets/budget.ts";
import { markSeen, newEvents, type Seen, seenSoFar } from "../events/ledger.ts";
import { expire } from "../approvals/concluding.ts";
import { approvalById, dueApprovals, nextExpiry } from "../approvals/table.ts";
import { companiesWithHalted, pauseFor, resumeHalted } from "../budgets/halting.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { type Writing, writeIn } from "../dispatch/context.ts";
import type { ReadTx } from "../store/store.ts";
import { tellOnce } from "../mail/notices.ts";
import { deliver } from "../mail/post.ts";
import { dueMessages, messageById, nextDue } from "../mail/table.ts";
import { seeNodes } from "../readers/nodes.ts";
import { concerned } from "./concerned.ts";
import { suggestGrowth } from "./growth.ts";
import { createLanes } from "./lanes.ts";
import type { NodeParts } from "./node-parts.ts";
import { createNodeSessions } from "./node-sessions.ts";
import { nextOverdue } from "./sessions.ts";
import { brainWaits } from "./texts.ts";
import { agentsAfter, alarmed, readinessOf, nextAlarm, type Readiness } from "./work.ts";

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
const deliveriesAtOnce = 100;
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

type Due = { readonly id: string; readonly company_id: string };

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
  const sessions = createNodeSessions(parts, {
    freed: lookAgain,
    full: wait,
    run: lanes.run,
    roomFreed: () => {
      for (const id of waitingForRoom) toLookAt.add(id);
      waitingForRoom.clear();
    },
  });

  async function tick(): Promise<number | null> {
    const { now, messages, approvals, lapsed, isNews } = await store.read(lookAround);
    if (isNews) await follow();
    await deliverAll(messages);
    await expireAll(approvals);
    await sessions.catchUp();
    if (month !== monthOf(now) && (await renewBudgets())) month = monthOf(now);
    if (now - renewed >= renewEvery) await renewLeases();
    await sessions.takeOver(lapsed);
    if (firstRound || now - swept >= sweepEvery) {
      await sweep();
      swept = now;
    }
    if (settingsMayDiffer) settingsMayDiffer = !(await sessions.renewSettings());
    await sessions.endUnwanted(now);
    for (const [agentId, notBefore] of later)
      if (notBefore <= now && later.delete(agentId)) toLookAt.add(agentId);
    await lookAtAgents(now);
    return stopping ? null : await nextTime();
  }

  async function renewLeases(): Promise<void> {
    renewed = await sessions.renewLeases();
  }

  /**
   * What is due, in one transaction, because most ticks find nothing. What a tick then does checks again, in the transaction that
   * does it: another node may have been faster.
   */
  async function lookAround(tx: ReadTx) {
    const rung = await tx.all(alarmed, { after: alarmsSeen, now: tx.now });
    for (const { responsible_id: agent } of rung) if (agent !== null) toLookAt.add(agent);
    alarmsSeen = tx.now;
    return {
      now: tx.now,
      isNews: await noteEvents(tx),
      messages: await dueMail(tx),
      approvals: await tx.all(dueApprovals, { now: tx.now, limit: 100 }),
      lapsed: await sessions.lapsed(tx),
    };
  }

  /** Reads the events since the last look and notes the agents they concern. False: there was no event. */
  async function noteEvents(tx: ReadTx): Promise<boolean> {
    const events = await newEvents(tx, seen);
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
    return events.length > 0;
  }

  async function follow(): Promise<void> {
    while (await store.read(noteEvents));
  }

  function dueMail(tx: ReadTx): Promise<Due[]> {
    return tx.all(dueMessages, { now: tx.now, limit: deliveriesAtOnce });
  }

  async function deliverAll(first: readonly Due[]): Promise<void> {
    for (let due = first; due.length > 0;) {
      let areFree = true;
      for (const [companyId, messages] of Map.groupBy(due, (message) => message.company_id)) {
        await at("delivery");
        const isFree = await lanes.run(companyId, () =>
          writeFor(companyId, async ({ tx }) => {
            // It may have been archived since.
            if ((await companyState(tx, companyId)).state === "archived") return;
            for (const { id } of messages) {
              const message = await messageById(tx, id);
              // Another node may have delivered it since.
              if (message.delivered_at === null && message.failure === null)
                await deliver(tx, message, newId);
            }
          }),
        );
        areFree &&= isFree;
        await at("delivered");
      }
      await follow();
      if (!areFree || due.length < deliveriesAtOnce) return;
      due = await store.read(dueMail);
    }
  }

  async function sweep(): Promise<void> {
    for (const companyId of (await parts.brains?.lookAgain()) ?? []) lookAgain(companyId);
    const agents = await store.read((tx) => tx.all(agentsAfter, { after: sweepFrom, limit: sweepSize }));
    for (const { id } of agents) toLookAt.add(id);
    sweepFrom = agents.length < sweepSize ? "" : (agents.at(-1)?.id ?? "");
    // Not in the first round after the start, which has to reach every agent as fast as possible.
    const isSlow = !firstRound;
    if (sweepFrom === "") firstRound = false;
    if (isSlow)
      await suggestGrowth(
        store,
        agents.map(({ id }) => id),
        newId,
        lanes.run,
      );
  }

  /** An approval that is not decided in time is denied. */
  async function expireAll(due: readonly Due[]): Promise<void> {
    for (const { id, company_id } of due)
      await lanes.run(company_id, () =>
        writeFor(company_id, async (call) => {
          await expire(call, await approvalById(call.tx, id));
        }),
      );
  }

  /** Resumes the agents that a used-up budget had paused, once a new month has begun. False: not in every company yet. */
  async function renewBudgets(): Promise<boolean> {
    let all = true;
    for (const { company_id } of await store.read((tx) => tx.all(companiesWithHalted, {})))
      if (!(await lanes.run(company_id, () => writeFor(company_id, resumeHalted)))) all = false;
    return all;
  }

  /** There may be a free place, so the agents that waited for one are looked at again. */
  function lookAgain(companyId: string): void {
    for (const id of waiting.get(companyId) ?? []) toLookAt.add(id);
    waiting.delete(companyId);
  }

  async function lookAtAgents(now: number): Promise<void> {
    while (toLookAt.size > 0 && !stopping && !draining) {
      if (!sessions.hasRoom()) return leaveToOthers();
      const ids = [...toLookAt].slice(0, parts.capacity === undefined ? undefined : looksAtOnce);
      for (const id of ids) toLookAt.delete(id);
      const verdicts = await store.read(async (tx) => {
        const all = [];
        for (const id of ids) all.push({ id, verdict: await readinessOf(tx, id, canStart, troubleOf) });
        return all;
      });
      const ready = [];
      for (const { id, verdict } of verdicts) {
        if (verdict.start) ready.push(verdict.agent);
        else await putOff(id, verdict);
      }
      // To be fair, the agent whose last session is the longest ago starts first.
      for (const agent of ready.toSorted(
        (a, b) => a.last_session_at - b.last_session_at || (a.id < b.id ? -1 : 1),
      ))
        if (!(await lanes.run(agent.company_id, () => startHere(agent))))
          later.set(agent.id, now + pauseWhileBusy);
    }
  }

  async function startHere({ id, company_id }: { id: string; company_id: string }): Promise<void> {
    if (!(await sessions.start(id, company_id))) waitingForRoom.add(id);
  }

  /** Without room, nothing is read: the other nodes look at these agents themselves, and this one does once a process ended. */
  function leaveToOthers(): void {
    for (const id of toLookAt) waitingForRoom.add(id);
    toLookAt.clear();
  }

  async function putOff(id: string, verdict: Readiness & { start: false }): Promise<void> {
    const { at: notBefore, why, companyId, lacks, trouble, agent } = verdict;
    if (notBefore !== null) later.set(id, notBefore);
    if (why !== "full" || companyId === null) return;
    wait(companyId, id);
    const isMissing = trouble?.cause === "missing" && agent !== undefined;
    if (isMissing && (await store.read((tx) => seeNodes(tx, parts.nodeId))).canStartElsewhere(agent)) return;
    // The gateway itself tells the board of a key that is refused.
    if (trouble !== undefined && trouble.cause !== "refused" && trouble.cause !== "waiting")
      await lanes.run(companyId, () =>
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
      await lanes.run(companyId, () =>
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

  async function nextTime(): Promise<number | null> {
    const times = await store.read(async (tx) => {
      time = tx.now;
      return [
        (await tx.first(nextDue, {}))?.deliver_at ?? null,
        (await tx.first(nextAlarm, { now: tx.now }))?.blocked_until ?? null,
        (await tx.first(nextExpiry, {}))?.expires_at ?? null,
        (await tx.first(nextOverdue, {}))?.end_by ?? null,
        await sessions.nextLapse(tx),
      ];
    });
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
