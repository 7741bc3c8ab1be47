import { hash as digest } from "node:crypto";
import { sql } from "kysely";
import type { Value } from "./columns.ts";
import { insertion, type PreparedQuery, type Query, selection } from "./query.ts";
import { isSealed, type Row, rowKeys, sealedColumns, type SealedTable } from "./schema.ts";
import type { Mac, NewEventRow, Tx } from "./store.ts";

/**
 * The end of every write: the events that the transaction recorded join the chain of their company, together with a digest
 * of every row that it changed.
 *
 *   append() ─▶ waiting ──flush──▶ row of `events`; the head of the chain moves
 *   run()    ─▶ newest image of each changed row ──flush──▶ a line in the last of these events, or in the head without one
 *
 * A flush happens just before the commit, and earlier only when the transaction itself reads the ledger. So a chain is
 * locked for a moment, and its numbers become visible in order. Each company has its own chain and lock: companies don't
 * wait for each other. The chain "" belongs to the installation.
 *
 * Hashes, seals and digests use a key that is not in the database. A person who can change the database but lacks the key
 * can't make one that fits. Rejected: a table with one digest for each row. It costs a second write for each row, and a row
 * could be put back together with its old digest. In a chain only the newest line about a row counts.
 */

/**
 * SHA-512/256 of the key and the text. It shows only a part of the state of the hash, so a text can't be continued without the
 * key, which is what HMAC's second round prevents. Node's createHmac() takes four times as long for short texts.
 */
export function macOf(key: string): Mac {
  return (text) => digest("sha512-256", key + text);
}

/** A transaction of a store, before this file adds the ledger. */
export type PlainTx = Omit<Tx, "append"> & {
  /** Runs a statement that seals, and returns the sealed columns of each row it changed. */
  changed<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<Value[][]>;
};
type EventRow = Row<"events">;
type Head = Row<"ledger_heads">;

export const genesis = "0".repeat(64);
/** Takes the place of the previous hash if the head was changed or removed outside Agency. The ledger shows it forever. */
export const brokenLink = "f".repeat(64);
/** Stands for the digest of a deleted row. */
export const deletedRow = "-";

/** Runs `work`, then seals what it recorded and changed. */
export async function sealing<T>(plain: PlainTx, work: (tx: Tx) => Promise<T>): Promise<T> {
  const { dialect } = plain;
  let events: NewEventRow[] = [];
  let rows = new Map<string, Changed>();
  const flush = async (): Promise<void> => {
    const chains = chainsOf(events, rows);
    [events, rows] = [[], new Map()];
    for (const [companyId, part] of chains) await extend(plain, companyId, part);
  };
  const isBehind = (prepared: PreparedQuery): boolean =>
    prepared.readsLedger && events.length + rows.size > 0;
  const note = ({ table, deletes }: Seals, values: readonly unknown[]): void => {
    const { keys = [], company = -1 } = layouts.get(table) ?? {};
    const companyId = values[company];
    const key = keys.map((index) => values[index]);
    rows.set(nameOf(table, key), {
      companyId: typeof companyId === "string" ? companyId : null,
      image: deletes ? null : JSON.stringify(values),
    });
  };
  const tx: Tx = {
    ...plain,
    // Most statements pass through without another promise.
    all: (q, params) => {
      const prepared = q.on(dialect);
      const { seals } = prepared;
      if (seals !== undefined)
        return plain.all(q, params).then((found) => {
          for (const row of found) note(seals, Object.values(Object(row)));
          return found;
        });
      return isBehind(prepared) ? flush().then(() => plain.all(q, params)) : plain.all(q, params);
    },
    first: (q, params) => {
      const prepared = q.on(dialect);
      if (prepared.seals !== undefined || isBehind(prepared)) return tx.all(q, params).then(([row]) => row);
      return plain.first(q, params);
    },
    run: (q, params) => {
      const { seals } = q.on(dialect);
      if (seals === undefined) return plain.run(q, params);
      return plain.changed(q, params).then((found) => {
        for (const values of found) note(seals, values);
        return found.length;
      });
    },
    append: (event) => {
      events.push(event);
    },
    attempt: async (part) => {
      const saved = { events: [...events], rows: new Map(rows) };
      try {
        return await plain.attempt(part);
      } catch (error) {
        ({ events, rows } = saved);
        throw error;
      }
    },
  };
  const result = await work(tx);
  if (events.length + rows.size > 0) await flush();
  return result;
}

type Seals = NonNullable<PreparedQuery["seals"]>;

interface Changed {
  readonly companyId: string | null;
  /** Null: the row was deleted. */
  readonly image: string | null;
}

interface Part {
  readonly events: NewEventRow[];
  readonly rows: [string, Changed][];
}

