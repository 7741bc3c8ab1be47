import { objectFields } from "../contract/object-fields.ts";
import type { Counts, Reads, RowChange } from "./about.ts";
import { intact } from "./blob-files.ts";
import type { PlainTx } from "./chain.ts";
import { checkRow } from "./checks.ts";
import type { Value } from "./columns.ts";
import type { Keeping, EarlyReader } from "./known.ts";
import type { Link } from "./link.ts";
import { blobRow, fill, Hole, type HeldInsert, type PreparedQuery, type Query, selection } from "./query.ts";
import { sealedColumns } from "./schema.ts";
import type { Mac, ReadTx } from "./store.ts";
import { inMap } from "../contract/in-map.ts";
import type { Statement } from "./waves.ts";

/** A transaction on PostgreSQL: queries become statements of its link. */

/** A query with its parameters, on the way to PostgreSQL. */
export interface Asking extends RowChange {
  readonly prepared: PreparedQuery;
}

export function asking(prepared: PreparedQuery, params: Readonly<Record<string, Value>>): Asking {
  const { tables, about, sets, slots } = prepared;
  return { prepared, tables, about, sets, values: fill(slots, params) };
}

export async function rowsOf(link: Link, asked: Asking, isEarly = false): Promise<unknown[]> {
  const { checks, sql, changes } = asked.prepared;
  link.reach(asked);
  const { values } = asked;
  const { rows } = await link.ask({ text: sql, values, isRead: !changes, isEarly });
  if (checks.length > 0) for (const row of rows) checkRow(Object(row), checks);
  return rows;
}

/**
 * The rows of a read, from memory if the write has already made it. Credentials and sessions are read for each write once it
 * waits for its turn; the ledger and content are read each time. `reader` is set before its turn.
 */
export async function knownOf(link: Link, asked: Asking, reader?: EarlyReader): Promise<unknown[]> {
  const { prepared } = asked;
  const how = keepingOf(prepared);
  if (prepared.changes) link.known.change(asked);
  const ask = (): Promise<unknown[]> => rowsOf(link, asked, reader !== undefined);
  if (how === "never" && reader === undefined) return ask();
  const rows = await link.known.rows(readOf(asked), ask, how, reader);
  return rows.map((row) => objectFields(row));
}

/** `isAlone` means that the write is the only one of its batch, so an error is its own. */
export function announceOn(link: Link, asked: Asking, reader: EarlyReader, isAlone: boolean): void {
  const how = keepingOf(asked.prepared);
  if (how !== "never") link.known.announce(readOf(asked), () => rowsOf(link, asked, !isAlone), how, reader);
}

const readOf = (asked: Asking) => {
  const { sql, sees = {}, words, whole, counts } = asked.prepared;
  return { ...asked, sql, sees, words, whole, counts: counts && countsIn(asked, counts) };
};

function countsIn({ prepared, values }: Asking, { table: own, by, where }: Counts): Reads["counts"] {
  const given = (name: string): Value | undefined =>
    values[prepared.slots.findIndex((slot) => slot instanceof Hole && slot.key === name)];
  return (table, cell) =>
    table === own &&
    Object.entries(by).every(([column, name]) => cell(column) === given(name)) &&
    Object.entries(where).every(([column, some]) => some.includes(cell(column) ?? null));
}

/** Reads whose rows can be compared with changes. The ledger is sealed before it is read, so such reads can't be early. */
export const canBeEarly = ({ tables, changes, readsLedger }: PreparedQuery): boolean =>
  !changes && !readsLedger && tables.length > 0;

export function keepingOf({ tables, changes }: PreparedQuery): Keeping {
  if (changes || tables.length === 0) return "never";
  if (tables.every((table) => kept.has(table))) return "shared";
  return tables.every((table) => kept.has(table) || callers.has(table)) ? "own" : "never";
}

const callers = new Set(["credentials", "sessions"]);
const kept = new Set([
  "agents",
  "approval_comments",
  "approvals",
  "companies",
  "deliverables",
  "dependencies",
  "edges",
  "enclosures",
  "files",
  "grants",
  "messages",
  "outcomes",
  "people",
  "storage",
  "versions",
]);

function changing(link: Link, asked: Asking): Statement {
  link.known.change(asked);
  link.reach(asked);
  return { text: asked.prepared.sql, values: asked.values };
}

export function runOn(link: Link, asked: Asking): void {
  const { holds } = asked.prepared;
  if (holds === undefined) return link.send(changing(link, asked));
  const into = inMap(holding, holds, () => heldIn(holds));
  const { added } = holds;
  const { values } = asked;
  link.known.change({
    ...into,
    values,
    ...(added === undefined ? { isRow: true } : { added: (rows) => added(values, rows) }),
  });
  link.hold(into, values);
}

/** Holds a row for a later insert, if its number was drawn. */
function insertDrawn(
  link: Link,
  { prepared: { drawn, seals } }: Asking,
  params: Readonly<Record<string, Value>>,
): Promise<Value[][]> | undefined {
  if (drawn === undefined || seals === undefined) return undefined;
  const num = link.numbers.next(seals.table);
  if (num === undefined) return undefined;
  const row = { ...params, num };
  runOn(link, asking(drawn, row));
  return Promise.resolve([sealedColumns(seals.table).map((name) => Object(row)[name])]);
}

