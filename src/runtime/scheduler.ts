import { monthOf, type Usage } from "../budgets/budget.ts";
import { setAside } from "../budgets/sessions.ts";
import { ledgerEnd, listAfter } from "../events/ledger.ts";
import { nextExpiry } from "../approvals/table.ts";
import { deliver } from "../mail/post.ts";
import { dueMessages, messageById, nextDue } from "../mail/table.ts";
import type { Store } from "../store/store.ts";
import { concerned } from "./attention.ts";
import { brief, promptVersion } from "./briefing.ts";
import { hearOut } from "./closing.ts";
import { askForBudget, expireApprovals, renewBudgets } from "./decisions.ts";
import { suggestGrowth } from "./growth.ts";
import type { Exit, Runner, Running } from "./runner.ts";
import {
  endSession,
  forgetProcess,
  liveOn,
  liveSessions,
  openSession,
  processesOn,
  recordProcess,
  renewLeases,
  sessionById,
  type SessionRow,
  unsettledSessions,
} from "./sessions.ts";
import { createMeter, noteUsage } from "./usage.ts";
import { agentsAfter, alarmed, judge, nextAlarm, type Verdict } from "./work.ts";

/**
 * The scheduler of one node. It keeps no truth: whether an agent has work, whether a session lives and when a message is
 * due are read from the store each time. What it remembers (who to look at, who waits for a free place) can be lost at any
 * moment; the sweep finds it again.
 *
 * tick() does a bounded piece of everything there is to do and says when it wants to be called next. The daemon calls it
 * after commits and at that time; the simulator calls it whenever it likes. Steps of starting a session:
 *   1. the intent: a session row with a new epoch, in a transaction that checks everything again
 *   2. a workspace and a process, which waits before doing anything
 *   3. the pid, if the session still lives; only then the process is let go
 * A crash after 1 leaves a row that the next start ends; after 2 a process whose gate closes with us, so that it ends by
 * itself; after 3 a process that the next start finds by pid and start time, and kills. How a process ended is on disk until
 * it is settled, so that a crash between the two does not lose its last words.
 */
export interface SchedulerParts {
  readonly store: Store;
  readonly nodeId: string;
  readonly runner: Runner;
  readonly newId: () => string;
  readonly newSecret: () => string;
  /** Where tests stop the world; does nothing in the daemon. */
  readonly at?: (step: string) => Promise<void> | void;
  readonly reportBug: (error: unknown, about: string) => void;
}

export interface Scheduler {
  /** Ends what an earlier life of this node left, then ticks until nothing is left to do. */
  start(): Promise<void>;
  /** Answers when to call again at the latest, in milliseconds of the database's clock; null: at the next commit. */
  tick(): Promise<number | null>;
  /** Ends every session of this node. */
  stop(): Promise<void>;
  readonly running: () => number;
}

const leaseMilliseconds = 60_000;
const renewEvery = 15_000;
const sweepEvery = 30_000;
const sweepSize = 50;
const deliveriesAtOnce = 100;
const grace = 10_000;
/** A session ended here or on another node, or was stopped, or there may be more of them, or a budget has more. */
const freesAPlace = new Set([
  "session.end",
  "company.update",
  "agent.pause",
  "agent.terminate",
  "agent.retire",
  "agent.reclaim",
  "outcome.reclaim",
  "agent.set_budget",
  "agent.update",
  "budget.release",
]);

