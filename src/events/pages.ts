import { type RawBuilder, sql } from "kysely";
import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Events as agents may see them, newest first. A cursor counts from the oldest event of the same list. So a cursor shows how
 * many events the list has, and nothing about the rest of the ledger.
 */
type List = { readonly companyId: string; readonly id: string };

/**
 * The reads and writes of a file. An agent and the outcome it was created for share an id, so other kinds of events are left
 * out.
 */
export const accessesOf = listOf(
  (p) => sql<boolean>`subject = ${p.id} and
  (operation like 'knowledge.%' or operation like 'outcome.%' or operation like 'skill.%' or operation = 'mail.compact')`,
);

/** The events that an agent caused and those about it. A message to the agent is listed once it is delivered. */
export const deedsOf = listOf(
  (p) => sql<boolean>`(agent_id = ${p.id} or
  subject = ${p.id} and operation not in ('mail.send', 'mail.send_deferred', 'mail.fail'))`,
);

function listOf(belongs: (p: List) => RawBuilder<boolean>) {
  const counted = query((db, p: List) =>
    db
      .selectFrom("events")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("company_id", "=", p.companyId)
      .where(belongs(p)),
  );
  const listed = query((db, p: List & { skipped: number; limit: number }) =>
    db
      .selectFrom("events")
      .selectAll()
      .where("company_id", "=", p.companyId)
      .where(belongs(p))
      .orderBy("seq", "desc")
      .limit(p.limit)
      .offset(p.skipped),
  );
  return async (
    tx: ReadTx,
    of: List,
    from: number,
    limit: number,
  ): Promise<{ rows: Row<"events">[]; nextCursor: string | null }> => {
    const count = (await tx.first(counted, of))?.count ?? 0;
    const older = Math.min(from, count);
    const rows = await tx.all(listed, { ...of, skipped: count - older, limit });
    return { rows, nextCursor: older > limit ? String(older - limit) : null };
  };
}
