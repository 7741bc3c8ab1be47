import type { KnownHeads, Pending } from "./chain.ts";
import { areApart, type Filled } from "./about.ts";
import type { Value } from "./columns.ts";
import { type Known, knownRows } from "./known.ts";
import { type Numbers, numbersOfLink } from "./numbers.ts";
import type { StatementAnswer, Statement, Waves } from "./waves.ts";

/**
 * A transaction on a connection that does not wait: statements are sent in waves (waves.ts) and answered in the same order.
 * After a failed statement, PostgreSQL runs no other until a rollback.
 */
export interface Link {
  /** Resolves with the answer, or fails with the first error of the transaction. */
  ask(statement: Statement): Promise<StatementAnswer>;
  /** Does not wait for the answer. An error fails the next statement that is asked, and the commit. */
  send(statement: Statement): void;
  begin(statement: string): void;
  newSavepoint(): string;
  savepoint(name: string): void;
  /** Forgets a savepoint: later work is undone only together with the work before it. */
  keep(savepoint: string): void;
  /** Undoes the work since the savepoint. */
  rollBackTo(savepoint: string): Promise<void>;
  /**
   * Holds a row for a statement that inserts many at once. That statement runs when another one could see the row, or at the
   * commit.
   */
  hold(into: HeldTable, row: readonly Value[]): void;
  /** Called before the next statement. Held rows that it could see or meet are inserted first. */
  reach(next: Filled): void;
  commit(): Promise<void>;
  /** Returns the connection, after a rollback if a transaction is open. */
  close(failure: unknown): Promise<void>;
  /** Whether a failed statement of a write that waits for its turn has broken the transaction. */
  isSpoilt(): boolean;
  /** Whether a statement failed, so PostgreSQL runs no other until a rollback. */
  hasFailed(): boolean;
  readonly pending: Pending;
  readonly heads: KnownHeads;
  readonly numbers: Numbers;
  readonly known: Known;
}

/** How held rows are inserted. The same object is used for every row of a table. */
interface HeldTable extends Pick<Filled, "tables" | "about"> {
  /** True if its rows are inserted before those of other tables, which may look for them. */
  readonly isNumbered: boolean;
  readonly statement: (rows: readonly (readonly Value[])[]) => Statement;
}

/** PostgreSQL keeps a statement for each number of rows. */
const mostHeld = 50;
/**
 * The most rows of each table in a statement with other tables. Many numbers of rows of many tables would be more statements than
 * PostgreSQL keeps.
 */
const mostTogether = 2;

export function linkOn(
  waves: Waves,
  release: (failure: unknown) => void,
  isLost: (error: unknown) => boolean,
): Link {
  let failure: unknown;
  let isOpen = false;
  /** True once the connection may have another transaction. */
  let isClosed = false;
  let isSpoilt = false;
  /** Names are never reused: a rollback to an earlier write's name would undo work that is answered as done. */
  let savepoints = 0;
  const known = knownRows();
  const heads: KnownHeads = new Map();
  let held = new Map<HeldTable, readonly (readonly Value[])[]>();
  /** The rows held when each savepoint was made. An undo restores them, because rows inserted since are undone too. */
  const heldAt = new Map<string, typeof held>();
  const insert = (into: HeldTable): void => {
    if (!into.isNumbered) for (const other of held.keys()) if (other.isNumbered) insert(other);
    const rows = held.get(into) ?? [];
    held.delete(into);
    send(into.statement(rows));
  };
  /** Inserts the remaining rows. Few rows of several tables take one statement. Rows of numbered tables come first. */
  const insertRest = (): void => {
    for (const isNumbered of [true, false]) {
      const some = [...held].filter(([into]) => into.isNumbered === isNumbered);
      const tables = new Set(some.map(([into]) => into.tables[0]));
      if (tables.size < some.length || some.some(([, rows]) => rows.length > mostTogether))
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
      // If a wave fails, the failed statement is reported first.
      if (failure === undefined) isSpoilt = statement.isEarly === true;
      throw (failure ??= error);
    }
  };
  const send = (statement: Statement): void => void ask(statement).catch(() => undefined);
  const commit = async (): Promise<void> => {
    insertRest();
    // A statement could not be sent.
    if (failure !== undefined) throw failure;
    const { command } = await ask({ text: "commit" });
    // If a transaction has failed, PostgreSQL answers the commit with a rollback and no error.
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
      // The failed statement belongs to another write.
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

/** One statement that does the work of these, if none of them sees what another changes. */
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
