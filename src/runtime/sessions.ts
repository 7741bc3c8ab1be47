import { sql } from "kysely";
import { bySystem } from "../dispatch/context.ts";
import { keepCredential } from "../agents/keys.ts";
import { agentById, type AgentRow, saveAgent } from "../agents/table.ts";
import { giveBack } from "../budgets/reservations.ts";
import { append, system } from "../events/ledger.ts";
import { notify } from "../mail/operations.ts";
import { waitingFor } from "../mail/table.ts";
import { outcomeById, saveOutcome } from "../outcomes/table.ts";
import { counting, dynamic, insertion, selection, updating } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { appendToLog } from "./log.ts";
import { endReasons, inboxStalled, noProgress, outcomeStalled, withoutSummary } from "./texts.ts";
import { type Activity, activityOf } from "./session-activity.ts";

/**
 * A session: one run of an agent's brain.
 *
 *   intent ──process started, pid recorded──▶ running ──exit, stop, takeover──▶ ended ──▶ settled
 *
 * Opening a session raises the agent's epoch. From then on, only the token of that epoch is accepted; a session that still
 * runs elsewhere is refused at its next call, inside the transaction of that call. The row is written before the process
 * exists, so every process can be found again after a crash. An index enforces that at most one session of an agent is
 * not ended. Ending is one transaction, and the process is killed after it. Settling (the log entry, the stall guard)
 * happens once, by endSession().
 */
export type SessionRow = Row<"sessions">;

export interface NewSession {
  readonly id: string;
  readonly agentId: string;
  readonly credentialId: string;
  readonly token: string;
  readonly workspace: string | null;
  readonly nodeId?: string;
  readonly leaseUntil?: number;
  readonly promptVersion?: string;
  readonly firstOutcomeId?: string | null;
  readonly briefing?: string;
  readonly assignment?: string;
}

export async function openSession(tx: Tx, session: NewSession): Promise<{ epoch: number }> {
  const agent = await agentById(tx, session.agentId);
  const epoch = agent.epoch + 1;
  await tx.run(endLive, { agent_id: agent.id, ended_at: tx.now, end_reason: endReasons.replaced });
  await saveAgent(tx, { ...agent, epoch, last_session_at: tx.now });
  await tx.run(insertRow, {
    id: session.id,
    company_id: agent.company_id,
    agent_id: agent.id,
    epoch,
    workspace: session.workspace,
    node_id: session.nodeId ?? null,
    pid: null,
    pid_started: null,
    lease_until: session.leaseUntil ?? 0,
    started_at: tx.now,
    ended_at: null,
    end_reason: null,
    exit_code: null,
    settled: 0,
    summarized: 0,
    prompt_version: session.promptVersion ?? null,
    first_outcome_id: session.firstOutcomeId ?? null,
    briefing: session.briefing ?? null,
    assignment: session.assignment ?? null,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    consultant_input_tokens: 0,
    consultant_output_tokens: 0,
    consultant_cost_usd: 0,
  });
  await keepCredential(tx, {
    id: session.credentialId,
    token: session.token,
    kind: "session",
    companyId: agent.company_id,
    agentId: agent.id,
    sessionId: session.id,
    label: "session",
  });
  append(tx, {
    companyId: agent.company_id,
    actor: system,
    operation: "session.start",
    subject: agent.id,
    data: { session: session.id, epoch },
  });
  return { epoch };
}

/** Records which process runs the session. False if the session was ended meanwhile; its process must then be killed. */
export async function recordProcess(tx: Tx, id: string, pid: number, started: string): Promise<boolean> {
  return (await tx.run(setPid, { id, pid, pid_started: started })) === 1;
}

export interface Ending {
  readonly reason: string;
  readonly exitCode: number | null;
}

/**
 * Ends a session if it is not ended yet, and settles it: writes the log entry, notes whether the state document was updated,
 * and applies the stall guard. Safe to repeat.
 */
export async function endSession(tx: Tx, id: string, ending: Ending, newId: () => string): Promise<boolean> {
  const session = await tx.first(byId, { id });
  if (session === undefined || session.settled === 1) return false;
  await tx.run(markEnded, {
    id,
    ended_at: session.ended_at ?? tx.now,
    end_reason: session.end_reason ?? ending.reason,
    exit_code: ending.exitCode,
    settled: 1,
  });
  // While the process may still run, its reserved budget stays reserved until it exits (forgetProcess). If the node is
  // silent, waiting would never end, so the budget is released now.
  if (session.pid === null || session.lease_until < tx.now) await giveBack(tx, id);
  const agent = await agentById(tx, session.agent_id);
  const activity = await activityOf(tx, session, agent);
  if (session.summarized === 0)
    await appendToLog(
      tx,
      agent,
      { sessionId: id, text: withoutSummary(ending.reason, ending.exitCode, activity.calls, activity.files) },
      newId,
    );
  const after = await guardAgainstStalling(tx, await agentById(tx, agent.id), session, activity, newId);
  await saveAgent(tx, { ...after, state_stale: activity.updatedState ? 0 : 1, last_session_at: tx.now });
  const { reason, exitCode } = ending;
  const data = { session: id, reason, exitCode, progress: activity.progress };
  await bySystem(tx, agent.company_id, newId).record(agent.id, data, "session.end");
  return true;
}

export const liveSessions = selection("sessions", [], sql`and ended_at is null`);

