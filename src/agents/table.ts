import { sql } from "kysely";
import type { Agent } from "../contract/agents.ts";
import { notFound } from "../contract/refusal.ts";
import type { Writing } from "../dispatch/context.ts";
import { reportsOf } from "../capabilities/members.ts";
import { holderOf } from "../capabilities/people.ts";
import { noReviews, reviewsOf } from "../outcomes/review.ts";
import { statusIsLive } from "../outcomes/outcome.ts";
import { redactText } from "../redaction/redact.ts";
import { insertion } from "../store/inserts.ts";
import { type Db, query, saving, selection, updating } from "../store/query.ts";
import { agentRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import { nextAgentIn } from "./agent.ts";
import type { ReadTx } from "../store/store.ts";

export type AgentRow = Row<"agents">;
type Shown = Pick<AgentRow, (typeof shownColumns)[number]> & {
  boss_name: string | null;
  live_session: string | null;
};

/** The columns of a new agent that the caller does not set: it is active, and has neither worked nor spent. */
export const newAgentDefaults = {
  title: null,
  capabilities: null,
  generation: 1,
  status: "idle",
  log_file_id: null,
  state_stale: 0,
  prompt: null,
  model: null,
  effort: null,
  budget: null,
  auto_reply: 0,
  made_for_mandate: 0,
  idle_sessions: 0,
  not_before: 0,
  last_session_at: 0,
  epoch: 0,
  ended_at: null,
  person_id: null,
} as const satisfies Partial<AgentRow>;

export const saveAgent = saving("agents", [
  "company_id",
  "mandate_id",
  "generation",
  "state_file_id",
  "made_for_mandate",
  "created_at",
]);

export async function agentById(tx: ReadTx, id: string): Promise<AgentRow> {
  const row = await tx.first(agentRow, { id });
  if (row === undefined) throw notFound("agent", id);
  return row;
}

/** The active agent of a mandate. */
export const agentOfMandate = selection("agents", ["mandate_id"], sql`and status <> 'terminated'`);

/** `employed` means every status but terminated. */
export function listRows(
  tx: ReadTx,
  filter: {
    companyId: string;
    status: Agent["status"] | "any" | "employed";
    after: { at: number; id: string };
    limit: number;
  },
): Promise<Shown[]> {
  const { companyId, status, after, limit } = filter;
  return tx.all(pages[status], { companyId, at: after.at, id: after.id, limit });
}

/** The number of agents on all pages of such a list. */
export async function countAgents(
  tx: ReadTx,
  companyId: string,
  status: Agent["status"] | "any",
): Promise<number> {
  let sum = 0;
  for (const { status: stored, count, running } of await tx.all(agentsByStatus, { companyId })) {
    if (status === "any" || (status === stored && status !== "idle")) sum += count;
    else if (stored === "idle" && status === "running") sum += running;
    else if (stored === "idle" && status === "idle") sum += count - running;
  }
  return sum;
}

export async function presentAgent(tx: ReadTx, id: string) {
  // All queries at once, because on PostgreSQL each wait costs a round trip.
  const [row, reports, person, reviews] = await Promise.all([
    shownAgent(tx, id),
    reportsOf(tx, id),
    holderOf(tx, id),
    reviewsOf(tx, id),
  ]);
  return presentWith(row, reports, person, reviews);
}

/** An agent that this transaction has hired. No other row is about it yet. */
export function presentHired(row: AgentRow, boss: Pick<AgentRow, "name">) {
  return presentWith({ ...row, boss_name: boss.name, live_session: null }, [], undefined, noReviews());
}

function presentWith(
  row: AgentRow & Shown,
  reports: readonly Pick<AgentRow, "id" | "name">[],
  person: Pick<Row<"people">, "id" | "name"> | undefined,
  reviews: ReturnType<typeof noReviews>,
) {
  return {
    ...presentShown(row),
    capabilities: redactedOrNull(row.capabilities),
    adapterType: row.brain_type,
    autoReply: row.auto_reply === 1,
    nextAgent: redactedOrNull(nextAgentIn(row.prompt)),
    person: person === undefined ? null : { id: person.id, name: person.name },
    stateFileId: row.state_file_id,
    logFileId: row.log_file_id,
    reports: reports.map((report) => ({ id: report.id, name: report.name })),
    reviews,
  };
}

/** The row with the other values that a list shows. */
export async function shownAgent(tx: ReadTx, id: string) {
  const row = await tx.first(shownById, { id });
  if (row === undefined) throw notFound("agent", id);
  return row;
}

export function presentShown(row: Shown): Agent {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    role: redactText(row.role),
    title: redactedOrNull(row.title),
    status: row.status === "idle" && row.live_session !== null ? "running" : row.status,
    boss: row.boss_id === null ? null : { id: row.boss_id, name: row.boss_name ?? "" },
    mandateId: row.mandate_id,
    generation: row.generation,
    createdAt: new Date(row.created_at).toISOString(),
  };
}

const redactedOrNull = (text: string | null): string | null => (text === null ? null : redactText(text));

/** The live outcomes an agent is responsible for. */
export const liveWorkOf = selection("outcomes", ["responsible_id"], sql`and ${statusIsLive} order by num`);

