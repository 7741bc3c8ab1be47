import type { Pending } from "./chain.ts";
import { areApart, type Filled, isUnseen, type Sees } from "./about.ts";
import type { Value } from "./columns.ts";
import type { StatementAnswer, Statement, Waves } from "./waves.ts";

/**
 * A transaction on a connection that does not wait: statements are sent in waves (waves.ts), and answered in this order. After one
 * that fails, PostgreSQL runs no other until a rollback.
 */
export interface Link {
  /** Resolves with the answer, or fails with the first error of the transaction. */
  ask(statement: Statement): Promise<StatementAnswer>;
  /** Does not wait for the answer. An error fails the next statement that is asked, and the commit. */
  send(statement: Statement): void;
  begin(statement: string): void;
  savepoint(name: string): void;
  /** What was done since then is undone only together with what was done before. */
  keep(savepoint: string): void;
  /** Undoes what was done since. */
  rollBackTo(savepoint: string): Promise<void>;
  /** Keeps a row for a statement that inserts many at once, when a statement could see it, or at the commit. */
  hold(into: HeldTable, row: readonly Value[]): void;
  /** This statement comes next. Held rows that it could see or meet are inserted before. */
  reach(next: Filled): void;
  commit(): Promise<void>;
  /** Gives the connection back, after a rollback if a transaction is open. */
  close(failure: unknown): Promise<void>;
  readonly pending: Pending;
  /** What the write whose turn it is has read. */
  readonly known: Known;
}

/** How rows that are held are inserted. The same object for each row of a table. */
interface HeldTable extends Pick<Filled, "tables" | "about"> {
  readonly statement: (rows: readonly (readonly Value[])[]) => Statement;
}

/** PostgreSQL keeps a statement for each number of rows. */
const mostHeld = 50;

/** Answers a repeated read from memory, until a statement may have changed its answer. */
interface Known {
  /** `isKept`: also if the write has not announced it. */
  rows(read: Read, ask: () => Promise<unknown[]>, isKept: boolean): Promise<unknown[]>;
  /** The write with this number, whose turn comes later, will read this. */
  announce(read: Read, ask: () => Promise<unknown[]>, isKept: boolean, number: number): void;
  change(by: Filled): void;
  /** A statement that changes a row returns it as this read would find it. */
  learn(read: Read, rows: Promise<unknown[]>): void;
  /**
   * The turn of the next write of the batch. Of what others have read, it uses only the rows of the company whose lock is held, and
   * of its agents and outcomes. What it has announced was read while it waited.
   */
  turn(companyId: string | null, number: number): void;
  forget(): void;
}

/** Whether all rows are the company's own, or of its agents or outcomes. They change only under its lock. */
function isOf(companyId: string, { tables, found }: Answered): boolean {
  const [table = "", another] = tables;
  const column = another === undefined ? companyColumns.get(table) : undefined;
  return column !== undefined && found.length > 0 && found.every((row) => Object(row)[column] === companyId);
}
const companyColumns = new Map([
  ["companies", "id"],
  ["agents", "company_id"],
  ["outcomes", "company_id"],
]);

interface Answered extends Read {
  readonly rows: Promise<unknown[]>;
  /** Empty until it is answered. */
  found: readonly unknown[];
  /** The last write that has announced it, and whose turn it was then. */
  until: number;
  readonly since: number;
}

interface Read extends Filled {
  readonly sql: string;
  readonly sees: Sees;
}

function knownRows(): Known {
  const known = new Map<string, Answered>();
  const drop = (isOld: (read: Answered) => boolean): void => {
    for (const [key, read] of known) if (isOld(read)) known.delete(key);
  };
  let current = 0;
  const keyOf = (read: Read): string => `${read.sql} ${JSON.stringify(read.values)}`;
  const keep = (key: string, read: Read, rows: Promise<unknown[]>, until = 0): Promise<unknown[]> => {
    const answered: Answered = { ...read, rows, found: [], until, since: current };
    known.set(key, answered);
    return rows.then((found) => (answered.found = found));
  };
  // If one of them fails, so does the transaction.
  const keepQuietly = (...kept: Parameters<typeof keep>): void => void keep(...kept).catch(() => undefined);
  return {
    rows: (read, ask, isKept) => {
      const key = keyOf(read);
      const before = known.get(key);
      if (before !== undefined && (isKept || before.until >= current)) return before.rows;
      return isKept ? keep(key, read, ask()) : ask();
    },
    announce: (read, ask, isKept, number) => {
      const key = keyOf(read);
      const before = known.get(key);
      // A credential that was read before this write came is read again, unless it was announced in the same turn.
      if (before !== undefined && (isKept || before.since === current)) before.until = number;
      else keepQuietly(key, read, ask(), number);
    },
    learn: (read, rows) => keepQuietly(keyOf(read), read, rows),
    change: (by) => drop((read) => !areApart(read, by) && !isUnseen(read.sees, read.found, by)),
    turn: (companyId, number) => {
      current = number;
      drop((read) => read.until < number && (companyId === null || !isOf(companyId, read)));
    },
    forget: () => known.clear(),
  };
}

export function linkOn(
  waves: Waves,
  release: (failure: unknown) => void,
  isLost: (error: unknown) => boolean,
): Link {
  let failure: unknown;
  let isOpen = false;
  const known = knownRows();
  let held = new Map<HeldTable, readonly (readonly Value[])[]>();
  /** What was held when each savepoint was made. Rows inserted since are undone with it. */
  const heldAt = new Map<string, typeof held>();
  const insert = (into: HeldTable): void => {
    const rows = held.get(into) ?? [];
    held.delete(into);
    send(into.statement(rows));
  };
  const ask = async (statement: Statement): Promise<StatementAnswer> => {
    try {
      return await waves.ask(statement);
    } catch (error) {
      throw (failure ??= error);
    }
  };
  const send = (statement: Statement): void => void ask(statement).catch(() => undefined);
  const commit = async (): Promise<void> => {
    for (const into of held.keys()) insert(into);
    const { command } = await ask({ text: "commit" });
    // PostgreSQL answers the commit of a transaction that has failed with a rollback, and without an error.
    if (failure !== undefined || command !== "COMMIT") throw failure ?? new Error("the commit was refused");
    isOpen = false;
  };
  return {
    ask,
    send,
    begin: (statement) => {
      isOpen = true;
      send({ text: statement });
    },
    savepoint: (name) => {
      heldAt.set(name, new Map(held));
      send({ text: `savepoint ${name}` });
    },
    keep: (savepoint) => send({ text: `release savepoint ${savepoint}` }),
    hold: (into, row) => {
      const rows = [...(held.get(into) ?? []), row];
      held.set(into, rows);
      if (rows.length === mostHeld) insert(into);
    },
    reach: (next) => {
      for (const [into, rows] of held)
        if (rows.some((values) => !areApart({ ...into, values }, next))) insert(into);
    },
    rollBackTo: async (savepoint) => {
      known.forget();
      held = new Map(heldAt.get(savepoint));
      await waves.ask({ text: `rollback to savepoint ${savepoint}`, isFirst: true });
      failure = undefined;
    },
    commit,
    close: async (cause) => {
      if (!isOpen || isLost(cause)) return release(cause);
      await waves.ask({ text: "rollback", isFirst: true }).then(
        () => release(undefined),
        (error: unknown) => release(error),
      );
    },
    pending: [],
    known,
  };
}
