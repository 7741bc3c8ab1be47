import { sql } from "kysely";
import { listAfter } from "../events/ledger.ts";
import { sealOperation } from "../events/verify.ts";
import { genesis, hashOf, headOf, sealOf } from "../store/chain.ts";
import { textQuery } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { Store, Tx } from "../store/store.ts";

/**
 * Moves events of a company to another time, by default all of them to January 2020. Their hashes are computed again, which
 * only the holder of the key can do. Seals of the old hashes in the installation's chain are emptied.
 */
export async function ageEvents(
  store: Store,
  companyId: string,
  timeOf: (seq: number) => number | undefined = (seq) => Date.parse("2020-01-10T00:00:00Z") + seq,
): Promise<void> {
  await store.write(async (tx) => {
    await rechain(tx, companyId, (row) => ({ ...row, at: timeOf(row.seq) ?? row.at }));
    await rechain(tx, "", (row) => (row.operation === sealOperation ? { ...row, data: "{}" } : row));
  });
}

async function rechain(
  tx: Tx,
  companyId: string,
  changed: (row: Row<"events">) => Row<"events">,
): Promise<void> {
  const head = await tx.first(headOf, { company_id: companyId });
  if (head === undefined) return;
  let previous = genesis;
  for (const row of await tx.all(listAfter, { companyId, after: 0, limit: 1_000_000 })) {
    const { seq, at, data, ...rest } = changed(row);
    const hash = hashOf(tx.mac, { ...rest, seq, at, data, previous });
    await tx.run(moveEvent, { companyId, seq, at, data, previous, hash });
    previous = hash;
  }
  await tx.run(moveHead, { companyId, hash: previous, seal: sealOf(tx.mac, { ...head, hash: previous }) });
}

const moveEvent = textQuery(
  (p: { companyId: string; seq: number; at: number; data: string; previous: string; hash: string }) =>
    sql<never>`update events set at = ${p.at}, data = ${p.data}, previous = ${p.previous}, hash = ${p.hash}
      where company_id = ${p.companyId} and seq = ${p.seq}`,
);
const moveHead = textQuery(
  (p: { companyId: string; hash: string; seal: string }) =>
    sql<never>`update ledger_heads set hash = ${p.hash}, seal = ${p.seal} where company_id = ${p.companyId}`,
);
