import { genesis, hashOf, sealOf } from "../store/chain.ts";
import { allHeads, listAfter } from "../events/ledger.ts";
import type { Mac, ReadTx } from "../store/store.ts";

/**
 * Statements that put the events of a company up to a number back to another time. Their hashes are made again, as only the
 * holder of the key can.
 */
export async function agedEvents(
  tx: ReadTx,
  mac: Mac,
  companyId: string,
  timeOf: (seq: number) => number | undefined,
): Promise<string> {
  const head = (await tx.all(allHeads, {})).find((one) => one.company_id === companyId);
  if (head === undefined) throw new Error("the company has no ledger");
  let previous = genesis;
  const statements: string[] = [];
  for (const row of await tx.all(listAfter, { companyId, after: 0, limit: 1_000_000 })) {
    const at = timeOf(row.seq) ?? row.at;
    const hash = hashOf(mac, { ...row, at, previous });
    statements.push(
      `update events set at = ${at}, previous = '${previous}', hash = '${hash}' where seq = ${row.seq} and company_id = '${companyId}'`,
    );
    previous = hash;
  }
  const seal = sealOf(mac, { ...head, hash: previous });
  statements.push(
    `update ledger_heads set hash = '${previous}', seal = '${seal}' where company_id = '${companyId}'`,
  );
  return statements.join(";");
}
