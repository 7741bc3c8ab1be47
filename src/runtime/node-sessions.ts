import { writeIn } from "../dispatch/context.ts";
import type { Usage } from "../contract/budgets.ts";
import type { ReadTx } from "../store/store.ts";
import { tellOnce } from "../mail/notices.ts";
import { nodeName } from "../readers/nodes.ts";
import { agentById } from "../agents/table.ts";
import { hasOtherRights } from "./briefing.ts";
import { applyFinalOutput } from "./final-output/closing.ts";
import type { Exit, Running } from "../processes/runner.ts";
import type { InCompany } from "./lanes.ts";
import { endEarlierRun } from "./earlier-run.ts";
import { byNode, createNodeLeases } from "./node-leases.ts";
import type { NodeParts } from "./node-parts.ts";
import type { NodeTrouble } from "./node-trouble.ts";
import { intendSession } from "./session-intent.ts";
import type { Due } from "./due.ts";
import {
  endOverdue,
  type Ending,
  endSession,
  forgetProcess,
  liveOn,
  noteLastWords,
  noteThread,
  recordProcess,
  sessionById,
  type SessionKey,
} from "./sessions.ts";
import { stopRequests } from "./stop-requests.ts";
import { endReasons, nodeCannotStart } from "./texts.ts";
import { createMeter, noteUsage } from "./usage.ts";

/** Agents that wait for one of the company's maxSessions places, or for room on this node. The scheduler remembers them. */
interface Places {
  /** Called when a session ended, so its company may have a free place. */
  readonly freed: (companyId: string) => void;
  /** Called when the company had no place for this agent. */
  readonly full: (companyId: string, agentId: string) => void;
  /** Called when a process ended or a start failed, so this node may have room for another process. */
  readonly roomFreed: () => void;
  readonly run: InCompany;
  /** Whether this node rests after a start that failed because of the node. */
  readonly rests: () => boolean;
  /** Like `run`, for work after which the scheduler need not look again. */
  readonly runUncounted: InCompany;
}

/** Sessions and processes that have to be ended. */
export interface Unwanted extends Pick<Due, "overdue" | "lapsed" | "unsettled" | "live"> {
  /** Processes whose sessions have ended, and the reasons. */
  readonly left: readonly { readonly id: string; readonly reason: string }[];
  /** Sessions whose rights have changed since they were started. */
  readonly outdated: readonly SessionKey[];
}

interface NodeSessions {
  /** Does nothing if the agent has no work any more, or if there is no place for it. Returns false if this node has no room. */
  start(agentId: string, companyId: string): Promise<boolean>;
  /** Called when the session submitted its summary. If its process does not exit by itself within 10 seconds, it is killed. */
  summarySubmitted(sessionId: string, now: number): void;
  /** Records all usage that was reported so far. */
  catchUp(): Promise<void>;
  /** Returns the time of the renewal. */
  renewLeases(): Promise<number>;
  /** The processes that were not asked to end. */
  processes(): readonly string[];
  /**
   * Finds sessions and processes that no longer belong together. `processes` is the list from before the transaction
   * began, so this transaction sees all their sessions. With `mayDiffer`, the settings of running sessions are compared, too.
   */
  look(tx: ReadTx, due: Due, processes: readonly string[], mayDiffer: boolean): Promise<Unwanted>;
  /** Asks all sessions to stop, because the node stops. They may save their state for this long. */
  askAllToStop(milliseconds: number): Promise<void>;
  /** Ends what look() found, and asks the outdated sessions to stop. Returns false if not all could be asked. */
  end(unwanted: Unwanted, now: number): Promise<boolean>;
  /** The times at which the sessions that submitted a summary are killed. */
  readonly deadlines: () => Iterable<number>;
  readonly running: () => number;
  readonly hasRoom: () => boolean;
  /** Ends the sessions and processes that an earlier run of this node left. */
  reconcile(): Promise<void>;
  endAll(): Promise<void>;
}

const grace = 10_000;
/**
 * How long the program of a session that was ended elsewhere may run on. The session has no rights any more. The program is
 * asked to end, to close its own files, and is killed after this time: force-stop promises that no process is left.
 */
const farewell = 2000;