export const renewLeases = updating("sessions", ["lease_until"], ["node_id"], sql`and ended_at is null`);

/** Sessions that were ended (by a reclaim or a pause) but not settled, of this node or of a node that is silent. */
export const unsettledSessions = selection(
  "sessions",
  [],
  (p: { nodeId: string; now: number; limit: number }) =>
    sql`and settled = 0 and ended_at is not null
      and (node_id is null or node_id = ${p.nodeId} or lease_until < ${p.now}) limit ${p.limit}`,
);

export const liveOn = selection("sessions", ["node_id"], sql`and ended_at is null`);

/** Sessions of a node, ended or not, whose process has not been seen to exit. */
export const processesOn = selection("sessions", ["node_id"], sql`and pid is not null`);

/** The process exited. If the session was settled before, its reserved budget is released now, and others may use it. */
export async function forgetProcess(tx: Tx, id: string): Promise<void> {
  await tx.run(clearPid, { id, pid: null });
  const session = await tx.first(byId, { id });
  if (session?.settled !== 1 || !(await giveBack(tx, id))) return;
  append(tx, {
    companyId: session.company_id,
    actor: system,
    operation: "budget.release",
    subject: session.agent_id,
    data: { session: id },
  });
}

const clearPid = updating("sessions", ["pid"], ["id"]);

export const countLive = counting("sessions", ["company_id"], sql`and ended_at is null`);

export const liveOf = selection("sessions", ["agent_id"], sql`and ended_at is null`);

export const markSummarized = updating("sessions", ["summarized"], ["id"]);

export async function sessionById(tx: ReadTx, id: string): Promise<SessionRow | undefined> {
  return tx.first(byId, { id });
}

export function sessionsPage(
  tx: ReadTx,
  filter: { companyId?: string; agentId?: string; live: boolean; before: string; limit: number },
): Promise<(SessionRow & { agent_name: string })[]> {
  return tx.all(
    dynamic((db) => {
      let rows = db
        .selectFrom("sessions as s")
        .innerJoin("agents as a", "a.id", "s.agent_id")
        .selectAll("s")
        .select("a.name as agent_name")
        .where("s.id", "<", filter.before);
      if (filter.companyId !== undefined) rows = rows.where("s.company_id", "=", filter.companyId);
      if (filter.agentId !== undefined) rows = rows.where("s.agent_id", "=", filter.agentId);
      if (filter.live) rows = rows.where("s.ended_at", "is", null);
      return rows.orderBy("s.id", "desc").limit(filter.limit);
    }),
    {},
  );
}

/**
 * The stall guard. Three sessions in a row that made no progress block the outcome they were started for, and the manager
 * gets a notice. After each such session the agent also waits longer before the next one. So a brain that crashes or
 * idles does not spend money for ever.
 */
async function guardAgainstStalling(
  tx: Tx,
  agent: AgentRow,
  session: SessionRow,
  activity: Activity,
  newId: () => string,
): Promise<AgentRow> {
  const outcome =
    session.first_outcome_id === null ? undefined : await outcomeById(tx, session.first_outcome_id);
  if (
    activity.progress ||
    outcome === undefined ||
    outcome.status !== "open" ||
    agent.status === "terminated"
  ) {
    if (outcome !== undefined && outcome.stalls > 0 && activity.progress)
      await tx.run(setStalls, { id: outcome.id, stalls: 0 });
    return activity.progress ? { ...agent, idle_sessions: 0, not_before: 0 } : agent;
  }
  const idle = agent.idle_sessions + 1;
  const waiting = {
    ...agent,
    idle_sessions: idle,
    not_before: tx.now + Math.min(1000 * 2 ** (idle - 1), longestBackOff),
  };
  if (outcome.stalls + 1 < mostStalls) {
    await tx.run(setStalls, { id: outcome.id, stalls: outcome.stalls + 1 });
    return waiting;
  }
  const reason = noProgress(mostStalls, agent.name);
  await saveOutcome(
    tx,
    { ...outcome, stalls: 0, blocked_reason: reason, blocked_until: null, blocked_on: null },
    system,
  );
  const call = bySystem(tx, agent.company_id, newId);
  await call.record(outcome.id, { reason, agent: agent.id }, "outcome.stall");
  const unanswered =
    outcome.kind === "inbox" ? await waitingFor(tx, agent.company_id, agent.id, 0, 1000) : [];
  await notify(
    call,
    agent.boss_id,
    outcome.kind === "inbox"
      ? inboxStalled({ id: outcome.id, agent: agent.name }, reason, session.id, unanswered.length)
      : outcomeStalled(outcome, reason, session.id),
    (unanswered.at(-1)?.auto_turn ?? 0) + 1,
  );
  return { ...waiting, idle_sessions: 0, not_before: 0 };
}

const mostStalls = 3;
const longestBackOff = 5 * 60_000;

const byId = selection("sessions", ["id"]);
const endLive = updating("sessions", ["ended_at", "end_reason"], ["agent_id"], sql`and ended_at is null`);

const markEnded = updating("sessions", ["ended_at", "end_reason", "exit_code", "settled"], ["id"]);

const setPid = updating("sessions", ["pid", "pid_started"], ["id"], sql`and ended_at is null`);

const setStalls = updating("outcomes", ["stalls"], ["id"]);

const insertRow = insertion("sessions");
