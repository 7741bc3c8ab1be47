import { sql } from "kysely";
import { viewTimeline } from "../contract/outcomes.ts";
import { oversees, readsBelow } from "../capabilities/structure.ts";
import { visibleText } from "../capabilities/visible.ts";
import { fromUnits } from "../budgets/budget.ts";
import { guarded } from "../dispatch/guarded.ts";
import { removedSince } from "../events/removed.ts";
import { checksIn } from "../store/checks.ts";
import { textQuery } from "../store/query.ts";
import { outcomeRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import { toldEvents } from "./activity.ts";

/**
 * The work on an outcome: the events about it, and those of the sessions that were started for it. An agent sees the calls of
 * the sessions it may look at. If a call is about something that the agent can't read, it sees only that the call was made.
 */
const onTimeline = guarded(viewTimeline, async ({ tx, actor, companyId, input }) => {
  const { id } = input;
  const shown = new Map<string, boolean>();
  const looksAt = async (agentId: string): Promise<boolean> => {
    const looks =
      shown.get(agentId) ?? (actor.agentId === null || (await oversees(tx, actor.agentId, agentId)));
    shown.set(agentId, looks);
    return looks;
  };
  const rows: Row<"events">[] = [];
  for (const row of await tx.all(eventsFor, { id, companyId })) {
    const doer = row.operation.startsWith("session.") ? row.subject : row.agent_id;
    // Agents don't learn which other agents read the outcome.
    const isAboutIt = row.subject === id && row.operation.startsWith("outcome.");
    if (rows.length === mostEntries) break;
    if (!isAboutIt && actor.agentId !== null && (doer === null || !(await looksAt(doer)))) continue;
    const isReadable = await visibleText(tx, actor, `${row.subject === id ? "" : row.subject} ${row.data}`);
    rows.push({
      ...row,
      subject: row.subject === id || isReadable ? row.subject : null,
      data: isReadable ? row.data : "{}",
    });
  }
  const entries = (await toldEvents(tx, rows)).map(({ at, actor: by, operation, subject, data, says }) => ({
    at,
    kind: kindOf(operation),
    by,
    operation,
    subject,
    data,
    says,
  }));
  // The costs include work that the agent can't see.
  const outcome = await tx.first(outcomeRow, { id });
  const seesBelow = actor.agentId === null || (await readsBelow(tx, actor.agentId, id));
  const cost = seesBelow ? await tx.first(costOf, { id, companyId }) : undefined;
  return {
    id,
    cost: seesBelow
      ? {
          usd: fromUnits("usd", cost?.usd ?? 0),
          inputTokens: cost?.input_tokens ?? 0,
          outputTokens: cost?.output_tokens ?? 0,
          sessions: cost?.sessions ?? 0,
        }
      : null,
    entries,
    ...(await removedSince(tx, actor, companyId, outcome?.created_at ?? 0)),
  };
});

const mostEntries = 500;

export const timelineHandlers = [onTimeline];

function kindOf(operation: string): "session" | "file" | "mail" | "decision" | "call" {
  if (operation.startsWith("session.")) return "session";
  if (operation.startsWith("knowledge.")) return "file";
  if (operation.startsWith("mail.")) return "mail";
  return /^(outcome\.(submit|complete|close|reopen|decide)|approval\.)/.test(operation) ? "decision" : "call";
}

const isFor = (id: string) => sql`(s.first_outcome_id = ${id} or s.work_outcome_id = ${id})`;

/** A session's start and end are recorded as events about its agent, with the session's id in the data. */
const eventsFor = textQuery(
  (p: { id: string; companyId: string }) => sql<Row<"events">>`
    select e.* from events e where e.company_id = ${p.companyId} and e.subject = ${p.id}
      and (e.operation like 'outcome.%' or e.operation like 'knowledge.%')
    union select e.* from sessions s join events e on e.session_id = s.id where ${isFor(p.id)}
    union select e.* from sessions s join events e on e.subject = s.agent_id where ${isFor(p.id)}
      and e.operation in ('session.start', 'session.end', 'session.usage') and e.data like '%' || s.id || '%'
    order by seq desc limit 5000`,
  { checks: checksIn("events") },
);

const costOf = textQuery(
  (p: { id: string; companyId: string }) => sql<{
    usd: number;
    input_tokens: number;
    output_tokens: number;
    sessions: number;
  }>`select cast(coalesce(sum(usd), 0) as bigint) as usd, cast(coalesce(sum(input_tokens), 0) as bigint) as input_tokens,
      cast(coalesce(sum(output_tokens), 0) as bigint) as output_tokens, cast(coalesce(sum(sessions), 0) as bigint) as sessions
    from costs where company_id = ${p.companyId} and kind = 'outcome' and id = ${p.id} and own = 0`,
);
