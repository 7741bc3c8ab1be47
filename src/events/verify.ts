import { brokenLink, genesis, hashOf, headOf, sealOf } from "../store/chain.ts";
import { query, selection } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { allHeads, listAfter, parseData } from "./ledger.ts";
import { firstMissing, removedAfter, removedAt, sealOfRemoved } from "./removed.ts";
import { advice, wrong } from "./texts.ts";

/** Checks the chains of the ledger one after another: first the installation's, then each company's. */
export interface Damage {
  /** Empty for the installation. */
  readonly companyId: string;
  /** The first event that is wrong, or the last one that changed the row. */
  readonly seq: number | null;
  /** The row, such as `agents/<id>`. Null if the ledger itself is damaged. */
  readonly row: string | null;
  readonly what: string;
  /** The time of the last correct event. */
  readonly intactUntil: number | null;
  readonly advice: string;
}

/** Heads noted outside the database: for each company and number, the hash and the time when it was noted. */
export type Anchors = ReadonlyMap<
  string,
  ReadonlyMap<number, { readonly hash: string; readonly at: number }>
>;

/** The place where a check continues: after this event of this chain. */
export interface ChainPlace {
  readonly companyId: string;
  readonly after: number;
}

export interface Verified {
  readonly checked: number;
  /** At most one problem for each chain: events after a wrong one can't be judged. */
  readonly problems: readonly Damage[];
  /** Null if everything was checked. */
  readonly next: ChainPlace | null;
}

/** The operation of the event in the installation's chain that seals the heads of the companies. */
export const sealOperation = "ledger.seal";

/** Checks at most `limit` events. */
export async function verify(
  tx: ReadTx,
  anchors: Anchors,
  from: ChainPlace | null,
  limit: number,
): Promise<Verified> {
  const known = (await tx.all(allChains, {})).map(({ id }) => id);
  const chains = [...new Set([...known, ...anchors.keys()])].toSorted();
  const start = from ?? { companyId: "", after: 0 };
  const problems: Damage[] = [];
  let checked = 0;
  for (const companyId of chains.filter((id) => id >= start.companyId)) {
    const after = companyId === start.companyId ? start.after : 0;
    if (checked >= limit) return { checked, problems, next: { companyId, after } };
    const rows = await tx.all(listAfter, { companyId, after, limit: limit - checked });
    checked += rows.length;
    const found = await damageIn(tx, anchors, { companyId, after }, rows);
    if (found !== null) problems.push(found);
    if (companyId === "") problems.push(...(await unsealed(tx, rows)));
    const last = rows.at(-1);
    if (found === null && last !== undefined && checked >= limit)
      return { checked, problems, next: { companyId, after: last.seq } };
  }
  return { checked, problems, next: null };
}