export function createScheduler(parts: SchedulerParts): Scheduler {
  const { store, nodeId, runner, newId } = parts;
  const at = async (step: string): Promise<void> => parts.at?.(step);
  const processes = new Map<string, Running>();
  /** Of those, the ones that ended, until all about it is on record. */
  const exits = new Map<string, { session: Pick<SessionRow, "id" | "company_id">; exit: Exit }>();
  const toLookAt = new Set<string>();
  const later = new Map<string, number>();
  const waiting = new Map<string, Set<string>>();
  /** Sessions that handed in their summary, and when they are ended if they did not stop by themselves. */
  const finishing = new Map<string, number>();
  let seen = 0;
  let alarmsSeen = 0;
  let renewed = 0;
  let swept = 0;
  let sweepFrom = "";
  let month = "";
  let firstRound = true;
  let stopping = false;
  const meter = createMeter({
    store,
    newId,
    reportBug: parts.reportBug,
    stop: (id) => processes.get(id)?.kill(),
    hold: (id, still) => processes.get(id)?.hold(still),
  });

  async function tick(): Promise<number | null> {
    const now = await store.read(async (tx) => tx.now);
    await follow();
    await deliverDue();
    await ringAlarms();
    await expireApprovals(store, newId);
    await meter.catchUp();
    if (month !== monthOf(now)) {
      await renewBudgets(store, newId);
      month = monthOf(now);
    }
    if (now - renewed >= renewEvery) {
      await keepLeases();
      renewed = now;
    }
    if (firstRound || now - swept >= sweepEvery) {
      await sweep();
      swept = now;
    }
    await endUnwanted(now);
    for (const [agentId, time] of later) if (time <= now && later.delete(agentId)) toLookAt.add(agentId);
    await lookAtAgents();
    return stopping ? null : await nextTime();
  }

  /** Everything on record since the last look, and whom it concerns. */
  async function follow(): Promise<void> {
    for (let more = true; more;) {
      const { agents, last, count } = await store.read(async (tx) => {
        const events = await listAfter(tx, { companyId: null, after: seen, limit: 500 });
        for (const { operation, session_id, company_id } of events) {
          // The first one counts: whoever hands in another does not gain time.
          if (operation === "session.submit_summary" && session_id !== null && !finishing.has(session_id))
            finishing.set(session_id, tx.now + grace);
          if (company_id !== null && freesAPlace.has(operation)) lookAgain(company_id);
        }
        return {
          agents: await concerned(tx, events),
          last: events.at(-1)?.seq ?? seen,
          count: events.length,
        };
      });
      for (const id of agents) toLookAt.add(id);
      seen = last;
      more = count === 500;
    }
  }

  async function deliverDue(): Promise<void> {
    for (let more = true; more;) {
      const due = await store.read((tx) => tx.all(dueMessages, { now: tx.now, limit: deliveriesAtOnce }));
      more = due.length === deliveriesAtOnce;
      const byCompany = Map.groupBy(due, (message) => message.company_id);
      for (const [companyId, messages] of byCompany) {
        await at("delivery");
        await store.write(async (tx) => {
          await tx.lock(companyId);
          for (const { id } of messages) {
            const message = await messageById(tx, id);
            // Another node may have been faster.
            if (message.delivered_at === null && message.failure === null) await deliver(tx, message, newId);
          }
        });
        await at("delivered");
      }
      if (due.length > 0) await follow();
    }
  }

  async function ringAlarms(): Promise<void> {
    const { now, rung } = await store.read(async (tx) => ({
      now: tx.now,
      rung: await tx.all(alarmed, { after: alarmsSeen, now: tx.now }),
    }));
    for (const { agent } of rung) if (agent !== null) toLookAt.add(agent);
    alarmsSeen = now;
  }

  /** Renews our leases and takes over what a node left that no longer renews its own. */
  async function keepLeases(): Promise<void> {
    if (processes.size > 0)
      await store.write(async (tx) => {
        await tx.run(renewLeases, { nodeId, until: tx.now + leaseMilliseconds });
      });
    const live = await store.read(async (tx) => ({ now: tx.now, sessions: await tx.all(liveSessions, {}) }));
    for (const session of live.sessions)
      if (session.node_id !== null && session.node_id !== nodeId && session.lease_until < live.now)
        await takeOver(session);
  }

  /** Looked at again in the transaction that ends it: its node may have come back since. */
  async function takeOver({ id, company_id }: Pick<SessionRow, "id" | "company_id">): Promise<void> {
    await store.write(async (tx) => {
      await tx.lock(company_id);
      const session = await sessionById(tx, id);
      if (session === undefined || session.ended_at !== null || session.lease_until >= tx.now) return;
      await endSession(tx, id, { reason: "its node stopped answering", exitCode: null }, newId);
    });
    lookAgain(company_id);
  }

  async function sweep(): Promise<void> {
    const agents = await store.read((tx) => tx.all(agentsAfter, { after: sweepFrom, limit: sweepSize }));
    for (const { id } of agents) toLookAt.add(id);
    sweepFrom = agents.length < sweepSize ? "" : (agents.at(-1)?.id ?? "");
    // Not at the start, when the round goes as fast as it can.
    const isSlow = !firstRound;
    if (sweepFrom === "") firstRound = false;
    if (isSlow)
      await suggestGrowth(
        store,
        agents.map(({ id }) => id),
        newId,
      );
  }

  /**
   * Processes and sessions that no longer belong together: a process whose session was ended by somebody (a pause, a
   * reclaim, a node that took over), one that lingers, and a session without a process, because an error came between.
   */
  async function endUnwanted(now: number): Promise<void> {
    for (const [id, until] of finishing) {
      if (until > now) continue;
      finishing.delete(id);
      processes.get(id)?.kill();
    }
    for (const { session, exit } of exits.values()) await finished(session, exit);
    const { live, unsettled } = await store.read(async (tx) => ({
      live: await tx.all(liveOn, { nodeId }),
      unsettled: await tx.all(unsettledSessions, { nodeId, now: tx.now, limit: 500 }),
    }));
    const wanted = new Set(live.map(({ id }) => id));
    for (const [id, process] of processes) if (!wanted.has(id)) process.kill();
    for (const session of unsettled)
      await settle(session, { reason: session.end_reason ?? "ended", exitCode: null });
    for (const session of live)
      if (!processes.has(session.id))
        await settle(session, { reason: "its process is not there", exitCode: null });
  }

  async function settle(
    session: Pick<SessionRow, "id" | "company_id">,
    ending: { reason: string; exitCode: number | null },
    /** Also nothing at all, of one that ended well; null: nobody listens. */
    said: string | null = null,
  ): Promise<void> {
    await store.write(async (tx) => {
      await tx.lock(session.company_id);
      const row = said === null ? undefined : await sessionById(tx, session.id);
      if (said !== null && row !== undefined && row.settled === 0) await hearOut(tx, row, said, parts);
      await endSession(tx, session.id, ending, newId);
    });
    lookAgain(session.company_id);
  }

  /** There may be a free place: those who waited for one are looked at again. */
  function lookAgain(companyId: string): void {
    for (const id of waiting.get(companyId) ?? []) toLookAt.add(id);
    waiting.delete(companyId);
  }

  async function lookAtAgents(): Promise<void> {
    while (toLookAt.size > 0 && !stopping) {
      const ids = [...toLookAt];
      toLookAt.clear();
      const verdicts = await store.read(async (tx) => {
        const all = [];
        for (const id of ids) all.push({ id, verdict: await judge(tx, id) });
        return all;
      });
      const ready = [];
      for (const { id, verdict } of verdicts) {
        if (verdict.start) ready.push(verdict.agent);
        else await putOff(id, verdict);
      }
      // Fair: who has waited longest since its last session goes first.
      for (const agent of ready.toSorted(
        (a, b) => a.last_session_at - b.last_session_at || (a.id < b.id ? -1 : 1),
      ))
        await startSession(agent.id, agent.company_id);
    }
  }

  async function putOff(id: string, verdict: Verdict & { start: false }): Promise<void> {
    const { at: time, why, companyId, lacks } = verdict;
    if (time !== null) later.set(id, time);
    if (why !== "full" || companyId === null) return;
    wait(companyId, id);
    if (lacks !== undefined) await askForBudget(store, newId, id, lacks);
  }

  function wait(companyId: string, agentId: string): void {
    const line = waiting.get(companyId) ?? new Set<string>();
    waiting.set(companyId, line.add(agentId));
  }

  async function startSession(agentId: string, companyId: string): Promise<void> {
    const id = newId();
    const token = parts.newSecret();
    await at("intent");
    const intent = await store.write(async (tx) => {
      await tx.lock(companyId);
      const verdict = await judge(tx, agentId);
      if (!verdict.start) {
        if (verdict.why === "full") wait(companyId, agentId);
        return null;
      }
      const briefing = await brief(tx, verdict.agent);
      const workspace = runner.workspaceFor(id);
      await openSession(tx, {
        id,
        agentId,
        credentialId: newId(),
        token,
        workspace,
        nodeId,
        leaseUntil: tx.now + leaseMilliseconds,
        promptVersion,
        firstOutcomeId: briefing.firstOutcomeId,
        briefing: briefing.text,
        assignment: briefing.assignment,
      });
      const money = { id, agentId, firstOutcomeId: briefing.firstOutcomeId };
      const share = await setAside({ tx, companyId, newId }, money, verdict.place, verdict.settings);
      return { share, spec: { agent: verdict.agent, briefing, workspace } };
    });
    await at("intended");
    if (intent === null) return;
    const session = { id, company_id: companyId };
    let process: Running;
    try {
      const onUsage = (usage: Usage): void => meter.heard(session, usage);
      process = await runner.start({ id, token, ...intent.spec, onUsage });
    } catch (error) {
      parts.reportBug(error, `start of session ${id}`);
      await settle(session, { reason: `it could not be started: ${messageOf(error)}`, exitCode: null });
      return;
    }
    processes.set(id, process);
    meter.begin(id, intent.share);
    // Should this fail, the next tick tries again.
    void process.exited
      .then((exit) => finished(session, exit))
      .catch((error: unknown) => parts.reportBug(error, `end of session ${id}`));
    await at("spawned");
    try {
      const accepted = await store.write((tx) => recordProcess(tx, id, process.pid, process.started));
      await at("recorded");
      if (accepted) process.release();
      else process.kill();
    } catch (error) {
      process.kill();
      throw error;
    }
  }

  async function finished(session: Pick<SessionRow, "id" | "company_id">, exit: Exit): Promise<void> {
    exits.set(session.id, { session, exit });
    await at("exited");
    const { usage } = exit;
    await store.write(async (tx) => {
      await tx.lock(session.company_id);
      if (usage !== undefined) await noteUsage(tx, session.id, usage, newId);
      await forgetProcess(tx, session.id);
    });
    meter.forget(session.id);
    await settle(session, { reason: exit.reason, exitCode: exit.code }, exit.code === 0 ? exit.output : null);
    processes.delete(session.id);
    exits.delete(session.id);
    finishing.delete(session.id);
    runner.cleanUp(session.id);
  }

  async function nextTime(): Promise<number | null> {
    const times = await store.read(async (tx) => [
      (await tx.first(nextDue, {}))?.deliver_at ?? null,
      (await tx.first(nextAlarm, { now: tx.now }))?.at ?? null,
      (await tx.first(nextExpiry, {}))?.expires_at ?? null,
    ]);
    const all = [
      ...times,
      ...later.values(),
      ...finishing.values(),
      processes.size > 0 ? renewed + renewEvery : null,
      swept + (firstRound ? 0 : sweepEvery),
    ];
    const due = all.filter((time) => time !== null);
    return due.length === 0 ? null : Math.min(...due);
  }

  /** Also a session that ended meanwhile, by a pause or because another node took over, may have left a process here. */
  async function reconcile(): Promise<void> {
    const { left, live } = await store.read(async (tx) => ({
      left: await tx.all(processesOn, { nodeId }),
      live: await tx.all(liveOn, { nodeId }),
    }));
    for (const { id, pid, pid_started } of left) {
      if (pid !== null && pid_started !== null) runner.killOrphan(pid, pid_started, id);
      await store.write((tx) => forgetProcess(tx, id));
    }
    for (const session of live) {
      // One that had ended by itself is heard out; what it was started for need not be done again.
      const exit = runner.exitOf(session.id);
      if (exit === undefined) await settle(session, { reason: "the daemon was restarted", exitCode: null });
      else await finished(session, exit);
    }
  }

  return {
    start: async () => {
      // What happened before is found by the first round of the sweep, not by reading the whole ledger again.
      seen = await store.read(async (tx) => (await tx.first(ledgerEnd, {}))?.seq ?? 0);
      await reconcile();
      await tick();
    },
    tick,
    running: () => processes.size,
    stop: async () => {
      stopping = true;
      for (const process of processes.values()) process.kill();
      await Promise.all([...processes.values()].map(({ exited }) => exited));
      for (const session of await store.read((tx) => tx.all(liveOn, { nodeId })))
        await settle(session, { reason: "the daemon stopped", exitCode: null });
    },
  };

  function messageOf(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
  }
}
