import type { AgentRow } from "../agents/table.ts";
import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/** What a session did, read from the ledger. */
export interface Activity {
  /** The session changed something besides its agent's state document. */
  readonly progress: boolean;
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
  const subjects = await tx.all(writesOf, { sessionId: session.id });
  const files = subjects
    .filter(({ operation }) => operation.startsWith("knowledge."))
    .map(({ subject }) => subject ?? "");
  return {
    progress: subjects.some(({ subject }) => subject !== agent.state_file_id),
    updatedState: files.includes(agent.state_file_id),
    calls: calls.map(({ operation, count }) => ({ operation, count })),
    files: [...new Set(files)],
  };
}

/** Operations that are recorded but don't count as progress. */
const idle = [
  "access.refused",
  "knowledge.read",
  "knowledge.read_version",
  "session.submit_summary",
  "permission.request",
] as const;

const callsOf = query((db, p: { sessionId: string }) =>
  db
    .selectFrom("events")
    .select((eb) => ["operation", eb.fn.countAll<number>().as("count")])
    .where("session_id", "=", p.sessionId)
    .groupBy("operation")
    .orderBy("operation"),
);

const writesOf = query((db, p: { sessionId: string }) =>
  db
    .selectFrom("events")
    .select(["operation", "subject"])
    .where("session_id", "=", p.sessionId)
    .where("operation", "not in", [...idle])
    .limit(1000),
);
