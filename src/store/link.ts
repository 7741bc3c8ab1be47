import type { KnownHeads, Pending } from "./chain.ts";
import { areApart, type Filled } from "./about.ts";
import type { Value } from "./columns.ts";
import { type Known, knownRows } from "./known.ts";
import { type Numbers, numbersOfLink } from "./numbers.ts";
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
  newSavepoint(): string;
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
  /** Whether a statement of a write that waits for its turn made the transaction fail. */
  isSpoilt(): boolean;
  /** Whether a statement failed, so PostgreSQL runs no other until a rollback. */
  hasFailed(): boolean;
  readonly pending: Pending;
  readonly heads: KnownHeads;
  readonly numbers: Numbers;
  readonly known: Known;
}

/** How rows that are held are inserted. The same object for each row of a table. */
interface HeldTable extends Pick<Filled, "tables" | "about"> {
  /** Its rows are inserted before those of other tables, which may look for them. */
  readonly isNumbered: boolean;
  readonly statement: (rows: readonly (readonly Value[])[]) => Statement;
}

/** PostgreSQL keeps a statement for each number of rows. */
const mostHeld = 50;

export function linkOn(
  waves: Waves,
  release: (failure: unknown) => void,
  isLost: (error: unknown) => boolean,
): Link {
  let failure: unknown;
  let isOpen = false;
  /** Its connection may have another transaction. */
  let isClosed = false;
  let isSpoilt = false;
  /** Names are never used twice: a rollback to that of an earlier write would undo what is answered as done. */
  let savepoints = 0;
  const known = knownRows();
  const heads: KnownHeads = new Map();
  let held = new Map<HeldTable, readonly (readonly Value[])[]>();
  /** What was held when each savepoint was made. Rows inserted since are undone with it. */
  const heldAt = new Map<string, typeof held>();
  const insert = (into: HeldTable): void => {
    if (!into.isNumbered) for (const other of held.keys()) if (other.isNumbered) insert(other);
    const rows = held.get(into) ?? [];
    held.delete(into);
    send(into.statement(rows));
  };
  /** Single rows of several tables take one statement. Those of tables with numbers come first. */
  const insertRest = (): void => {
    for (const isNumbered of [true, false]) {
      const some = [...held].filter(([into]) => into.isNumbered === isNumbered);
      const tables = new Set(some.map(([into]) => into.tables[0]));
      if (tables.size < some.length || some.some(([, rows]) => rows.length > 1))
        for (const [into] of some) insert(into);
      else if (some.length > 0) {
        for (const [into] of some) held.delete(into);
        send(inOne(some.map(([into, rows]) => into.statement(rows))));
      }
    }
  };
  const ask = async (statement: Statement): Promise<StatementAnswer> => {
    try {
      if (isClosed) throw new Error("the transaction has ended");
      return await waves.ask(statement);
    } catch (error) {
      // Of a wave that fails, the statement that failed is told first.
      if (failure === undefined) isSpoilt = statement.isEarly === true;
      throw (failure ??= error);
    }
  };
  const send = (statement: Statement): void => void ask(statement).catch(() => undefined);
  const commit = async (): Promise<void> => {
    insertRest();
    // A statement that could not be sent.
    if (failure !== undefined) throw failure;
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
    newSavepoint: () => `part${(savepoints += 1)}`,
    savepoint: (name) => {
      heldAt.set(name, new Map(held));
      known.mark(name);
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
      // Not a statement of the write that asks for this.
      if (isSpoilt) throw failure;
      known.undo(savepoint);
      heads.clear();
      held = new Map(heldAt.get(savepoint));
      await waves.ask({ text: `rollback to savepoint ${savepoint}`, isFirst: true });
      failure = undefined;
      isSpoilt = false;
    },
    commit,
    close: async (cause) => {
      isClosed = true;
      if (!isOpen || isLost(cause)) return release(cause);
      await waves.ask({ text: "rollback", isFirst: true }).then(
        () => release(undefined),
        (error: unknown) => release(error),
      );
    },
    isSpoilt: () => isSpoilt,
    hasFailed: () => failure !== undefined,
    pending: [],
    heads,
    numbers: numbersOfLink(),
    known,
  };
}

/** One statement that does what these do, if none of them sees what another changes. */
function inOne(statements: readonly Statement[]): Statement {
  const values: Value[] = [];
  const texts = statements.map((each) => {
    const before = values.length;
    values.push(...(each.values ?? []));
    return each.text.replace(/\$(\d+)/g, (_, place) => `$${Number(place) + before}`);
  });
  const last = texts.pop() ?? "";
  const others = texts.map((text, at) => `part${at} as (${text})`);
  return { text: others.length === 0 ? last : `with ${others.join(", ")} ${last}`, values };
}
