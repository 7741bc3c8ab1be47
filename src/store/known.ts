import type { Value } from "./columns.ts";
import { areApart, type RowChange, type Filled, isUnseen, type Reads } from "./about.ts";

/**
 * The rows that the writes of a batch have read, in memory. A repeated read is answered from here, until a statement may have
 * changed the answer.
 *
 * A write that reads before its turn is an `EarlyReader`. If an earlier write, or an undo, then changes what it has read, it
 * becomes stale.
 */
export interface Known {
  /** `how` says whether the rows may be those of an earlier read. */
  rows(read: Read, ask: () => Promise<unknown[]>, how: Keeping, reader?: EarlyReader): Promise<unknown[]>;
  /** Notes that a write will make this read in its later turn. */
  announce(read: Read, ask: () => Promise<unknown[]>, how: Keeping, reader: EarlyReader): void;
  change(by: RowChange): void;
  /** Stores a row that a changing statement returned, as the answer of this read. */
  learn(read: Read, rows: Promise<unknown[]>): void;
  /**
   * Begins the turn of the batch's next write. From reads of others, it uses only rows of the companies whose locks are held,
   * and of their agents, outcomes and sums. Its own reads and announcements were made while it waited.
   */
  turn(companies: ReadonlySet<unknown>, number: number): void;
  /** Whether this turn changed something that was not undone. */
  hasChanges(): boolean;
  /** Marks a point to which changes can be undone. */
  mark(savepoint: string): void;
  undo(savepoint: string): void;
}

/**
 * shared: rows that another write has read are used too. own: only rows that this write has announced. never: the rows are
 * always read.
 */
export type Keeping = "shared" | "own" | "never";

export interface Read extends Filled, Reads {
  readonly sql: string;
}

export interface EarlyReader {
  /** The number of its turn. */
  readonly number: number;
  isStale: boolean;
}

interface Answered extends Read {
  rows: Promise<unknown[]>;
  found: readonly unknown[] | undefined;
  readonly key: string;
  /** The writes that have read it before their turn. */
  readonly readers: Set<EarlyReader>;
  /** The writes that have announced it. */
  readonly awaited: Set<EarlyReader>;
  /** The last turn of these writes. */
  until: number;
  /** The turn in which it was read. */
  readonly since: number;
}

export function knownRows(): Known {
  const known = new Map<string, Answered>();
  const ofTable = new Map<string, Set<Answered>>();
  let current = 0;
  /** The changes of this turn, in order. */
  let changes: RowChange[] = [];
  const marks = new Map<string, number>();
  /** With `isWrong`, its readers can't use the rows any more. */
  const drop = (read: Answered, isWrong: boolean): void => {
    if (isWrong) for (const reader of read.readers) reader.isStale = true;
    if (known.get(read.key) === read) known.delete(read.key);
    for (const table of read.tables) ofTable.get(table)?.delete(read);
  };
  const touch = (by: RowChange, isUndone: boolean): void => {
    for (const table of by.tables) {
      const cell = (column: string): Value | undefined => by.values[by.about?.get(column) ?? -1];
      const isRow = by.isRow === true && !isUndone;
      const isUncounted = (read: Answered): boolean => isRow && read.counts?.(table, cell) === false;
      const isTouched = (read: Answered): boolean =>
        !areApart(read, by) && !isUnseen(read, read.found, by) && !isUncounted(read);
      for (const read of ofTable.get(table)?.values().filter(isTouched).toArray() ?? []) {
        const { rows } = read;
        drop(read, true);
        // The sum or the number of rows is known without reading the rows again.
        const added = isRow && read.counts !== undefined ? oneMore : by.added;
        if (added !== undefined && !isUndone && (isRow || isByKey(read, by)))
          keep(read.key, read, rows.then(added)).until = read.until;
      }
    }
  };
  const keep = (key: string, read: Read, rows: Promise<unknown[]>): Answered => {
    const answered: Answered = {
      ...read,
      key,
      rows,
      found: undefined,
      readers: new Set(),
      awaited: new Set(),
      until: 0,
      since: current,
    };
    const before = known.get(key);
    // Later reads must ask again. Writes that have already read it may still become stale.
    if (before !== undefined && before.readers.size === 0) drop(before, false);
    known.set(key, answered);
    for (const table of read.tables) {
      const reads = ofTable.get(table);
      if (reads === undefined) ofTable.set(table, new Set([answered]));
      else reads.add(answered);
    }
    // Registered before those who wait for the rows.
    rows.then(
      (found) => (answered.found = found),
      () => drop(answered, true),
    );
    return answered;
  };
  const add = (read: Answered, to: "readers" | "awaited", reader: EarlyReader | undefined): Answered => {
    if (reader === undefined) return read;
    read[to].add(reader);
    read.until = Math.max(read.until, reader.number);
    return read;
  };
  const keyOf = (read: Read): string => `${read.sql} ${JSON.stringify(read.values)}`;
  return {
    rows: (read, ask, how, reader) => {
      const key = keyOf(read);
      const before = known.get(key);
      if (before !== undefined) {
        const isOwn =
          reader === undefined
            ? before.until >= current
            : before.readers.has(reader) || before.awaited.has(reader);
        if (how === "shared" || (how === "own" && isOwn)) return add(before, "readers", reader).rows;
      }
      if (how !== "shared" && reader === undefined) return ask();
      return add(keep(key, read, ask()), "readers", reader).rows;
    },
    announce: (read, ask, how, reader) => {
      const key = keyOf(read);
      const before = known.get(key);
      // A credential that was read before this write came is read again, unless it was announced in the same turn.
      const isKnown = before !== undefined && (how === "shared" || before.since === current);
      // If it fails, so does the transaction.
      add(isKnown ? before : keep(key, read, ask()), "awaited", reader);
    },
    learn: (read, rows) => void keep(keyOf(read), read, rows),
    change: (by) => {
      changes.push(by);
      touch(by, false);
    },
    turn: (companies, number) => {
      current = number;
      changes = [];
      marks.clear();
      for (const reads of ofTable.values())
        for (const read of reads) if (read.until < number && !isOf(companies, read)) drop(read, false);
    },
    hasChanges: () => changes.length > 0,
    mark: (savepoint) => void marks.set(savepoint, changes.length),
    // Reads since then may have seen the undone changes.
    undo: (savepoint) => {
      for (const by of changes.splice(marks.get(savepoint) ?? 0)) touch(by, true);
    },
  };
}

const oneMore = ([counted]: readonly unknown[]): unknown[] => [
  { ...Object(counted), count: Number(Object(counted).count) + 1 },
];

/** Whether a read finds whole rows by the same columns that identify the row to which a change adds. */
const isByKey = (read: Read, { about }: Filled): boolean =>
  read.sql.startsWith("select * ") &&
  about !== undefined &&
  read.about?.size === about.size &&
  [...read.about.keys()].every((column) => about.has(column));

/**
 * Whether all rows belong to these companies, or to their agents, outcomes or sums. Such rows change only under the companies'
 * locks.
 */
function isOf(companies: ReadonlySet<unknown>, { tables, found }: Answered): boolean {
  const [table = "", another] = tables;
  const column = another === undefined ? companyColumns.get(table) : undefined;
  if (column === undefined || found === undefined || found.length === 0) return false;
  return found.every((row) => companies.has(Object(row)[column]));
}
const companyColumns = new Map([
  ["companies", "id"],
  ["agents", "company_id"],
  ["outcomes", "company_id"],
  ["storage", "company_id"],
]);