async function changedBy(link: Link, asked: Asking): Promise<Value[][]> {
  const { rows } = await link.ask({ ...changing(link, asked), isArrays: true });
  return rows as Value[][];
}

const holding = new WeakMap<HeldInsert, Parameters<Link["hold"]>[0]>();

function heldIn({ table, isNumbered, about, several }: HeldInsert): Parameters<Link["hold"]>[0] {
  return {
    tables: [table],
    isNumbered,
    about,
    statement: (rows) => {
      const { sql, values } = several(rows);
      return { text: sql, values };
    },
  };
}

/** A statement that changes one row, found by its id, returns the whole row. So the row need not be read again. */
export function learn(link: Link, { prepared, about, values }: Asking, changed: Promise<Value[][]>): void {
  const { table, isOfOne } = prepared.seals ?? {};
  const place = about?.get("id");
  const read = table === undefined ? undefined : rowsById.get(table)?.on("postgres");
  if (!isOfOne || table === undefined || place === undefined || read === undefined) return;
  const names = sealedColumns(table);
  const found = changed.then((rows) =>
    rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]))),
  );
  link.known.learn(readOf(asking(read, { id: values[place] ?? null })), found);
}

const rowsById = new Map<string, Query<never, unknown>>([
  ["agents", selection("agents", ["id"])],
  ["approvals", selection("approvals", ["id"])],
  ["files", selection("files", ["id"])],
  ["messages", selection("messages", ["id"])],
  ["outcomes", selection("outcomes", ["id"])],
]);

type AskRows = (asked: Asking) => Promise<unknown[]>;

export function readsOn(now: number, mac: Mac, ask: AskRows): ReadTx {
  return {
    dialect: "postgres",
    now,
    mac,
    blobs: {
      read: async (fileId, hash) => {
        const [row] = await ask(asking(blobRow.on("postgres"), { file_id: fileId, hash }));
        return intact(fileId, hash, Object(row)["content"]);
      },
    },
    all: async (q, params) => typed(q, await ask(asking(q.on("postgres"), params))),
    first: async (q, params) => typed(q, await ask(asking(q.on("postgres"), params)))[0],
    ahead: () => undefined,
  };
}

/** How a transaction reaches its link. */
export interface LinkWay {
  /** Calls `use` at once if possible: statements leave in the order in which they were called. */
  readonly go: <T>(use: (link: Link) => Promise<T>) => Promise<T>;
  readonly read: (asked: Asking) => Promise<unknown[]>;
  readonly ahead: (asked: Asking) => void;
  readonly lock: (key: string) => Promise<void>;
  readonly pending: PlainTx["pending"];
  readonly heads: PlainTx["heads"];
  readonly turn?: PlainTx["turn"];
}

export function txOn(link: Link, now: number, mac: Mac): PlainTx {
  return txBy(
    {
      go: (use) => use(link),
      read: (asked) => knownOf(link, asked),
      ahead: () => undefined,
      lock: async (key) => link.send(lockOf(key)),
      pending: link.pending,
      heads: link.heads,
    },
    now,
    mac,
  );
}

export function txBy(way: LinkWay, now: number, mac: Mac): PlainTx {
  const { go } = way;
  return {
    ...readsOn(now, mac, way.read),
    ahead: (q, params) => way.ahead(asking(q.on("postgres"), params)),
    get pending() {
      return way.pending;
    },
    get heads() {
      return way.heads;
    },
    turn: way.turn ?? (() => undefined),
    run: (q, params) => go(async (link) => runOn(link, asking(q.on("postgres"), params))),
    count: (q, params) =>
      go(async (link) => (await link.ask(changing(link, asking(q.on("postgres"), params)))).count),
    changed: (q, params) =>
      go(async (link) => {
        const asked = asking(q.on("postgres"), params);
        const changed = insertDrawn(link, asked, params) ?? changedBy(link, asked);
        learn(link, asked, changed);
        return changed;
      }),
    lock: way.lock,
    attempt: (work) =>
      go(async (link) => {
        const savepoint = link.newSavepoint();
        link.savepoint(savepoint);
        try {
          const result = await work();
          await go(() => link.ask({ text: `release savepoint ${savepoint}` }));
          return result;
        } catch (error) {
          // If the write has ended, this fails: the changes of the writes after it would be undone as well.
          await go(() => link.rollBackTo(savepoint));
          link.keep(savepoint);
          throw error;
        }
      }),
  };
}

/** Takes those locks that are free. */
export const freeLocksOf = (keys: readonly string[]): Statement => ({
  text: "select key from json_array_elements_text($1::json) as key where pg_try_advisory_xact_lock(hashtextextended(key, 0))",
  values: [JSON.stringify(keys)],
});

export const lockOf = (key: string): Statement => ({
  text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
  values: [key],
});

function typed<P, R>(_query: Query<P, R>, rows: unknown[]): R[] {
  return rows as R[];
}