/** Live outcomes the agent delegated, without the standing mandates of its reports. */
export const liveDelegationsOf = selection(
  "outcomes",
  ["delegated_by"],
  sql`and ${statusIsLive} and kind <> 'mandate' order by num`,
);

/** Reroutes ended outcomes too: if one is reopened later, the new manager verifies it. */
export const reroute = query((db, p: { from: string; to: string | null; now: number }) =>
  db
    .updateTable("outcomes")
    .set({ delegated_by: p.to, stale: 1, updated_at: p.now })
    .where("delegated_by", "=", p.from),
);

export const reanchor = query((db, p: { from: string; to: string | null }) =>
  db
    .updateTable("agents")
    .set({ boss_id: p.to })
    .where("boss_id", "=", p.from)
    .where("status", "<>", "terminated"),
);

export const endCredentials = updating(
  "credentials",
  ["revoked_at"],
  ["agent_id"],
  sql`and revoked_at is null`,
);

/**
 * Ends the sessions that were started for one of these outcomes. Other sessions continue. So do those of an agent that had
 * delegated the outcome on (`isHolder` is false).
 */
export async function stopWorkOn(
  { tx, companyId }: Writing,
  outcomes: ReadonlySet<string>,
  reason: string,
  isHolder: (agentId: string) => boolean = () => true,
): Promise<void> {
  for (const { agent_id, first_outcome_id } of await tx.all(liveSessions, { company_id: companyId }))
    if (first_outcome_id !== null && outcomes.has(first_outcome_id) && isHolder(agent_id))
      await tx.run(endSessions, { agent_id, ended_at: tx.now, end_reason: reason });
}

const liveSessions = selection("sessions", ["company_id"], sql`and ended_at is null`);

export const liveSessionOf = selection("sessions", ["agent_id"], sql`and ended_at is null`);

/** Asks a session to stop: each answer it gets says so. If it has not ended 60 seconds later, it is stopped. */
export async function askToStop(
  { tx }: Pick<Writing, "tx">,
  { id, end_by }: Pick<Row<"sessions">, "id" | "end_by">,
  reason: string,
  within = timeToStop,
): Promise<void> {
  if (end_by === null) await tx.run(setEndBy, { id, end_by: tx.now + within, end_by_reason: reason });
}

const timeToStop = 60_000;
const setEndBy = updating("sessions", ["end_by", "end_by_reason"], ["id"], sql`and ended_at is null`);

export const endSessions = updating(
  "sessions",
  ["ended_at", "end_reason"],
  ["agent_id"],
  sql`and ended_at is null`,
);

/** The columns that a list shows. Reading the other columns of every row would take most of the time. */
const shownColumns = [
  "id",
  "name",
  "slug",
  "role",
  "title",
  "status",
  "boss_id",
  "mandate_id",
  "generation",
  "created_at",
] as const;
const shownOfA = shownColumns.map((column) => `a.${column}` as const);

const shown = (db: Db) =>
  db
    .selectFrom("agents as a")
    .leftJoin("agents as b", "b.id", "a.boss_id")
    .leftJoin("sessions as s", (join) => join.onRef("s.agent_id", "=", "a.id").on("s.ended_at", "is", null))
    .select(["b.name as boss_name", "s.id as live_session"]);

type Place = { companyId: string; at: number; id: string; limit: number };

/** The next page of a company's agents, oldest first. */
export const shownAfter = (db: Db, p: Place) =>
  shown(db)
    .select(shownOfA)
    .where("a.company_id", "=", p.companyId)
    .where((eb) =>
      eb.or([eb("a.created_at", ">", p.at), eb.and([eb("a.created_at", "=", p.at), eb("a.id", ">", p.id)])]),
    )
    .orderBy("a.created_at")
    .orderBy("a.id")
    .limit(p.limit);

/** One prepared statement for each kind of filter, because building a statement costs more than running it. */
const stored = (status: AgentRow["status"]) =>
  query((db, p: Place) => shownAfter(db, p).where("a.status", "=", status));
const pages = {
  any: query(shownAfter),
  employed: query((db, p: Place) => shownAfter(db, p).where("a.status", "<>", "terminated")),
  running: query((db, p: Place) =>
    shownAfter(db, p).where("a.status", "=", "idle").where("s.id", "is not", null),
  ),
  idle: query((db, p: Place) => shownAfter(db, p).where("a.status", "=", "idle").where("s.id", "is", null)),
  pending_approval: stored("pending_approval"),
  paused: stored("paused"),
  terminated: stored("terminated"),
};

const agentsByStatus = query((db, p: { companyId: string }) =>
  db
    .selectFrom("agents as a")
    .leftJoin("sessions as s", (join) => join.onRef("s.agent_id", "=", "a.id").on("s.ended_at", "is", null))
    .select((eb) => [
      "a.status",
      eb.fn.countAll<number>().as("count"),
      eb.fn.count<number>("s.id").as("running"),
    ])
    .where("a.company_id", "=", p.companyId)
    .groupBy("a.status"),
);

const shownById = query((db, p: { id: string }) =>
  shown(db).selectAll("a").where("a.id", "=", p.id).limit(1),
);

export const insertAgent = insertion("agents");
