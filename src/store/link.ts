import type pg from "pg";
import type { Pending } from "./chain.ts";
import type { Value } from "./columns.ts";

/**
 * A transaction on a connection that does not wait: statements are sent one after the other, and answered in this order. After
 * one that fails, PostgreSQL refuses all others until a rollback.
 */
export interface Link {
  /** Resolves with the answer, or fails with the first error of the transaction. */
  ask(statement: string | pg.QueryConfig): Promise<pg.QueryResult>;
  /** Does not wait for the answer. An error fails the next statement that is asked, and the commit. */
  send(statement: string | pg.QueryConfig): void;
  begin(statement: string): void;
  rollBackTo(savepoint: string): Promise<void>;
  commit(): Promise<void>;
  /** Gives the connection back, after a rollback if a transaction is open. */
  close(failure: unknown): Promise<void>;
  readonly pending: Pending;
  /** What the write whose turn it is has read. */
  readonly known: Known;
}

/** Answers a repeated read from memory, until one of its tables changes. */
interface Known {
  rows(read: Read, ask: () => Promise<unknown[]>): Promise<unknown[]>;
  /** A statement changes these tables. */
  change(tables: readonly string[]): void;
  /** The next write of the batch begins. Of what others have read, it uses only the row of the company whose lock is held. */
  turn(companyId: string | null): void;
  forget(): void;
}

interface Read {
  readonly sql: string;
  readonly tables: readonly string[];
  readonly values: readonly Value[];
}

function knownRows(): Known {
  const known = new Map<string, Read & { readonly rows: Promise<unknown[]> }>();
  const drop = (isOld: (read: Read) => boolean): void => {
    for (const [key, read] of known) if (isOld(read)) known.delete(key);
  };
  return {
    rows: (read, ask) =>
      known.getOrInsertComputed(JSON.stringify([read.sql, read.values]), () => ({ ...read, rows: ask() }))
        .rows,
    change: (changed) => drop(({ tables }) => tables.some((table) => changed.includes(table))),
    turn: (companyId) =>
      drop(({ tables, values }) => String(tables) !== "companies" || String(values) !== companyId),
    forget: () => known.clear(),
  };
}

export function linkOn(
  client: Pick<pg.PoolClient, "query">,
  release: (failure: unknown) => void,
  isLost: (error: unknown) => boolean,
): Link {
  let failure: unknown;
  let isOpen = false;
  const known = knownRows();
  const ask = async (statement: string | pg.QueryConfig): Promise<pg.QueryResult> => {
    try {
      return await client.query(statement);
    } catch (error) {
      throw (failure ??= error);
    }
  };
  const commit = async (): Promise<void> => {
    const { command } = await ask("commit");
    // PostgreSQL answers the commit of a transaction that has failed with a rollback, and without an error.
    if (failure !== undefined || command !== "COMMIT") throw failure ?? new Error("the commit was refused");
    isOpen = false;
  };
  return {
    ask,
    send: (statement) => void ask(statement).catch(() => undefined),
    begin: (statement) => {
      isOpen = true;
      void ask(statement).catch(() => undefined);
    },
    rollBackTo: async (savepoint) => {
      known.forget();
      await client.query(`rollback to savepoint ${savepoint}`);
      failure = undefined;
    },
    commit,
    close: async (cause) => {
      if (!isOpen || isLost(cause)) return release(cause);
      await client.query("rollback").then(
        () => release(undefined),
        (error: unknown) => release(error),
      );
    },
    pending: [],
    known,
  };
}
