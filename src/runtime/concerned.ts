import { sql } from "kysely";
import { parseData } from "../events/ledger.ts";
import { selection, textQuery, textsIn } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Which agents an event concerns: those that may have work because of it. An agent too many does no harm, because the rows
 * alone decide whether an agent has work (work.ts). An agent too few waits for the slow sweep.
 */
type Event = Row<"events">;

export async function concerned(tx: ReadTx, events: readonly Event[]): Promise<Set<string>> {
  const agents = new Set<string>();
  const outcomes = new Set<string>();
  for (const { operation, subject, data, company_id } of events) {
    if (/^(?:knowledge|access|permission)\.|^session\.usage$/.test(operation)) continue;
    // A freeze ended these sessions. Their nodes may report that only after the thaw.
    if (operation === "company.thaw")
      for (const { agent_id } of await tx.all(unsettledIn, { company_id })) agents.add(agent_id);
    if (operation.startsWith("outcome.") && subject !== null) outcomes.add(subject);
    else if (subject !== null) agents.add(subject);
    const { boss, parentsLeft } = parseData(data);
    if (typeof boss === "string") agents.add(boss);
    // A former parent no longer waits for this outcome, so its owner may be able to work now.
    if (Array.isArray(parentsLeft)) for (const id of parentsLeft) outcomes.add(String(id));
  }
  if (outcomes.size > 0)
    for (const { agent } of await tx.all(around, { ids: JSON.stringify([...outcomes]) }))
      if (agent !== null) agents.add(agent);
  return agents;
}

const unsettledIn = selection("sessions", ["company_id"], sql`and settled = 0 and ended_at is not null`);

/** The owners of these outcomes, of their parents, and of the outcomes that depend on them or are blocked on them. */
const around = textQuery((p: { ids: string }, dialect) => {
  const these = textsIn(p.ids, dialect);
  return sql<{ agent: string | null }>`
    select responsible_id as agent from outcomes where id in (${these})
    union select responsible_id from outcomes where blocked_on in (${these})
    union select o.responsible_id from edges e join outcomes o on o.id = e.parent_id where e.child_id in (${these})
    union select o.responsible_id from dependencies d join outcomes o on o.id = d.outcome_id
      where d.depends_on_id in (${these})`;
});
