import { hash as digest } from "node:crypto";
import { sql } from "kysely";
import type { Value } from "./columns.ts";
import { insertAll, insertion, laterRow } from "./inserts.ts";
import { type PreparedQuery, type Query, selection, textQuery, textsIn } from "./query.ts";
import { headMoved } from "./connections.ts";
import { type Row, sealedColumns } from "./schema.ts";
import { isSealed, rowKeys, type SealedTable } from "./row-keys.ts";
import type { Mac, NewEventRow, Tx } from "./store.ts";
import { inMap } from "../contract/in-map.ts";

/**
 * The end of every write: the events that the transaction recorded join the chain of their company, together with a digest
 * of every row that it changed.
 *
 *   append() ─▶ waiting ──seal──▶ row of `events`; the head of the chain moves
 *   run()    ─▶ newest image of each changed row ──seal──▶ a line in the last of these events, or in the head without one
 *
 * The store seals just before the commit what all writes of the transaction left pending, and earlier only when a write itself
 * reads the ledger. So a chain is locked for a moment, and its numbers become visible in order. Each company has its own chain and lock: companies don't
 * wait for each other. The chain "" belongs to the installation.
 *
 * Hashes, seals and digests use a key that is not in the database. A person who can change the database but lacks the key
 * can't make one that fits. Rejected: a table with one digest for each row. It costs a second write for each row, and a row
 * could be put back together with its old digest. In a chain only the newest line about a row counts.
 */

/**
 * SHA-512/256 of the key and the text. The result shows only a part of the hash's state, so a text can't be continued without
 * the key. HMAC's second round prevents the same attack, but Node's createHmac() takes four times as long for short texts.
 */
export function macOf(key: string): Mac {
  return (text) => digest("sha512-256", key + text);
}

/** A transaction of a store, before this file adds the ledger. */
export type PlainTx = Omit<Tx, "append" | "attempt"> & {
  /** Once `isOver` is true, the savepoint is gone, and one with its name may belong to another write. */
  attempt<T>(work: () => Promise<T>, isOver: () => boolean): Promise<T>;
  /** Runs a statement that seals, and returns the sealed columns of each row it changed. */
  changed<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<Value[][]>;
  /** What its writes recorded and changed and is not sealed yet. A write that fails removes its own part. */
  readonly pending: Pending;
  /** On PostgreSQL: the heads that the transaction has read or moved. */
  readonly heads?: KnownHeads | undefined;
};
export type KnownHeads = Map<string, Promise<Head | undefined>>;
export type Pending = Promise<readonly [companyId: string, part: Part][]>[];
type EventRow = Row<"events">;
type Head = Row<"ledger_heads">;

export const genesis = "0".repeat(64);
/** Replaces the previous hash if the head was changed or removed outside Agency. The ledger then shows this forever. */
export const brokenLink = "f".repeat(64);
/** Stands for the digest of a deleted row. */
export const deletedRow = "-";

