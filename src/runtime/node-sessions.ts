import { writeIn } from "../dispatch/context.ts";
import type { Usage } from "../budgets/budget.ts";
import { setAside } from "../budgets/reservations.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import type { Store } from "../store/store.ts";
import { brief, promptVersion, takeSkills } from "./briefing.ts";
import { applyFinalOutput } from "./final-output/closing.ts";
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
import { endReasons } from "./texts.ts";
import { createMeter, noteUsage } from "./usage.ts";
import { readinessOf } from "./work.ts";

/**
 * The sessions of one node and their processes: starting, ending, and the leases by which nodes take over from each other.
 *
 * Starting a session takes three steps, each safe to crash after:
 *   1. write the session row with a new epoch, in a transaction that checks everything again.
 *      After a crash, the next start of this node ends the row.
 *   2. create the workspace and start the process, which waits at its gate and does nothing.
 *      After a crash, the gate closes with the daemon and the process ends by itself.
 *   3. record the pid, if the session is still live, and only then open the gate.
 *      After a crash, the next start finds the process by pid and start time, and kills it.
 *
 * How a process ended is kept on disk until the session is settled. So a crash between the two does not lose its output.
 */
export interface NodeParts {
  readonly store: Store;
  readonly nodeId: string;
  readonly runner: Runner;
  readonly newId: () => string;
  readonly newSecret: () => string;
  /** Puts secrets into an agent's configuration. Without it, configurations are used as they are. */
  readonly secrets?: Pick<SecretStore, "resolve" | "valuesOf">;
  /** Milliseconds from one sweep to the next. */
  readonly sweepEvery?: number;
  /** Lets tests act at a step. Unset in the daemon. */
  readonly at?: (step: string) => Promise<void> | void;
  readonly reportBug: (error: unknown, about: string) => void;
}

/** Agents that wait for one of the company's maxSessions places. The scheduler remembers them. */
interface Places {
  /** A session ended, so there may be a free place. */
  readonly freed: (companyId: string) => void;
  /** There was no place for this agent. */
  readonly full: (companyId: string, agentId: string) => void;
}

interface NodeSessions {
  /** Does nothing if the agent has no work any more or there is no place for it. */
  start(agentId: string, companyId: string): Promise<void>;
  /** The session submitted its summary. It is killed if it does not exit by itself within 10 seconds. */
  summarySubmitted(sessionId: string, now: number): void;
  /** Records all usage that was reported so far. */
  catchUp(): Promise<void>;
  keepLeases(): Promise<void>;
  endUnwanted(now: number): Promise<void>;
  /** When the sessions that submitted a summary are killed. */
  readonly deadlines: () => Iterable<number>;
  readonly running: () => number;
  /** Ends the sessions and processes that an earlier run of this node left. */
  reconcile(): Promise<void>;
  endAll(): Promise<void>;
}

const leaseMilliseconds = 60_000;
const grace = 10_000;

