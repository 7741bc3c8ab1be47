import { parseData } from "../events/ledger.ts";
import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Which agents an event concerns: those that may have work because of it. One agent too many is harmless, because the rows
 * alone decide whether an agent has work (work.ts). One too few waits for the slow sweep.
 */
type Event = Row<"events">;

export async function concerned(tx: ReadTx, events: readonly Event[]): Promise<Set<string>> {
  const agents = new Set<string>();
  const outcomes = new Set<string>();
  for (const { operation, subject, data } of events) {
    if (
      operation.startsWith("knowledge.") ||
      operation.startsWith("access.") ||
      operation.startsWith("permission.") ||
      operation === "session.usage"
    )
      continue;
    if (operation.startsWith("outcome.") && subject !== null) outcomes.add(subject);
    else if (subject !== null) agents.add(subject);
    const { boss, parentsLeft } = parseData(data);
    if (typeof boss === "string") agents.add(boss);
    // A former parent no longer waits for this outcome, so its owner may be able to work now.
    if (Array.isArray(parentsLeft)) for (const id of parentsLeft) outcomes.add(String(id));
  }
  for (const id of outcomes)
    for (const { agent } of await tx.all(around, { id })) if (agent !== null) agents.add(agent);
  return agents;
}

/** The owners of the outcome, of its parents, of the outcomes that depend on it, and of those that are blocked on it. */
const around = query((db, p: { id: string }) =>
  db
    .selectFrom("outcomes")
    .select("responsible_id as agent")
    .where("id", "=", p.id)
    .union(
      db
        .selectFrom("edges as e")
        .innerJoin("outcomes as o", "o.id", "e.parent_id")
        .select("o.responsible_id as agent")
        .where("e.child_id", "=", p.id),
    )
    .union(
      db
        .selectFrom("dependencies as d")
        .innerJoin("outcomes as o", "o.id", "d.outcome_id")
        .select("o.responsible_id as agent")
        .where("d.depends_on_id", "=", p.id),
    )
    .union(db.selectFrom("outcomes").select("responsible_id as agent").where("blocked_on", "=", p.id)),
);
