import { sql } from "kysely";
import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * The events about one thing, or by and about one agent, newest first. A page is found by counting from the oldest event of
 * that list. So a cursor tells how many events the list has, and nothing about other events of the ledger.
 */
type List = { readonly companyId: string; readonly subject: string; readonly agent: string };

export async function newestEvents(
  tx: ReadTx,
  of: { readonly companyId: string; readonly subject: string; readonly agent?: string },
  cursor: number,
  limit: number,
): Promise<{ rows: Row<"events">[]; nextCursor: string | null }> {
  const list = { ...of, agent: of.agent ?? "" };
  const count = (await tx.first(counted, list))?.count ?? 0;
  const older = Math.min(cursor, count);
  const rows = await tx.all(listed, { ...list, skipped: count - older, limit });
  return { rows, nextCursor: older > limit ? String(older - limit) : null };
}

/** Mail to an agent belongs to its list once it is delivered. Before that, and if it fails, only its sender knows of it. */
const belongs = (p: List) => sql<boolean>`company_id = ${p.companyId} and
  (agent_id = ${p.agent} or subject = ${p.subject} and operation not in ('mail.send', 'mail.fail'))`;

const counted = query((db, p: List) =>
  db
    .selectFrom("events")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where(belongs(p)),
);

const listed = query((db, p: List & { skipped: number; limit: number }) =>
  db
    .selectFrom("events")
    .selectAll()
    .where(belongs(p))
    .orderBy("seq", "desc")
    .limit(p.limit)
    .offset(p.skipped),
);