/** By company. A row without a company (a version, an edge) belongs to the company of the transaction. */
function chainsOf(events: readonly NewEventRow[], rows: ReadonlyMap<string, Changed>): [string, Part][] {
  const chains = new Map<string, Part>();
  const chain = (companyId: string): Part =>
    chains.getOrInsertComputed(companyId, () => ({ events: [], rows: [] }));
  for (const event of events) chain(event.company_id).events.push(event);
  const loose: [string, Changed][] = [];
  for (const entry of rows)
    if (entry[1].companyId === null) loose.push(entry);
    else chain(entry[1].companyId).rows.push(entry);
  if (loose.length > 0) {
    const [only = "", second] = [...chains.keys()].filter((companyId) => companyId !== "");
    if (second !== undefined) throw new Error("a transaction changed the rows of two companies");
    chain(only).rows.push(...loose);
  }
  return [...chains].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

async function extend(tx: PlainTx, companyId: string, { events, rows }: Part): Promise<void> {
  const { mac } = tx;
  await tx.lock(`ledger ${companyId}`);
  const head = await tx.first(headOf, { company_id: companyId });
  const isRight = head?.seal === (head === undefined ? undefined : sealOf(mac, head));
  const last = head === undefined ? await tx.first(lastEvent, { company_id: companyId }) : undefined;
  const lines = new Map(head !== undefined && isRight ? linesIn(head.rows) : []);
  for (const [name, { image }] of rows)
    lines.set(name, image === null ? deletedRow : digestOf(mac, name, image));
  const all = [...events];
  if (all.length === 0 && lines.size > mostLinesInHead) all.push(carrier(companyId, tx.now));
  let seq = head?.seq ?? last?.seq ?? 0;
  let hash = !isRight || last !== undefined ? brokenLink : (head?.hash ?? genesis);
  const text = [...lines].map(([name, line]) => `${name} ${line}`).join("\n");
  for (const [index, event] of all.entries()) {
    seq += 1;
    const row = { ...event, seq, rows: index === all.length - 1 ? text : "", previous: hash };
    hash = hashOf(mac, row);
    await tx.run(insertEvent, { ...row, hash });
  }
  const moved = { company_id: companyId, seq, hash, rows: all.length === 0 ? text : "" };
  await tx.run(moveHead, { ...moved, seal: sealOf(mac, moved) });
}

/** A head keeps the lines of a few rows that changed without an event. More get an event. */
const mostLinesInHead = 100;

function carrier(companyId: string, at: number): NewEventRow {
  return {
    company_id: companyId,
    at,
    actor_kind: "system",
    agent_id: null,
    session_id: null,
    operation: "ledger.rows",
    subject: null,
    data: "{}",
  };
}

export function hashOf(mac: Mac, row: Omit<EventRow, "hash">): string {
  return mac(
    JSON.stringify([
      row.previous,
      row.company_id,
      row.seq,
      row.at,
      row.actor_kind,
      row.agent_id,
      row.session_id,
      row.operation,
      row.subject,
      row.data,
      row.rows,
    ]),
  );
}

export function sealOf(mac: Mac, head: Omit<Head, "seal">): string {
  return mac(JSON.stringify(["head", head.company_id, head.seq, head.hash, head.rows]));
}

export function digestOf(mac: Mac, name: string, image: string): string {
  return mac(JSON.stringify(["row", name, image])).slice(0, 24);
}

/** The lines of an event or a head: the name of a row, and its digest. */
export function linesIn(text: string): [string, string][] {
  if (text === "") return [];
  return text.split("\n").map((line) => {
    const space = line.indexOf(" ");
    return [line.slice(0, space), line.slice(space + 1)];
  });
}

/** Names a row in the ledger: `agents/<id>`. */
export function nameOf(table: SealedTable, key: readonly unknown[]): string {
  let name: string = table;
  for (const part of key) name += `/${encodeURIComponent(String(part))}`;
  return name;
}

/** Where the sealed columns of a table have the key and the company. */
const layouts = new Map(
  Object.keys(rowKeys)
    .filter(isSealed)
    .map((table) => {
      const columns = sealedColumns(table);
      const keys = rowKeys[table].map((column) => columns.indexOf(column));
      return [table, { keys, company: columns.indexOf(table === "companies" ? "id" : "company_id") }];
    }),
);

export const headOf = selection("ledger_heads", ["company_id"]);

const moveHead = insertion(
  "ledger_heads",
  sql`on conflict (company_id) do update set seq = excluded.seq, hash = excluded.hash, rows = excluded.rows, seal = excluded.seal`,
);

const lastEvent = selection("events", ["company_id"], sql`order by seq desc limit 1`);

const insertEvent = insertion("events");