/** Runs `work`. Its records and changes stay pending until they are sealed. */
export async function sealing<T>(plain: PlainTx, work: (tx: Tx) => Promise<T>): Promise<T> {
  const { dialect } = plain;
  let events: NewEventRow[] = [];
  let rows = new Map<string, Changed>();
  /** Statements that were sent and whose rows are not known yet. On PostgreSQL they need not be waited for. */
  let sent: Promise<void>[] = [];
  /** Attempts and reads of the ledger that have not ended. */
  let open = 0;
  /** The write has ended. What is pending, and on SQLite the transaction, may belong to others now. */
  let isOver = false;
  const hasEnded = (): Error => new Error("the write has ended");
  const late = (): Promise<never> => Promise.reject(hasEnded());
  const leave = (): void => {
    const [recorded, changed, known] = [events, rows, Promise.all(sent)];
    [events, rows, sent] = [[], new Map(), []];
    const parts = known.then(() => chainsOf(recorded, changed));
    // Awaited when it is sealed. A transaction that fails before does not await it.
    parts.catch(() => undefined);
    plain.pending.push(parts);
  };
  const hasLeft = (): boolean => events.length + rows.size + sent.length > 0;
  const catchUp = (): Promise<void> => {
    if (hasLeft()) leave();
    return seal(plain);
  };
  /** Reads the ledger after sealing everything that was recorded before. */
  const sealed = async <R>(read: () => Promise<R>): Promise<R> => {
    await plain.turn();
    if (isOver) return late();
    if (hasLeft() || plain.pending.length > 0) {
      open += 1;
      await catchUp().finally(() => (open -= 1));
    }
    return read();
  };
  /** The number of statements so far. A row for later is known at once, while one before it may not be answered yet. */
  let statements = 0;
  const noteIn = (changed: Map<string, Changed>) => {
    const by = (statements += 1);
    return ({ table, deletes }: Seals, values: readonly unknown[]): void => {
      const { keys = [], company = -1 } = layouts.get(table) ?? {};
      const companyId = values[company];
      const name = nameOf(
        table,
        keys.map((index) => values[index]),
      );
      if ((changed.get(name)?.by ?? 0) > by) return;
      changed.set(name, {
        companyId: company === -1 ? null : typeof companyId === "string" ? companyId : "",
        image: deletes ? null : JSON.stringify(values),
        by,
      });
    };
  };
  const tx: Tx = {
    ...plain,
    // Most statements pass through without another promise.
    all: (q, params) => {
      const prepared = q.on(dialect);
      const { seals } = prepared;
      if (isOver && prepared.changes) return late();
      const note = noteIn(rows);
      if (seals !== undefined)
        return plain.all(q, params).then((found) => {
          for (const row of found) note(seals, Object.values(Object(row)));
          return found;
        });
      return prepared.readsLedger ? sealed(() => plain.all(q, params)) : plain.all(q, params);
    },
    first: (q, params) => {
      const prepared = q.on(dialect);
      if (prepared.seals !== undefined) return tx.all(q, params).then(([row]) => row);
      return prepared.readsLedger ? sealed(() => plain.first(q, params)) : plain.first(q, params);
    },
    run: (q, params) => {
      const { seals, holds } = q.on(dialect);
      if (isOver) return late();
      if (seals === undefined) return plain.run(q, params);
      const note = noteIn(rows);
      if (holds !== undefined) {
        note(
          seals,
          sealedColumns(seals.table).map((column) => params[column]),
        );
        return plain.run(q, params);
      }
      const noted = plain.changed(q, params).then((found) => {
        for (const values of found) note(seals, values);
      });
      // SQLite has already answered. After an error there, nothing more may run.
      if (dialect === "sqlite") return noted;
      noted.catch(() => undefined);
      sent.push(noted);
      return done;
    },
    count: (q, params) => {
      const { seals } = q.on(dialect);
      if (isOver) return late();
      if (seals === undefined) return plain.count(q, params);
      const note = noteIn(rows);
      return plain.changed(q, params).then((found) => {
        for (const values of found) note(seals, values);
        return found.length;
      });
    },
    append: (event) => {
      // The event would be lost, and the write answered as done.
      if (isOver) throw hasEnded();
      events.push(event);
    },
    attempt: async (part) => {
      await plain.turn();
      await Promise.all(sent);
      if (isOver) return late();
      const saved = { events: [...events], rows: new Map(rows), pending: [...plain.pending] };
      open += 1;
      try {
        return await plain.attempt(
          async () => {
            const result = await part();
            await Promise.all(sent);
            return result;
          },
          () => isOver,
        );
      } catch (error) {
        await Promise.allSettled(sent);
        if (isOver) throw error;
        ({ events, rows } = saved);
        sent = [];
        void plain.pending.splice(0, plain.pending.length, ...saved.pending);
        throw error;
      } finally {
        open -= 1;
      }
    },
  };
  const result = await work(tx).finally(() => (isOver = true));
  // Some of it might be stored, and the rest not.
  if (open > 0) throw new Error("the write did not wait for a part of it");
  if (hasLeft()) leave();
  return result;
}

const done = Promise.resolve();

/**
 * Seals everything that is pending. The installation's chain is always locked last, so no two transactions wait for each other.
 */
export async function seal(tx: PlainTx): Promise<void> {
  if (tx.pending.length === 0) return;
  const parts = (await Promise.all(tx.pending.splice(0))).flat();
  const chains = [...Map.groupBy(parts, ([id]) => id)].toSorted(([a], [b]) => (a < b ? 1 : -1));
  const heads = chains.map(([id]) => headIn(tx, id));
  const longer: LongerChain[] = [];
  for (const [at, head] of (await Promise.all(heads)).entries()) {
    const [id, ofChain] = chains[at] ?? ["", []];
    longer.push(
      await extended(
        tx,
        id,
        ofChain.map(([, part]) => part),
        head,
      ),
    );
  }
  await moveHeads(tx, longer);
  const events = longer.flatMap((chain) => chain.events);
  if (tx.dialect === "sqlite") await insertAll(tx, "events", events);
  else for (const event of events) await tx.run(insertEvent, event);
}

/** Reads the heads of these companies early. If a write without a lock moves one meanwhile, this transaction fails. */
export function readHeads(tx: PlainTx, companyIds: readonly string[]): void {
  const found = tx.all(headsOf, { ids: JSON.stringify(companyIds) });
  for (const id of companyIds) {
    const head = found.then((heads) => heads.find(({ company_id }) => company_id === id));
    // If it fails, so does the transaction.
    head.catch(() => undefined);
    tx.heads?.set(id, head);
  }
}

async function headIn(tx: PlainTx, companyId: string): Promise<Head | undefined> {
  const known = await tx.heads?.get(companyId);
  if (known !== undefined) return known;
  await tx.lock(`ledger ${companyId}`);
  return tx.first(headOf, { company_id: companyId });
}

/** A head can move only from the place where it was read. */
async function moveHeads(tx: PlainTx, longer: readonly LongerChain[]): Promise<void> {
  const [moved, made] = [
    longer.filter(({ was }) => was !== undefined),
    longer.filter(({ was }) => was === undefined),
  ];
  for (const { head } of tx.dialect === "sqlite" ? longer : made) await tx.run(moveHead, head);
  if (tx.dialect === "postgres" && moved.length > 0)
    await tx.run(moveSeveral, {
      heads: JSON.stringify(moved.map(({ head, was }) => ({ ...head, was: was?.seal }))),
      count: moved.length,
    });
  for (const { head } of longer) tx.heads?.set(head.company_id, Promise.resolve(head));
}