export function createNodeSessions(parts: NodeParts, places: Places): NodeSessions {
  const { store, nodeId, runner, newId } = parts;
  const at = async (step: string): Promise<void> => parts.at?.(step);
  const processes = new Map<string, Running>();
  /** The processes that ended, until their end is recorded. A failed attempt is repeated at the next tick. */
  const exits = new Map<string, { session: Pick<SessionRow, "id" | "company_id">; exit: Exit }>();
  /** The sessions that this run of the node started. */
  const opened = new Set<string>();
  /** The sessions that submitted a summary, and when they are killed. */
  const finishing = new Map<string, number>();
  const meter = createMeter({
    store,
    newId,
    reportBug: parts.reportBug,
    stop: (id) => processes.get(id)?.kill(),
    hold: (id, still) => processes.get(id)?.hold(still),
  });

  /** Removals that are under way. Nothing waits for them but the end of this node. */
  const removals = new Set<Promise<void>>();
  function removing(removal: Promise<void>): void {
    const done = removal
      .catch((error: unknown) => parts.reportBug(error, "removal of a workspace"))
      .finally(() => removals.delete(done));
    removals.add(done);
  }

  async function start(agentId: string, companyId: string): Promise<void> {
    const id = newId();
    const token = parts.newSecret();
    await at("intent");
    const intent = await writeIn(store, companyId, newId, async (call) => {
      const { tx } = call;
      const verdict = await readinessOf(tx, agentId, (type) => runner.canStart(type));
      if (!verdict.start) {
        if (verdict.why === "full") places.full(companyId, agentId);
        return null;
      }
      const { config, missing } = (await parts.secrets?.resolve(tx, verdict.agent)) ?? {};
      if (missing !== undefined && missing.length > 0) return null;
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
      const share = await setAside(call, money, verdict.place, verdict.settings);
      const skills = await takeSkills(tx, verdict.agent, id);
      const { maxSessionProcesses, maxSessionMemoryMb, maxSessionDiskMb } = verdict.settings;
      const limits = {
        processes: maxSessionProcesses,
        memoryMb: maxSessionMemoryMb,
        diskMb: maxSessionDiskMb,
      };
      const agent = { ...verdict.agent, brain_config: config ?? verdict.agent.brain_config };
      const secrets = parts.secrets?.valuesOf(companyId) ?? [];
      return { share, spec: { agent, briefing, skills, workspace, limits, secrets } };
    });
    await at("intended");
    if (intent === null) return;
    opened.add(id);
    const session = { id, company_id: companyId };
    let process: Running;
    try {
      const onUsage = (usage: Usage): void => meter.heard(session, usage);
      process = await runner.start({ id, token, ...intent.spec, onUsage });
    } catch (error) {
      parts.reportBug(error, `start of session ${id}`);
      await settle(session, { reason: endReasons.notStarted(messageOf(error)), exitCode: null });
      return;
    }
    processes.set(id, process);
    meter.begin(id, intent.share);
    // If recording the end fails, the next tick tries again (endUnwanted).
    void process.exited
      .then((exit) => finished(session, exit))
      .catch((error: unknown) => parts.reportBug(error, `end of session ${id}`));
    await at("spawned");
    try {
      const accepted = await store.write((tx) => recordProcess(tx, id, process.pid, process.started));
      await at("recorded");
      if (accepted) {
        runner.confirmLeases(leaseMilliseconds);
        process.release();
      } else process.kill();
    } catch (error) {
      process.kill();
      throw error;
    }
  }

  async function finished(session: Pick<SessionRow, "id" | "company_id">, exit: Exit): Promise<void> {
    exits.set(session.id, { session, exit });
    await at("exited");
    const { usage } = exit;
    await writeIn(store, session.company_id, newId, async ({ tx }) => {
      if (usage !== undefined) await noteUsage(tx, session.id, usage, newId);
      await forgetProcess(tx, session.id);
    });
    meter.forget(session.id);
    await settle(session, { reason: exit.reason, exitCode: exit.code }, exit.code === 0 ? exit.output : null);
    processes.delete(session.id);
    exits.delete(session.id);
    finishing.delete(session.id);
    opened.delete(session.id);
    removing(runner.cleanUp(session.id));
  }

  /**
   * Ends processes and sessions that no longer belong together: a process whose session was ended (by a pause, a reclaim, or
   * a node that took over), a process that outlives its summary, and a session whose process never started.
   */
  async function endUnwanted(now: number): Promise<void> {
    for (const [id, until] of finishing) {
      if (until > now) continue;
      finishing.delete(id);
      processes.get(id)?.kill();
    }
    for (const { session, exit } of exits.values()) await finished(session, exit);
    const { live, unsettled } = await store.read(async (tx) => ({
      live: await tx.all(liveOn, { node_id: nodeId }),
      unsettled: await tx.all(unsettledSessions, { nodeId, now: tx.now, limit: 500 }),
    }));
    const wanted = new Set(live.map(({ id }) => id));
    for (const [id, process] of processes) if (!wanted.has(id)) process.kill();
    for (const session of unsettled)
      await settle(session, { reason: session.end_reason ?? "ended", exitCode: null });
    for (const session of live)
      if (!processes.has(session.id))
        await settle(session, { reason: endReasons.processGone, exitCode: null });
  }

  async function settle(
    session: Pick<SessionRow, "id" | "company_id">,
    ending: { reason: string; exitCode: number | null },
    /** The final output, which may be empty. Null if it must not be applied, because the process did not exit with 0. */
    said: string | null = null,
  ): Promise<void> {
    await writeIn(store, session.company_id, newId, async ({ tx }) => {
      const row = said === null ? undefined : await sessionById(tx, session.id);
      if (said !== null && row !== undefined && row.settled === 0)
        await applyFinalOutput(tx, row, said, parts);
      await endSession(tx, session.id, ending, newId);
    });
    places.freed(session.company_id);
  }

  /** Renews the leases of this node, and ends the sessions of nodes that stopped renewing theirs. */
  async function keepLeases(): Promise<void> {
    if (processes.size > 0) {
      await store.write(async (tx) => {
        await tx.run(renewLeases, { node_id: nodeId, lease_until: tx.now + leaseMilliseconds });
      });
      runner.confirmLeases(leaseMilliseconds);
    }
    const live = await store.read(async (tx) => ({ now: tx.now, sessions: await tx.all(liveSessions, {}) }));
    for (const session of live.sessions)
      if (session.node_id !== null && session.node_id !== nodeId && session.lease_until < live.now)
        await takeOver(session);
  }

  /** Checks the lease again inside the transaction, because its node may have come back meanwhile. */
  async function takeOver({ id, company_id }: Pick<SessionRow, "id" | "company_id">): Promise<void> {
    await writeIn(store, company_id, newId, async ({ tx }) => {
      const session = await sessionById(tx, id);
      if (session === undefined || session.ended_at !== null || session.lease_until >= tx.now) return;
      await endSession(tx, id, { reason: endReasons.nodeSilent, exitCode: null }, newId);
    });
    places.freed(company_id);
  }

  /** Processes come first: a session that was ended meanwhile, by a pause or another node, may have left one here. */
  async function reconcile(): Promise<void> {
    const { left, live } = await store.read(async (tx) => ({
      left: await tx.all(processesOn, { node_id: nodeId }),
      live: await tx.all(liveOn, { node_id: nodeId }),
    }));
    for (const { id, pid, pid_started } of left) {
      if (pid !== null && pid_started !== null) runner.killOrphan(pid, pid_started, id);
      await store.write((tx) => forgetProcess(tx, id));
    }
    for (const session of live) {
      // A session that had finished keeps its output, so its work need not be done again.
      const exit = runner.takeExit(session.id);
      if (exit !== undefined)
        await finished(session, exit).catch((error: unknown) => {
          parts.reportBug(error, `end of session ${session.id}`);
          exits.delete(session.id);
        });
      await settle(session, { reason: endReasons.daemonRestarted, exitCode: null });
    }
    removing(runner.cleanUpOthers((id) => opened.has(id)));
  }

  return {
    start,
    // The first summary counts. Another one does not gain time.
    summarySubmitted: (id, now) => {
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
      for (const session of await store.read((tx) => tx.all(liveOn, { node_id: nodeId })))
        await settle(session, { reason: endReasons.daemonStopped, exitCode: null });
      await Promise.all(removals);
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