async function damageIn(
  tx: ReadTx,
  anchors: Anchors,
  { companyId, after }: ChainPlace,
  rows: readonly Row<"events">[],
): Promise<Damage | null> {
  const removed = await tx.all(removedAfter, { company_id: companyId, after: after - 1 });
  /**
   * The hash that the next event continues. Null if it is the hash of a removed event in the middle of a stretch, which is not
   * stored.
   */
  const endingWith = (seq: number): string | null =>
    seq === 0 ? genesis : (removed.find(({ last_seq }) => last_seq === seq)?.hash ?? null);
  const before = after === 0 ? undefined : await tx.first(eventAt, { company_id: companyId, seq: after });
  let { hash: previous, at: intactUntil }: { hash: string | null; at: number | null } = before ?? {
    hash: endingWith(after),
    at: null,
  };
  const bad = (seq: number, what: string, todo = advice.ledger): Damage => ({
    companyId,
    seq,
    row: null,
    what,
    intactUntil,
    advice: todo,
  });
  const anchored = anchors.get(companyId) ?? new Map<number, never>();
  for (const stretch of removed) {
    const { first_seq, last_seq, hash } = stretch;
    if (stretch.seal !== sealOfRemoved(tx.mac, stretch)) return bad(first_seq, wrong.removal);
    const noted = anchored.get(last_seq);
    if (noted !== undefined && noted.hash !== hash)
      return bad(last_seq, wrong.rewritten(noted.at), advice.rolledBack);
  }
  if (before === undefined && after > 0 && firstMissing(removed, after, after) !== undefined)
    return bad(after, wrong.missing(after));
  let seq = after;
  for (const row of rows) {
    const missing = firstMissing(removed, seq + 1, row.seq - 1);
    if (missing !== undefined) return bad(missing, wrong.missing(missing));
    if (row.seq > seq + 1) previous = endingWith(row.seq - 1);
    ({ seq } = row);
    if (row.previous === brokenLink) return bad(seq, wrong.headBefore);
    if (previous !== null && row.previous !== previous) return bad(seq, wrong.order);
    if (row.hash !== hashOf(tx.mac, row)) return bad(seq, wrong.content);
    const noted = anchored.get(seq);
    if (noted !== undefined && noted.hash !== row.hash)
      return bad(seq, wrong.rewritten(noted.at), advice.rolledBack);
    ({ hash: previous, at: intactUntil } = row);
  }
  if ((await tx.first(listAfter, { companyId, after: seq, limit: 1 })) !== undefined) return null;
  const head = await tx.first(headOf, { company_id: companyId });
  if (head === undefined && seq > 0) return bad(seq, wrong.noHead);
  if (head !== undefined && head.seal !== sealOf(tx.mac, head)) return bad(head.seq, wrong.head);
  if (head !== undefined && (head.seq !== seq || head.hash !== previous))
    return bad(seq + 1, wrong.cut(head.seq));
  const newest = Math.max(0, ...anchored.keys());
  const noted = anchored.get(newest);
  return noted === undefined || newest <= seq
    ? null
    : bad(seq + 1, wrong.rolledBack(newest, noted.at), advice.rolledBack);
}

/** The chains whose present head differs from the head that one of these events sealed. */
async function unsealed(tx: ReadTx, rows: readonly Row<"events">[]): Promise<Damage[]> {
  const found = new Map<string, Damage>();
  for (const row of rows)
    if (row.operation === sealOperation)
      for (const [companyId, head] of Object.entries(sealedIn(row.data))) {
        const [seq, hash] = Array.isArray(head) ? head : [];
        if (typeof seq !== "number" || found.has(companyId)) continue;
        const event = await tx.first(eventAt, { company_id: companyId, seq });
        if (event?.hash === hash) continue;
        if (event === undefined) {
          const stretch = await tx.first(removedAt, { company_id: companyId, seq });
          if (stretch !== undefined && (stretch.last_seq !== seq || stretch.hash === hash)) continue;
        }
        const what = event === undefined ? wrong.rolledBack(seq, row.at) : wrong.rewritten(row.at);
        found.set(companyId, {
          companyId,
          seq,
          row: null,
          what,
          intactUntil: null,
          advice: advice.rolledBack,
        });
      }
  return [...found.values()];
}

/** The heads that an event sealed. Empty if its data was edited and can't be parsed as JSON any more; damageIn() reports that. */
function sealedIn(data: string): Readonly<Record<string, unknown>> {
  try {
    return parseData(data);
  } catch {
    return {};
  }
}

/** Whether the database was sealed with the key of this store. True for a new database. */
export async function keyFits(tx: ReadTx): Promise<boolean> {
  const heads = await tx.all(allHeads, {});
  return heads.length === 0 || heads.some((head) => head.seal === sealOf(tx.mac, head));
}

/** Includes chains whose head was deleted. */
const allChains = query((db, _: Record<never, never>) =>
  db
    .selectFrom("ledger_heads")
    .select("company_id as id")
    .union(db.selectFrom("companies").select("id"))
    .union(db.selectFrom("events").select("company_id as id").where("seq", "=", 1))
    .union(db.selectFrom("removed_events").select("company_id as id").where("first_seq", "=", 1))
    .orderBy("id"),
);

const eventAt = selection("events", ["company_id", "seq"]);
