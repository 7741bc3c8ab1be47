import type { Value } from "./columns.ts";
import { areApart, type RowChange, type Filled, isUnseen, type Reads } from "./about.ts";

/**
 * What the writes of a batch have read, in memory. A repeated read is answered from it, until a statement may have changed the answer.
 *
 * A write that reads before its turn is its `EarlyReader`. If a write before it then changes what it has read, or an undo does, it is stale.
 */
export interface Known {
  /** `how`: whether the rows may be those of an earlier read. */
  rows(read: Read, ask: () => Promise<unknown[]>, how: Keeping, reader?: EarlyReader): Promise<unknown[]>;
  /** The write, whose turn comes later, will read this. */
  announce(read: Read, ask: () => Promise<unknown[]>, how: Keeping, reader: EarlyReader): void;
  change(by: RowChange): void;
  /** A statement that changes a row returns it as this read would find it. */
  learn(read: Read, rows: Promise<unknown[]>): void;
  /**
   * The turn of the next write of the batch. Of what others have read, it uses only the rows of the companies whose locks are held,
   * and of their agents, outcomes and sums. What it has read or announced itself was read while it waited.
   */
  turn(companies: ReadonlySet<unknown>, number: number): void;
  /** Whether something was changed in this turn, and not undone. */
  hasChanges(): boolean;
  /** What was changed since then can be undone. */
  mark(savepoint: string): void;
  undo(savepoint: string): void;
}

/** Shared: also those of another write. Own: those that this write has announced. */
export type Keeping = "shared" | "own" | "never";

export interface Read extends Filled, Reads {
  readonly sql: string;
}

export interface EarlyReader {
  /** Its turn. */
  readonly number: number;
  isStale: boolean;
}

interface Answered extends Read {
  rows: Promise<unknown[]>;
  found: readonly unknown[] | undefined;
  readonly key: string;
  /** Those that have read it before their turn. */
  readonly readers: Set<EarlyReader>;
  /** Those that have announced it. */
  readonly awaited: Set<EarlyReader>;
  /** The last turn of one of them. */
  until: number;
  /** Whose turn it was then. */
  readonly since: number;
}

export function knownRows(): Known {
  const known = new Map<string, Answered>();
  const ofTable = new Map<string, Set<Answered>>();
  let current = 0;
  /** In this turn, in order. */
  let changes: RowChange[] = [];
  const marks = new Map<string, number>();
  /** `isWrong`: its rows don't count any more for those who have read them. */
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
        // The rows need not be read again to know the sum, or how many they are.
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
    // It counts no more for those who read from now on. Those who have read it may still become stale.
    if (before !== undefined && before.readers.size === 0) drop(before, false);
    known.set(key, answered);
    for (const table of read.tables) {
      const reads = ofTable.get(table);
      if (reads === undefined) ofTable.set(table, new Set([answered]));
      else reads.add(answered);
    }
    // Before those who wait for the rows.
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
    // What was read since then may have seen the changes.
    undo: (savepoint) => {
      for (const by of changes.splice(marks.get(savepoint) ?? 0)) touch(by, true);
    },
  };
}

const oneMore = ([counted]: readonly unknown[]): unknown[] => [
  { ...Object(counted), count: Number(Object(counted).count) + 1 },
];

/** Whether a read finds whole rows by the same columns that tell which row a change adds to. */
const isByKey = (read: Read, { about }: Filled): boolean =>
  read.sql.startsWith("select * ") &&
  about !== undefined &&
  read.about?.size === about.size &&
  [...read.about.keys()].every((column) => about.has(column));

/** Whether all rows are the companies' own, or of their agents, outcomes or sums. They change only under their locks. */
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
