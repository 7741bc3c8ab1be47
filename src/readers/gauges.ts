import { sql } from "kysely";
import { textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/** Figures of all companies together, for `/metrics`. They count only live things, so their cost does not grow with age. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  /** A label such as `state="open"`, with a word that this program knows. */
  readonly label: string | null;
  readonly value: number;
}

export async function gaugesIn(tx: ReadTx): Promise<Gauge[]> {
  const found = await tx.first(sums, { now: tx.now });
  return figures.map(([as, name, help, label = null]) => ({ name, help, label, value: found?.[as] ?? 0 }));
}

const figures: readonly (readonly [as: Figure, name: string, help: string, label?: string])[] = [
  ["companies", "agency_companies", "Companies that are not archived."],
  ["idle", "agency_agents", "Agents that are employed or requested, by state.", 'state="idle"'],
  ["paused", "agency_agents", "", 'state="paused"'],
  ["pending", "agency_agents", "", 'state="pending_approval"'],
  ["sessions", "agency_sessions_running", "Sessions that run."],
  ["lapsed", "agency_sessions_lapsed", "Running sessions whose node did not renew their lease in time."],
  ["open", "agency_outcomes", "Outcomes that are not finished, by state.", 'state="open"'],
  ["blocked", "agency_outcomes", "", 'state="blocked"'],
  ["submitted", "agency_outcomes", "", 'state="submitted"'],
  ["approvals", "agency_approvals_pending", "Requests that wait for a person."],
  ["overdue", "agency_messages_overdue", "Messages that should have been delivered by now."],
  ["calls", "agency_model_calls_open", "Requests to models that are not answered yet."],
];

type Figure =
  | "companies"
  | "idle"
  | "paused"
  | "pending"
  | "sessions"
  | "lapsed"
  | "open"
  | "blocked"
  | "submitted"
  | "approvals"
  | "overdue"
  | "calls";

/** Each figure is a subquery with the condition of the index that holds only the live rows. */
const sums = textQuery((p: { now: number }) => {
  const count = (as: Figure, table: string, where: string, and = sql``) =>
    sql`(select count(*) from ${sql.table(table)} where ${sql.raw(where)} ${and}) as ${sql.ref(as)}`;
  const live = "status in ('open', 'submitted')";
  return sql<Record<Figure, number>>`select ${sql.join([
    count("companies", "companies", "archived_at is null"),
    count("idle", "agents", "status <> 'terminated' and status = 'idle'"),
    count("paused", "agents", "status <> 'terminated' and status = 'paused'"),
    count("pending", "agents", "status <> 'terminated' and status = 'pending_approval'"),
    count("sessions", "sessions", "ended_at is null"),
    count("lapsed", "sessions", "ended_at is null and node_id is not null", sql`and lease_until < ${p.now}`),
    count("open", "outcomes", `${live} and status = 'open' and blocked_reason is null`),
    count("blocked", "outcomes", `${live} and status = 'open' and blocked_reason is not null`),
    count("submitted", "outcomes", `${live} and status = 'submitted'`),
    count("approvals", "approvals", "status in ('pending', 'revision_requested')"),
    count("overdue", "messages", "delivered_at is null and failure is null", sql`and deliver_at < ${p.now}`),
    count("calls", "model_calls", "status = 'open'"),
  ])}`;
});
