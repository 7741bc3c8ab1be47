import { type ExpressionBuilder, type RawBuilder, sql } from "kysely";
import type { Row, Schema } from "../store/schema.ts";

/**
 * An outcome is workable if its owner could work on it now. Sessions start only by this predicate:
 *   - the outcome is open, not blocked, and neither the root nor a mandate
 *   - its owner is idle: not paused, pending or terminated
 *   - every dependency is completed, and no child is live
 *
 * A block ends without a write: when its time has come, or when the outcome it waits for has ended.
 */
export function workable(
  _: ExpressionBuilder<Schema & { o: Schema["outcomes"] }, "o">,
  now: number,
): RawBuilder<number> {
  return sql<number>`(case when o.status = 'open'
    and o.kind not in ('perpetual', 'mandate')
    and (o.blocked_reason is null
      or o.blocked_until <= ${now}
      or exists (select 1 from outcomes w where w.id = o.blocked_on and w.status in ('completed', 'closed')))
    and exists (select 1 from agents a where a.id = o.responsible_id and a.status = 'idle')
    and not exists (select 1 from edges e join outcomes c on c.id = e.child_id
      where e.parent_id = o.id and c.status in ('open', 'submitted'))
    and not exists (select 1 from dependencies d join outcomes p on p.id = d.depends_on_id
      where d.outcome_id = o.id and p.status <> 'completed')
    then 1 else 0 end)`;
}

/** The same predicate for an outcome that was just created, which is open, not blocked and without children. */
export function isWorkableNew(
  { kind }: Pick<Row<"outcomes">, "kind">,
  owner: Pick<Row<"agents">, "status"> | undefined,
  dependencies: readonly Pick<Row<"outcomes">, "status">[],
): boolean {
  return (
    kind !== "perpetual" &&
    kind !== "mandate" &&
    owner?.status === "idle" &&
    dependencies.every(({ status }) => status === "completed")
  );
}
