import { bySystem } from "../dispatch/context.ts";
import type { Usage } from "../budgets/budget.ts";
import { setAside } from "../budgets/reservations.ts";
import type { Store } from "../store/store.ts";
import { brief, promptVersion } from "./briefing.ts";
import { hearOut } from "./final-output/closing.ts";
import type { Exit, Runner, Running } from "../processes/runner.ts";
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
import { takeSkills } from "./skill-copies.ts";
import { createMeter, noteUsage } from "./usage.ts";
import { readinessOf } from "./work.ts";

/**
 * The sessions of one node and their processes: starting, ending, and the leases by which nodes take over from each other.
 * Steps of starting a session:
 *   1. the intent: a session row with a new epoch, in a transaction that checks everything again
 *   2. a workspace and a process, which waits before doing anything
 *   3. the pid, if the session still lives; only then the process is let go
 * A crash after 1 leaves a row that the next start ends; after 2 a process whose gate closes with us, so that it ends by
 * itself; after 3 a process that the next start finds by pid and start time, and kills. How a process ended is on disk until
 * it is settled, so that a crash between the two does not lose its last words.
 */
export interface NodeParts {
  readonly store: Store;
  readonly nodeId: string;
  readonly runner: Runner;
  readonly newId: () => string;
  readonly newSecret: () => string;
  /** Milliseconds from one sweep to the next. */
  readonly sweepEvery?: number;
  /** Where tests stop the world; does nothing in the daemon. */
  readonly at?: (step: string) => Promise<void> | void;
  readonly reportBug: (error: unknown, about: string) => void;
}

/** Who waits for a place, in the memory of the scheduler. */
interface Places {
  /** A session ended, so there may be a free one. */
  readonly freed: (companyId: string) => void;
  /** There was none for this agent. */
  readonly full: (companyId: string, agentId: string) => void;
}

interface NodeSessions {
  /** Unless the agent has nothing to do any more, or there is no place for it. */
  start(agentId: string, companyId: string): Promise<void>;
  /** It handed in its summary; it is ended if it does not stop by itself. */
  handedIn(sessionId: string, now: number): void;
  /** Until what its sessions have used is on record. */
  catchUp(): Promise<void>;
  keepLeases(): Promise<void>;
  endUnwanted(now: number): Promise<void>;
  /** When one is to be ended. */
  readonly deadlines: () => Iterable<number>;
  readonly running: () => number;
  /** Ends what an earlier life of this node left. */
  reconcile(): Promise<void>;
  endAll(): Promise<void>;
}

const leaseMilliseconds = 60_000;
const grace = 10_000;

export function createNodeSessions(parts: NodeParts, places: Places): NodeSessions {
  const { store, nodeId, runner, newId } = parts;
  const at = async (step: string): Promise<void> => parts.at?.(step);
  const processes = new Map<string, Running>();
  /** Of those, the ones that ended, until all about it is on record. */
  const exits = new Map<string, { session: Pick<SessionRow, "id" | "company_id">; exit: Exit }>();
  /** Sessions that handed in their summary, and when they are ended if they did not stop by themselves. */
  const finishing = new Map<string, number>();
  const meter = createMeter({
    store,
    newId,
    reportBug: parts.reportBug,
    stop: (id) => processes.get(id)?.kill(),
    hold: (id, still) => processes.get(id)?.hold(still),
  });

  async function start(agentId: string, companyId: string): Promise<void> {
    const id = newId();
    const token = parts.newSecret();
    await at("intent");
    const intent = await store.write(async (tx) => {
      await tx.lock(companyId);
      const verdict = await readinessOf(tx, agentId);
      if (!verdict.start) {
        if (verdict.why === "full") places.full(companyId, agentId);
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
      const share = await setAside(bySystem(tx, companyId, newId), money, verdict.place, verdict.settings);
      const skills = await takeSkills(tx, verdict.agent, id);
      return { share, spec: { agent: verdict.agent, briefing, skills, workspace } };
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
    places.freed(session.company_id);
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
    places.freed(company_id);
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
      const exit = runner.takeExit(session.id);
      if (exit !== undefined)
        await finished(session, exit).catch((error: unknown) => {
          parts.reportBug(error, `end of session ${session.id}`);
          exits.delete(session.id);
        });
      await settle(session, { reason: "the daemon was restarted", exitCode: null });
    }
  }

  return {
    start,
    // The first one counts: whoever hands in another does not gain time.
    handedIn: (id, now) => {
      if (!finishing.has(id)) finishing.set(id, now + grace);
    },
    catchUp: () => meter.catchUp(),
    keepLeases,
    endUnwanted,
    deadlines: () => finishing.values(),
    running: () => processes.size,
    reconcile,
    endAll: async () => {
      for (const process of processes.values()) process.kill();
      await Promise.all([...processes.values()].map(({ exited }) => exited));
      for (const session of await store.read((tx) => tx.all(liveOn, { nodeId })))
        await settle(session, { reason: "the daemon stopped", exitCode: null });
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
