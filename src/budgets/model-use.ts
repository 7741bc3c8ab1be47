import { sql } from "kysely";
import type { ModelUse } from "../contract/sessions.ts";
import { textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/** The usage of a session so far, by model. */
export async function modelsUsed(tx: ReadTx, sessionId: string): Promise<ModelUse[]> {
  const rows = await tx.all(usedOfModels, { sessionId });
  return rows.map(({ cost, ...row }) => ({ ...row, costUsd: cost / 1e6 }));
}

const usedOfModels = textQuery(
  (p: { sessionId: string }) =>
    sql<Omit<ModelUse, "costUsd"> & { cost: number }>`select provider, model,
      cast(count(*) as double precision) as calls,
      cast(sum(input_tokens) as double precision) as "inputTokens",
      cast(sum(output_tokens) as double precision) as "outputTokens",
      cast(sum(cache_read_tokens) as double precision) as "cacheReadTokens",
      cast(sum(cache_write_tokens) as double precision) as "cacheWriteTokens",
      cast(sum(cost) as double precision) as cost from model_calls
      where session_id = ${p.sessionId} and status in ('done', 'cut') group by provider, model order by provider, model`,
);
