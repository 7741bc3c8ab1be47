import { pauseAgent } from "../contract/agents.ts";
import { isByBoard } from "../departures/pausing.ts";
import { lastDeed, parseData } from "../events/ledger.ts";
import { redactText } from "../redaction/redact.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/** The last pause of an agent by a call: when, why and which call. Undefined if its budget paused it. */
export async function lastPauseOf(tx: ReadTx, agentId: string) {
  const event = await tx.first(lastDeed, { subject: agentId, operation: pauseAgent.name });
  return event === undefined ? undefined : { event, reason: reasonIn(event.data), byBoard: isByBoard(event) };
}

export interface Pause {
  readonly reason: string | null;
  readonly byBoard: boolean;
}

/** The last pauses of a company's paused agents, in one query. */
export async function pausesIn(tx: ReadTx, companyId: string): Promise<ReadonlyMap<string, Pause>> {
  const rows = await tx.all(lastPauses, { companyId, operation: pauseAgent.name });
  return new Map(
    rows.map((event) => [event.id, { reason: reasonIn(event.data), byBoard: isByBoard(event) }]),
  );
}

function reasonIn(data: string): string | null {
  const { reason } = parseData(data);
  return typeof reason === "string" ? redactText(reason) : null;
}

const lastPauses = query((db, p: { companyId: string; operation: string }) =>
  db
    .selectFrom("agents as a")
    .innerJoin("events as e", (join) =>
      join.on("e.seq", "=", (eb) =>
        eb
          .selectFrom("events as l")
          .select("l.seq")
          .whereRef("l.subject", "=", "a.id")
          .where("l.operation", "=", p.operation)
          .orderBy("l.seq", "desc")
          .limit(1),
      ),
    )
    .select(["a.id", "e.data", "e.actor_kind"])
    .whereRef("e.company_id", "=", "a.company_id")
    .where("a.company_id", "=", p.companyId)
    .where("a.status", "=", "paused"),
);
