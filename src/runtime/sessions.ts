import { type RawBuilder, sql } from "kysely";
import type { EndCause, EndKind } from "../contract/sessions.ts";
import { redactText } from "../redaction/redact.ts";
import { companyFrozen } from "../companies/freezing.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { bySystem } from "../dispatch/context.ts";
import { keepCredential } from "../agents/keys.ts";
import { agentById, type AgentRow, saveAgent } from "../agents/table.ts";
import { departedBelow, reportsBelow } from "../capabilities/structure.ts";
import { giveBack } from "../budgets/reservations.ts";
import { append, system } from "../events/ledger.ts";
import { hasWords, wordsOf } from "../store/search-words.ts";
import { describedBy } from "../knowledge/lists.ts";
import { insertion } from "../store/inserts.ts";
import { query, counting, dynamic, selection, updating } from "../store/query.ts";
import { sessionRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { appendToLog } from "./log.ts";
import { countProgress, guardAgainstStalling, rested } from "./progress.ts";
import { activityOf } from "./session-activity.ts";
import { endReasons, withoutSummary } from "./texts.ts";

/**
 * A session: one run of an agent's brain.
 *
 *   intent ──process started, pid recorded──▶ running ──exit, stop, takeover──▶ ended ──▶ settled
 *
 * Opening a session raises the agent's epoch. From then on, only the token of that epoch is accepted. A session that still
 * runs elsewhere is refused at its next call, inside the transaction of that call. The row is written before the process
 * exists, so every process can be found again after a crash. An index enforces that an agent has at most one session that
 * has not ended. One transaction ends the session, and the process is killed after it. Settling (the log entry, whether
 * the session made progress) happens once, in endSession().
 */
export type SessionRow = Row<"sessions">;
export type SessionKey = Pick<SessionRow, "id" | "company_id">;

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
  /** The outcome that the session's costs count for. Default: the first outcome. */
  readonly workOutcomeId?: string | null;
  readonly briefing?: string;
  readonly assignment?: string;
  readonly mcpServers?: readonly string[];
  /** The repositories whose mirrors the sandbox shows. */
  readonly repos?: readonly string[];
}

