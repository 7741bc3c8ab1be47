import { sql } from "kysely";
import { findBroken } from "../invariants/examine.ts";
import type { Area } from "../invariants/invariant.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Broken } from "./broken.ts";
import type { Trace } from "./trace.ts";

/** Demands that the invariants of these areas hold. */
export async function demandInvariants(tx: ReadTx, areas: readonly Area[], trace: Trace): Promise<void> {
  const [finding] = await findBroken(tx, { areas });
  if (finding === undefined) return;
  const { invariant, id, what } = finding;
  throw new Broken(`${invariant.id} (${invariant.statement})`, `${trace.name("thing", id)}: ${what}`);
}

/**
 * Demands one effect per call. Every call of scripted agents has a unique name, which no two outcomes, files or messages may
 * carry.
 */
export async function demandOneEffect(tx: ReadTx, trace: Trace): Promise<void> {
  const twice = await tx.first(madeTwice, {});
  if (twice !== undefined)
    throw new Broken("one call has one effect", `${trace.name("thing", twice.id)} (${twice.id})`);
}

const madeTwice = query((db, _: Record<never, never>) => ({
  compile: () =>
    sql<{
      id: string;
    }>`select * from (select min(id) as id from outcomes where kind = 'work' and title glob 'call-*'
        group by title having count(*) > 1 limit 1)
      union all select * from (select min(id) as id from files where kind in ('file', 'message') and (
          description glob 'call-*' or description glob 'Message: call-*'
          or description glob 'Message: Please* call-*' or description glob 'Message: You* call-*')
        group by description having count(*) > 1 limit 1)`.compile(db),
}));
