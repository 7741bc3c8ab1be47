import { sql } from "kysely";
import type { AgentRow } from "../agents/table.ts";
import { selection, textQuery } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/** What a session did, read from the ledger. */
export interface Activity {
  readonly updatedState: boolean;
  readonly calls: readonly { readonly operation: string; readonly count: number }[];
  readonly files: readonly string[];
}

export async function activityOf(
  tx: ReadTx,
  session: Pick<Row<"sessions">, "id">,
  agent: AgentRow,
): Promise<Activity> {
  const calls = await tx.all(callsOf, { sessionId: session.id });
  const files = (await tx.all(writesOf, { session_id: session.id })).map(({ subject }) => subject ?? "");
  return {
    updatedState: files.includes(agent.state_file_id),
    calls,
    files: [...new Set(files)],
  };
}

const callsOf = textQuery(
  (p: { sessionId: string }) => sql<{ operation: string; count: number }>`
    select operation, count(*) as count from events where session_id = ${p.sessionId}
    group by operation order by operation`,
);

const writesOf = selection(
  "events",
  ["session_id"],
  sql`and operation in ('knowledge.create', 'knowledge.write') limit 1000`,
);