export async function openSession(tx: Tx, session: NewSession): Promise<{ epoch: number }> {
  const agent = await agentById(tx, session.agentId);
  const epoch = agent.epoch + 1;
  await tx.run(endLive, { agent_id: agent.id, ended_at: tx.now, end_reason: endReasons.replaced });
  const ready = await rested(tx, agent, session.firstOutcomeId ?? null);
  await saveAgent(tx, agent, { ...ready, epoch, last_session_at: tx.now });
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
    end_by: null,
    end_by_reason: null,
    model: agent.model,
    mcp_servers: JSON.stringify(session.mcpServers ?? []),
    repos: JSON.stringify(session.repos ?? []),
    exit_code: null,
    cause: null,
    settled: 0,
    summarized: 0,
    summary: null,
    last_line: null,
    tool_calls: null,
    prompt_version: session.promptVersion ?? null,
    thread: null,
    first_outcome_id: session.firstOutcomeId ?? null,
    work_outcome_id: session.workOutcomeId ?? session.firstOutcomeId ?? null,
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

/**
 * Records which process runs the session. Returns false if the session was ended meanwhile. Its process must then be killed.
 */
export async function recordProcess(tx: Tx, id: string, pid: number, started: string): Promise<boolean> {
  return (await tx.count(setPid, { id, pid, pid_started: started })) === 1;
}

/** Stores the brain's name for the conversation of a session. */
export const noteThread = updating("sessions", ["thread"], ["id"]);

/**
 * The conversation of the agent's last session, if that session was ended from outside. After a failure, the brain starts a new
 * conversation. It also does after a request to stop: it had time to save what it knew, and its context may be full.
 */
export async function threadToResume(
  tx: ReadTx,
  agent: Pick<AgentRow, "id" | "brain_type">,
): Promise<string | undefined> {
  const last = await tx.first(lastEnded, { agentId: agent.id });
  const prefix = `${agent.brain_type}:`;
  if (
    last?.thread?.startsWith(prefix) !== true ||
    last.exit_code !== null ||
    last.end_by !== null ||
    last.summarized === 1
  )
    return undefined;
  return last.thread.slice(prefix.length);
}

const lastEnded = query((db, p: { agentId: string }) =>
  db
    .selectFrom("sessions")
    .select(["thread", "exit_code", "end_by", "summarized"])
    .where("agent_id", "=", p.agentId)
    .where("ended_at", "is not", null)
    .orderBy("epoch", "desc")
    .limit(1),
);

export interface Ending {
  readonly reason: string;
  readonly exitCode: number | null;
  /** The brain's judgement of the end. Without it, the exit code decides. */
  readonly cause?: EndCause;
  /**
   * The agent did not cause the end: its brain can't work now, or its node stopped. The session does not count as one without
   * progress.
   */
  readonly isBlameless?: boolean;
}

/**
 * Ends a session if it has not ended yet, and settles it: writes the log entry, notes whether the state document was updated,
 * and applies the stall guard. Calling it twice does no harm.
 */
export async function endSession(tx: Tx, id: string, ending: Ending, newId: () => string): Promise<boolean> {
  const session = await tx.first(sessionRow, { id });
  if (session === undefined || session.settled === 1) return false;
  const cause = causeOf(ending);
  await tx.run(markEnded, {
    id,
    ended_at: session.ended_at ?? tx.now,
    end_reason: session.end_reason ?? ending.reason,
    exit_code: ending.exitCode,
    cause,
    settled: 1,
  });
  // While the process may still run, its reserved budget stays reserved until it exits (forgetProcess). If the node is silent,
  // that would take for ever, so the budget is released now.
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
  const now = await agentById(tx, agent.id);
  // In an archived company nothing is blocked, and no manager is told.
  const isArchived = (await companyState(tx, agent.company_id)).state === "archived";
  const isExcused = session.end_reason === companyFrozen || ending.isBlameless === true || isArchived;
  const progress = await countProgress(tx, session, now);
  const failure = cause === null || cause === "done" ? undefined : ending.reason;
  const after =
    isExcused && !progress ? now : await guardAgainstStalling(tx, now, session, progress, newId, failure);
  await saveAgent(tx, now, {
    ...after,
    state_stale: activity.updatedState ? 0 : 1,
    last_session_at: tx.now,
  });
  const { reason, exitCode } = ending;
  const wasAsked = session.end_by !== null;
  const data = { session: id, reason, exitCode, progress, ...(wasAsked && { wasAsked }) };
  await bySystem(tx, agent.company_id, newId).record(agent.id, data, "session.end");
  return true;
}

/** A killed process did not end by itself, whatever its brain reports. */
function causeOf({ exitCode, cause = exitCode === 0 ? "done" : "failed" }: Ending): EndCause | null {
  return exitCode === null ? null : cause;
}

export const renewLeases = updating("sessions", ["lease_until"], ["node_id"], sql`and ended_at is null`);

export const liveOn = selection("sessions", ["node_id"], sql`and ended_at is null`);

/** Ends a session that was asked to stop and has not stopped. Its node then kills the process. */
export async function endOverdue(tx: Tx, id: string, newId: () => string): Promise<void> {
  const { end_by = null, ended_at, end_by_reason } = (await tx.first(sessionRow, { id })) ?? {};
  if (end_by === null || end_by > tx.now || ended_at !== null) return;
  await endSession(tx, id, { reason: end_by_reason ?? "", exitCode: null }, newId);
}

/** Sessions of a node, ended or not, whose process may still run. */
export const processesOn = selection("sessions", ["node_id"], sql`and pid is not null`);

/**
 * Notes that the process exited. If the session was settled before, its reserved budget is released now, and others may use it.
 */
export async function forgetProcess(tx: Tx, id: string): Promise<void> {
  await tx.run(clearPid, { id, pid: null });
  const session = await tx.first(sessionRow, { id });
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

export const markSummarized = updating("sessions", ["summarized", "summary"], ["id"]);

/** Stores what people can see of an exited process: how often it called a tool, and its last line. */
export async function noteLastWords(tx: Tx, id: string, output: string, toolCalls: number): Promise<void> {
  await tx.run(setLastWords, {
    id,
    last_line: lastLinesOf(redactText(output), 1)[0] ?? null,
    tool_calls: toolCalls,
  });
}

/** The last lines of a text without empty ones, oldest first, each cut to a maximum. */
export function lastLinesOf(text: string, most: number): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines
    .filter((line) => line !== "")
    .slice(-most)
    .map((line) => line.slice(0, 300).toWellFormed());
}

const setLastWords = updating("sessions", ["last_line", "tool_calls"], ["id"]);

export async function sessionById(tx: ReadTx, id: string): Promise<SessionRow | undefined> {
  return tx.first(sessionRow, { id });
}

export interface SessionFilter {
  readonly companyId?: string;
  readonly agentId?: string;
  /** Limits the list to sessions of this agent and of its reports, including departed ones. */
  readonly overseer?: string | undefined;
  readonly outcome?: string | undefined;
  readonly end?: EndKind | undefined;
  /** A further condition on the row `s`. */
  readonly about?: RawBuilder<boolean> | undefined;
}

/** How a session ended, as conditions on the row `s`. After its summary, a session that does not exit by itself is stopped. */
const isEnd: Readonly<Record<EndKind, RawBuilder<boolean>>> = {
  running: sql`s.ended_at is null`,
  done: sql`s.ended_at is not null and (s.cause = 'done' or s.summarized = 1)`,
  failed: sql`s.ended_at is not null and s.cause <> 'done' and s.summarized = 0`,
  stopped: sql`s.ended_at is not null and s.cause is null and s.summarized = 0`,
};

export function endOf(row: Pick<SessionRow, "ended_at" | "cause" | "summarized">): EndKind {
  if (row.ended_at === null) return "running";
  if (row.cause === "done" || row.summarized === 1) return "done";
  return row.cause === null ? "stopped" : "failed";
}

export type ShownSession = SessionRow & { agent_name: string; outcome_title: string | null };

const meets = ({ companyId, agentId, overseer, outcome, end, about }: SessionFilter) => {
  const conditions = [
    ...(companyId === undefined ? [] : [sql`s.company_id = ${companyId}`]),
    ...(agentId === undefined ? [] : [sql`s.agent_id = ${agentId}`]),
    ...(overseer === undefined
      ? []
      : [
          sql`(s.agent_id = ${overseer} or s.agent_id in (${reportsBelow(overseer)})
            or s.agent_id in (${departedBelow(overseer)}))`,
        ]),
    ...(outcome === undefined
      ? []
      : [sql`(s.first_outcome_id = ${outcome} or s.work_outcome_id = ${outcome})`]),
    ...(end === undefined ? [] : [isEnd[end]]),
    ...(about === undefined ? [] : [about]),
  ];
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
};

/** Finds sessions by words. Each word must begin a word of the agent's name or role, or of the outcome's title. */
export async function sessionsAbout(
  tx: ReadTx,
  companyId: string,
  text: string,
  withTitles: boolean,
): Promise<RawBuilder<boolean>> {
  const words = wordsOf(text);
  if (words.length === 0) return sql`1 = 0`;
  const agents = await tx.all(namedAgents, { companyId });
  const each = words.map((word) => {
    const ids = agents.filter(({ name, role }) => hasWords(`${name} ${role}`, [word])).map(({ id }) => id);
    const isAgent = ids.length === 0 ? sql`1 = 0` : sql`s.agent_id in (${sql.join(ids)})`;
    return withTitles
      ? sql`(${isAgent} or s.work_outcome_id in (select f.id from files f where ${describedBy(tx.dialect, [word])}))`
      : isAgent;
  });
  return sql<boolean>`(${sql.join(each, sql` and `)})`;
}

const namedAgents = query((db, p: { companyId: string }) =>
  db.selectFrom("agents").select(["id", "name", "role"]).where("company_id", "=", p.companyId),
);

/** A page of the sessions, newest first. */
export function sessionsPage(
  tx: ReadTx,
  filter: SessionFilter & { readonly before: string; readonly limit: number },
): Promise<ShownSession[]> {
  return tx.all(
    dynamic((db) =>
      db
        .selectFrom("sessions as s")
        .innerJoin("agents as a", "a.id", "s.agent_id")
        .leftJoin("outcomes as o", "o.id", "s.work_outcome_id")
        .selectAll("s")
        .select(["a.name as agent_name", "o.title as outcome_title"])
        .where(meets(filter))
        .where("s.id", "<", filter.before)
        .orderBy("s.id", "desc")
        .limit(filter.limit),
    ),
    {},
  );
}

export async function countSessions(tx: ReadTx, filter: SessionFilter): Promise<number> {
  const count = dynamic((db) =>
    db
      .selectFrom("sessions as s")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where(meets(filter)),
  );
  return (await tx.first(count, {}))?.count ?? 0;
}

const endLive = updating("sessions", ["ended_at", "end_reason"], ["agent_id"], sql`and ended_at is null`);

const markEnded = updating("sessions", ["ended_at", "end_reason", "exit_code", "cause", "settled"], ["id"]);

const setPid = updating("sessions", ["pid", "pid_started"], ["id"], sql`and ended_at is null`);

const insertRow = insertion("sessions");