type Seals = NonNullable<PreparedQuery["seals"]>;

interface Changed {
  readonly companyId: string | null;
  /** Null if the row was deleted. */
  readonly image: string | null;
  /** The number of the statement that changed it. */
  readonly by: number;
}

interface Part {
  readonly events: NewEventRow[];
  readonly rows: [string, Changed][];
}

/** The chains by company. A row without a company (a version, an edge) belongs to the company of the transaction. */
function chainsOf(events: readonly NewEventRow[], rows: ReadonlyMap<string, Changed>): [string, Part][] {
  const chains = new Map<string, Part>();
  const chain = (companyId: string): Part => inMap(chains, companyId, () => ({ events: [], rows: [] }));
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

interface LongerChain {
  readonly events: readonly EventRow[];
  readonly was: Head | undefined;
  readonly head: Head;
}

async function extended(
  tx: PlainTx,
  companyId: string,
  parts: readonly Part[],
  was: Head | undefined,
): Promise<LongerChain> {
  const { mac } = tx;
  const isRight = was?.seal === (was === undefined ? undefined : sealOf(mac, was));
  const last = was === undefined ? await tx.first(lastEvent, { company_id: companyId }) : undefined;
  const lines = new Map(was !== undefined && isRight ? linesIn(was.rows) : []);
  let seq = was?.seq ?? last?.seq ?? 0;
  let hash = !isRight || last !== undefined ? brokenLink : (was?.hash ?? genesis);
  const chained: EventRow[] = [];
  for (const { events, rows } of parts) {
    for (const [name, { image }] of rows)
      lines.set(name, image === null ? deletedRow : digestOf(mac, name, image));
    const all = [...events];
    if (all.length === 0 && lines.size > mostLinesInHead) all.push(carrier(companyId, tx.now));
    for (const [index, event] of all.entries()) {
      seq += 1;
      const row = { ...event, seq, rows: index === all.length - 1 ? textOf(lines) : "", previous: hash };
      hash = hashOf(mac, row);
      chained.push({ ...row, hash });
    }
    if (all.length > 0) lines.clear();
  }
  const moved = { company_id: companyId, seq, hash, rows: textOf(lines) };
  return { events: chained, was, head: { ...moved, seal: sealOf(mac, moved) } };
}

function textOf(lines: ReadonlyMap<string, string>): string {
  return [...lines].map(([name, line]) => `${name} ${line}`).join("\n");
}

/** The most lines of rows changed without an event that a head keeps. If there are more, they get an event. */
const mostLinesInHead = 100;

function carrier(companyId: string, at: number): NewEventRow {
  return {
    company_id: companyId,
    at,
    actor_kind: "system",
    agent_id: null,
    session_id: null,
    person_id: null,
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
      row.person_id,
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

/** For each table, the positions of the key and the company among the sealed columns. */
const layouts = new Map(
  Object.keys(rowKeys)
    .filter(isSealed)
    .map((table) => {
      const columns = sealedColumns(table);
      const keys = rowKeys[table].map((column) => columns.indexOf(column));
      return [table, { keys, company: companyIn(table, columns) }];
    }),
);

/**
 * The position of the company's column. -1 means that the row belongs to the company of the transaction. People and their
 * credentials have no company: their rows are sealed in the chain of the installation.
 */
function companyIn(table: SealedTable, columns: readonly string[]): number {
  if (table === "people") return columns.length;
  return columns.indexOf(table === "companies" ? "id" : "company_id");
}

export const headOf = selection("ledger_heads", ["company_id"]);

const moveHead = insertion(
  "ledger_heads",
  sql`on conflict (company_id) do update set seq = excluded.seq, hash = excluded.hash, rows = excluded.rows, seal = excluded.seal`,
);

const headsOf = textQuery(
  (p: { ids: string }, dialect) =>
    sql<Head>`select * from ledger_heads where company_id in (${textsIn(p.ids, dialect)})`,
);

/** On PostgreSQL: fails if one of them was moved meanwhile. */
const moveSeveral = textQuery((p: { heads: string; count: number }, dialect) =>
  dialect === "sqlite"
    ? sql`select ${p.heads}, ${p.count}`
    : sql`with moved as (
        update ledger_heads as h set seq = n.seq, hash = n.hash, rows = n.rows, seal = n.seal
        from json_to_recordset(${p.heads}::json) as n(company_id text, seq bigint, hash text, rows text, seal text, was text)
        where h.company_id = n.company_id and h.seal = n.was returning 1
      ) select cast(case when count(*) = ${p.count} then '1' else ${sql.lit(headMoved)} end as integer) from moved`,
);

/** No statement waits for the event: the head of its chain has already moved. */
const insertEvent = laterRow("events");

const lastEvent = selection("events", ["company_id"], sql`order by seq desc limit 1`);
