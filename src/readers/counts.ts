import { sql } from "kysely";
import { viewCounts } from "../contract/finding.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import { query, textQuery } from "../store/query.ts";
import { attentionIn, type AttentionParts } from "./attention.ts";

/** Counts for a sidebar. Things that need a person are counted as in the attention list. */
export const countHandlers = (parts: AttentionParts): Guarded[] => [
  guarded(viewCounts, async ({ tx, companyId }) => {
    const { pressing, health } = await attentionIn(tx, companyId, parts);
    const counted = await tx.first(counts, { companyId });
    if (counted === undefined) throw new Error("the counts have no row");
    const working = await tx.all(newestSessions, { companyId });
    const { mail, approvals, employed, running, paused, pending, open, submitted, blocked, all, files } =
      counted;
    return {
      attention: pressing,
      mail,
      approvals,
      agents: { employed, running, paused, pending },
      outcomes: { open, submitted, blocked, all },
      files,
      health,
      working: working.map(({ id, agent_id, name, started_at, title }) => ({
        agent: { id: agent_id, name },
        session: id,
        since: new Date(started_at).toISOString(),
        on: title,
      })),
    };
  }),
];

type Counted = Record<
  | "mail"
  | "approvals"
  | "employed"
  | "running"
  | "paused"
  | "pending"
  | "open"
  | "submitted"
  | "blocked"
  | "all"
  | "files",
  number
>;

/** Each number is a subquery of one statement, and each uses the index that fits. */
const counts = textQuery((p: { companyId: string }) => {
  const count = (table: string, and: string, as: keyof Counted) =>
    sql`(select count(*) from ${sql.table(table)} where company_id = ${p.companyId} ${sql.raw(and)}) as ${sql.ref(as)}`;
  return sql<Counted>`select ${sql.join([
    count(
      "messages",
      "and to_id is null and delivered_at is not null and acknowledged_at is null and from_system = 0",
      "mail",
    ),
    count("approvals", "and status = 'pending'", "approvals"),
    count("agents", "and status <> 'terminated'", "employed"),
    count("sessions", "and ended_at is null", "running"),
    count("agents", "and status = 'paused'", "paused"),
    count("agents", "and status = 'pending_approval'", "pending"),
    count("outcomes", "and status = 'open'", "open"),
    count("outcomes", "and status = 'submitted'", "submitted"),
    count("outcomes", "and status = 'open' and blocked_reason is not null", "blocked"),
    count("outcomes", "", "all"),
    count("files", "and kind = 'file' and deleted_at is null", "files"),
  ])}`;
});

const newestSessions = query((db, p: { companyId: string }) =>
  db
    .selectFrom("sessions as s")
    .innerJoin("agents as a", "a.id", "s.agent_id")
    .leftJoin("outcomes as o", "o.id", "s.first_outcome_id")
    .select(["s.id", "s.agent_id", "a.name", "s.started_at", "o.title"])
    .where("s.company_id", "=", p.companyId)
    .where("s.ended_at", "is", null)
    .orderBy("s.started_at", "desc")
    .limit(5),
);