/**
 * The sessions of one node and their processes: starting and ending.
 *
 * Starting a session takes three steps, each safe to crash after:
 *   1. write the session row with a new epoch, in a transaction that checks everything again.
 *      After a crash, the next start of this node ends the row.
 *   2. create the workspace and start the process, which waits at its gate and does nothing.
 *      After a crash, the gate closes with the daemon and the process ends by itself.
 *   3. record the pid, if the session is still live, and only then open the gate.
 *      After a crash, the next start finds the process by pid and start time, and kills it.
 *
 * The exit of a process is kept on disk until the session is settled. So a crash between the two does not lose its output.
 */
export function createNodeSessions(
  parts: NodeParts & { readonly trouble: NodeTrouble },
  places: Places,
): NodeSessions {
  const { store, nodeId, runner, newId, trouble } = parts;
  const at = async (step: string): Promise<void> => parts.at?.(step);
  const processes = new Map<string, Running & { readonly agentId: string }>();
  /** The processes that were asked to end because their sessions have ended. */
  const stopping = new Set<string>();
  /** The suspended processes. Their sessions have used their reserved share. */
  const held = new Set<string>();
  /** The processes that have exited, until the exit is recorded. A failed attempt is repeated at the next tick. */
  const exits = new Map<string, { session: SessionKey; exit: Exit; isUnderWay: boolean }>();
  /** The sessions that this run of the node started. */
  const opened = new Set<string>();
  /** The sessions that submitted a summary, and when each is killed. */
  const finishing = new Map<string, number>();
  const meter = createMeter({
    store,
    newId,
    reportBug: parts.reportBug,
    stop: (id) => processes.get(id)?.kill(),
    hold: (id, still) => {
      if (still) held.add(id);
      else held.delete(id);
      processes.get(id)?.hold(still);
    },
  });

  function sayFarewell(id: string): void {
    if (stopping.has(id)) return;
    stopping.add(id);
    if (held.has(id)) processes.get(id)?.kill();
    else processes.get(id)?.stop(farewell);
  }

  /** True once this node stops. It then ends its sessions itself. */
  let ending = false;
  const { run } = places;
  const asked = stopRequests(parts, run);
  const leases = createNodeLeases(parts, () => processes.size > 0, places.freed);

  /** Removals of workspaces that are under way. Only the end of this node waits for them. */
  const removals = new Set<Promise<void>>();
  function removing(removal: Promise<void>): void {
    const done = removal
      .catch((error: unknown) => parts.reportBug(error, "removal of a workspace"))
      .finally(() => removals.delete(done));
    removals.add(done);
  }

  /** Starts that are under way and have no process yet. */
  let starting = 0;
  const hasRoom = (): boolean => {
    if (places.rests()) return false;
    const alive = [...processes.keys()].filter((id) => !exits.has(id)).length;
    return alive + starting < (parts.capacity ?? Infinity);
  };

  async function start(agentId: string, companyId: string): Promise<boolean> {
    if (!hasRoom()) return false;
    starting++;
    let isOver = false;
    /** Called when the start counts as a process, or has failed. */
    const over = (): void => {
      if (!isOver) starting--;
      isOver = true;
    };
    try {
      await startOne(agentId, companyId, over);
    } finally {
      if (!isOver) {
        over();
        places.roomFreed();
      }
    }
    return true;
  }

  async function startOne(agentId: string, companyId: string, over: () => void): Promise<void> {
    const id = newId();
    const token = `ags_${parts.newSecret()}`;
    const lease = leases.begin();
    await at("intent");
    let asked = 0;
    const intent = await writeIn(store, companyId, newId, async (call) => {
      asked = call.tx.now;
      const intent = await intendSession(call, parts, { id, token, agentId, companyId });
      if (intent === "full") places.full(companyId, agentId);
      return intent === "full" ? null : intent;
    });
    await at("intended");
    if (intent === null) return;
    opened.add(id);
    const session = { id, company_id: companyId };
    let process: Running & { readonly agentId: string };
    try {
      // Two brains must never share the agent's home. The last one had its time to end.
      for (const each of processes.values()) if (each.agentId === agentId) each.kill();
      const onUsage = (usage: Usage): void => meter.heard(session, usage);
      const { brain_type: type } = intent.spec.agent;
      const { brains } = parts;
      const contextTokens =
        brains === undefined ? undefined : await store.read((tx) => brains.contextOf(tx, intent.spec.agent));
      const onThread = (thread: string): void =>
        void writeIn(store, companyId, newId, ({ tx }) =>
          tx.run(noteThread, { id, thread: `${type}:${thread}` }),
        ).catch((error: unknown) => parts.reportBug(error, `thread of session ${id}`));
      process = {
        ...(await runner.start({ id, token, ...intent.spec, contextTokens, onUsage, onThread })),
        agentId,
      };
    } catch (error) {
      parts.reportBug(error, `start of session ${id}`);
      const why = messageOf(error);
      if (!trouble.failed(error, asked))
        return settle(session, { reason: endReasons.notStarted(why), exitCode: null });
      await settle(session, byNode(endReasons.nodeFailed(why)));
      await writeIn(store, companyId, newId, async (call) => {
        const text = nodeCannotStart(await nodeName(call.tx, nodeId), why);
        await tellOnce(call, { about: nodeId, kind: "node", to: null, text });
      });
      return;
    }
    processes.set(id, process);
    trouble.started();
    over();
    meter.begin(id, intent.share);
    // If recording the end fails, the next tick tries again (endUnwanted).
    void process.exited
      .then((exit) => finished(session, exit))
      .catch((error: unknown) => parts.reportBug(error, `end of session ${id}`));
    await at("spawned");
    try {
      const accepted = await writeIn(store, companyId, newId, ({ tx }) =>
        recordProcess(tx, id, process.pid, process.started),
      );
      await at("recorded");
      if (accepted) {
        lease();
        process.release();
      } else process.kill();
    } catch (error) {
      process.kill();
      throw error;
    }
  }

  async function finished(session: SessionKey, given: Exit): Promise<void> {
    const exit = storable(given);
    exits.set(session.id, { session, exit, isUnderWay: true });
    try {
      await recordEnd(session, exit);
    } catch (error) {
      exits.set(session.id, { session, exit, isUnderWay: false });
      throw error;
    }
  }

  async function recordEnd(session: SessionKey, exit: Exit): Promise<void> {
    // Free the room before the commits below, which wake the scheduler.
    places.roomFreed();
    await at("exited");
    const { usage, cause = exit.code === 0 ? "done" : "failed" } = exit;
    const isBrains = cause === "missing" || cause === "signed_out" || cause === "overloaded";
    const isStopped = ending && cause !== "done";
    const isBlameless = isBrains || isStopped || exit.leaseLost === true;
    const reason = isStopped ? endReasons.daemonStopped : exit.reason;
    const isOver = await writeIn(store, session.company_id, newId, async ({ tx }) => {
      if (usage !== undefined) await noteUsage(tx, session.id, usage, newId);
      await noteLastWords(tx, session.id, exit.output, exit.toolCalls ?? 0);
      await forgetProcess(tx, session.id);
      const row = await sessionById(tx, session.id);
      // A session that was ended from outside says nothing about its brain, because its later calls were refused.
      if (row?.ended_at === null)
        await parts.brains?.ended(tx, await agentById(tx, row.agent_id), {
          cause: row.summarized === 1 ? "done" : cause,
          says: exit.reason,
        });
      return row === undefined || row.ended_at !== null;
    });
    meter.forget(session.id);
    // A program that was asked to end may exit with any code. That does not count as a failure, and its conversation can be
    // resumed.
    if (isOver) await settle(session, { reason, exitCode: null, isBlameless });
    else
      await settle(
        session,
        { reason, exitCode: exit.code, cause, isBlameless },
        cause === "done" ? exit : null,
      );
    processes.delete(session.id);
    stopping.delete(session.id);
    held.delete(session.id);
    exits.delete(session.id);
    finishing.delete(session.id);
    opened.delete(session.id);
    removing(runner.cleanUp(session.id));
  }

  /**
   * Ends processes and sessions that no longer belong together: a process whose session was ended (by a pause, a reclaim, or a
   * node that took over), a process that outlives its summary, and a session whose process never started.
   */
  async function end(unwanted: Unwanted, now: number): Promise<boolean> {
    const { overdue, lapsed, unsettled, live, left, outdated } = unwanted;
    for (const session of lapsed) await run(session.company_id, () => leases.takeOver(session));
    const isDone = await asked.outdated(outdated);
    for (const [id, until] of finishing) {
      if (until > now) continue;
      finishing.delete(id);
      processes.get(id)?.stop();
    }
    for (const { session, exit, isUnderWay } of exits.values())
      if (!isUnderWay) await run(session.company_id, () => finished(session, exit));
    for (const { id, company_id } of overdue)
      await run(company_id, () => writeIn(store, company_id, newId, ({ tx }) => endOverdue(tx, id, newId)));
    endProcesses(left);
    for (const session of unsettled)
      await run(session.company_id, () =>
        settle(session, { reason: session.reason ?? "ended", exitCode: null }),
      );
    for (const session of live)
      if (!processes.has(session.id))
        await run(session.company_id, () => settle(session, byNode(endReasons.processGone)));
    return isDone;
  }

  /** If another node took over or a newer session exists, two brains would run. Then the process is killed at once. */
  function endProcesses(left: Unwanted["left"]): void {
    for (const { id, reason } of left) {
      if (reason === endReasons.replaced || reason === endReasons.nodeSilent) processes.get(id)?.kill();
      else sayFarewell(id);
    }
  }

  async function settle(
    session: SessionKey,
    ending: Ending,
    /** The final output, which may be empty. Null if it must not be applied, because the process did not exit with 0. */
    said: Pick<Exit, "output" | "lost"> | null = null,
  ): Promise<void> {
    await writeIn(store, session.company_id, newId, async ({ tx }) => {
      const row = said === null ? undefined : await sessionById(tx, session.id);
      if (said !== null && row !== undefined && row.settled === 0)
        await applyFinalOutput(tx, row, said, parts);
      await endSession(tx, session.id, ending, newId);
    });
    places.freed(session.company_id);
  }

  async function look(tx: ReadTx, due: Due, known: readonly string[], mayDiffer: boolean): Promise<Unwanted> {
    const wanted = new Set(due.live.map(({ id }) => id));
    const gone = known.filter((id) => !wanted.has(id));
    const rows = await Promise.all(gone.map((id) => sessionById(tx, id)));
    const compared = mayDiffer && wanted.size > 0 ? await tx.all(liveOn, { node_id: nodeId }) : [];
    const outdated = [];
    for (const session of compared)
      if (session.end_by === null && (await hasOtherRights(tx, session))) outdated.push(session);
    const left = gone.map((id, index) => ({ id, reason: rows[index]?.end_reason ?? endReasons.replaced }));
    return { ...due, left, outdated };
  }

  return {
    start,
    // Only the first summary counts: a second one gains no time.
    summarySubmitted: (id, now) => {
      if (!finishing.has(id)) finishing.set(id, now + grace);
    },
    // Not counted: after a failure, the next round would repeat it at once.
    catchUp: () => meter.catchUp(places.runUncounted),
    renewLeases: leases.renew,
    processes: () => [...processes.keys()].filter((id) => !stopping.has(id)),
    look,
    end,
    askAllToStop: asked.all,
    deadlines: () => finishing.values(),
    running: () => processes.size,
    hasRoom,
    reconcile: () =>
      endEarlierRun(parts, {
        run,
        isOwn: (id) => opened.has(id),
        finished,
        giveUp: (id) => exits.delete(id),
        settle,
        removing,
      }),
    endAll: async () => {
      ending = true;
      // The sessions were asked to stop before (askAllToStop) and had their time to end.
      for (const process of processes.values()) process.kill();
      await Promise.all([...processes.values()].map(({ exited }) => exited));
      for (const session of await store.read((tx) => tx.all(liveOn, { node_id: nodeId })))
        await settle(session, byNode(endReasons.daemonStopped));
      await Promise.all(removals);
    },
  };
}

/** Programs print NUL and halves of characters, but no store keeps them. */
function storable(exit: Exit): Exit {
  const clean = (text: string): string => text.replaceAll("\u0000", "").toWellFormed();
  const { reason, output, lost } = exit;
  const kept =
    lost === undefined
      ? {}
      : { lost: { ...lost, directives: lost.directives.map(clean), line: clean(lost.line) } };
  return { ...exit, reason: clean(reason), output: clean(output), ...kept };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
