import { sql } from "kysely";
import { parseData } from "../events/ledger.ts";
import { redactText } from "../redaction/redact.ts";
import { query, selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/** The last pause of an agent by a call: when, why and which call. Undefined if its budget paused it. */
export async function lastPauseOf(tx: ReadTx, agentId: string) {
  const event = await tx.first(lastPause, { subject: agentId });
  return event === undefined ? undefined : { event, reason: reasonIn(event.data) };
}

/** The reasons given for the pauses of a company's agents, in one query. */
export async function pauseReasonsIn(tx: ReadTx, companyId: string): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.all(lastPauses, { companyId });
  return new Map(
    rows.flatMap(({ id, data }) => {
      const reason = data === null ? null : reasonIn(data);
      return reason === null ? [] : [[id, reason] as const];
    }),
  );
}

function reasonIn(data: string): string | null {
  const { reason } = parseData(data);
  return typeof reason === "string" ? redactText(reason) : null;
}

const lastPauses = query((db, p: { companyId: string }) =>
  db
    .selectFrom("agents as a")
    .select((eb) => [
      "a.id",
      eb
        .selectFrom("events as e")
        .select("e.data")
        .whereRef("e.subject", "=", "a.id")
        .where("e.operation", "=", "agent.pause")
        .orderBy("e.seq", "desc")
        .limit(1)
        .as("data"),
    ])
    .where("a.company_id", "=", p.companyId)
    .where("a.status", "=", "paused"),
);

const lastPause = selection(
  "events",
  ["subject"],
  sql`and operation = 'agent.pause' order by seq desc limit 1`,
);
