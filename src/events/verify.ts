import { brokenLink, genesis, hashOf, headOf, sealOf } from "../store/chain.ts";
import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { listAfter } from "./ledger.ts";
import { wrong } from "./texts.ts";

/** Checks the chains of the ledger, one after another: the installation's first, then each company's. */
export interface Damage {
  /** Empty: the installation. */
  readonly companyId: string;
  /** The first event that is wrong. */
  readonly seq: number;
  readonly what: string;
}

/** Where a check continues: after this event of this chain. */
export interface ChainPlace {
  readonly companyId: string;
  readonly after: number;
}

export interface Verified {
  readonly checked: number;
  /** At most one for each chain: what comes after a wrong event can't be judged. */
  readonly problems: readonly Damage[];
  /** Null: everything was checked. */
  readonly next: ChainPlace | null;
}

/** Checks at most `limit` events. */
export async function verify(tx: ReadTx, from: ChainPlace | null, limit: number): Promise<Verified> {
  const chains = (await tx.all(allChains, {})).map(({ id }) => id);
  const start = from ?? { companyId: "", after: 0 };
  const problems: Damage[] = [];
  let checked = 0;
  for (const companyId of chains.filter((id) => id >= start.companyId)) {
    const after = companyId === start.companyId ? start.after : 0;
    if (checked >= limit) return { checked, problems, next: { companyId, after } };
    const rows = await tx.all(listAfter, { companyId, after, limit: limit - checked });
    checked += rows.length;
    const found = await problemIn(tx, companyId, after, rows);
    if (found !== null) problems.push(found);
    const last = rows.at(-1);
    if (found === null && last !== undefined && checked >= limit)
      return { checked, problems, next: { companyId, after: last.seq } };
  }
  return { checked, problems, next: null };
}

async function problemIn(
  tx: ReadTx,
  companyId: string,
  after: number,
  rows: readonly Row<"events">[],
): Promise<Damage | null> {
  const bad = (seq: number, what: string): Damage => ({ companyId, seq, what });
  const before = after === 0 ? undefined : await tx.first(hashAt, { companyId, seq: after });
  if (after > 0 && before === undefined) return bad(after, wrong.missing(after));
  let previous = before?.hash ?? genesis;
  let seq = after;
  for (const row of rows) {
    seq += 1;
    if (row.seq !== seq) return bad(seq, wrong.missing(seq));
    if (row.previous === brokenLink) return bad(seq, wrong.headBefore);
    if (row.previous !== previous) return bad(seq, wrong.order);
    if (row.hash !== hashOf(tx.mac, row)) return bad(seq, wrong.content);
    previous = row.hash;
  }
  if ((await tx.first(listAfter, { companyId, after: seq, limit: 1 })) !== undefined) return null;
  const head = await tx.first(headOf, { companyId });
  if (head === undefined) return seq === 0 ? null : bad(seq, wrong.noHead);
  if (head.seal !== sealOf(tx.mac, head)) return bad(head.seq, wrong.head);
  return head.seq === seq && head.hash === previous ? null : bad(seq + 1, wrong.cut(head.seq));
}

/** Also finds a chain whose head was deleted. */
const allChains = query((db, _: Record<never, never>) =>
  db
    .selectFrom("ledger_heads")
    .select("company_id as id")
    .union(db.selectFrom("companies").select("id"))
    .union(db.selectFrom("events").select("company_id as id").where("seq", "=", 1))
    .orderBy("id"),
);

const hashAt = query((db, p: { companyId: string; seq: number }) =>
  db.selectFrom("events").select("hash").where("company_id", "=", p.companyId).where("seq", "=", p.seq),
);
