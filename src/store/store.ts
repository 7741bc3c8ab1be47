import type { Value } from "./columns.ts";
import type { Query } from "./query.ts";
import type { NewRow } from "./schema.ts";

/**
 * The database as the rest of the program sees it. sqlite.ts and postgres.ts implement it.
 *
 * write() runs `work` in a transaction and resolves once the transaction is durable. If `work` throws, the transaction is
 * rolled back. The store may run `work` again after a serialization failure, when its batch failed, or when another write changed what
 * it had read. So `work` must have no other effects.
 *
 * read() shows `work` one committed state. It can't write.
 *
 * In both, `work` may await only its own queries. On SQLite it holds up every other writer (or reader) until it returns.
 */
export interface Store {
  readonly dialect: "sqlite" | "postgres";
  /** `leases`: on its own connection, which nothing else holds up. */
  write<T>(work: (tx: Tx) => Promise<T>, on?: "leases"): Promise<T>;
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /**
   * Calls the listener after each commit of this process, and on PostgreSQL after commits of other processes too. A call
   * may be missing or come without a change: the listener looks for new events, and also looks from time to time.
   */
  onCommit(listener: () => void): () => void;
  /** Gives up the memory that only makes the next call faster. */
  rest(): void;
  close(): Promise<void>;
}

export interface ReadTx {
  readonly dialect: "sqlite" | "postgres";
  /** The time of the transaction by the database's clock, in milliseconds. */
  readonly now: number;
  readonly blobs: Blobs;
  /** Makes and checks the hashes of the ledger. */
  readonly mac: Mac;
  all<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<R[]>;
  first<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<R | undefined>;
  /**
   * The same read will follow soon. In a write PostgreSQL then gets it together with the next statement that is waited for. Before
   * lock(): together with the statements of the writes before it in its batch. It is only a hint: it changes no answer.
   */
  ahead<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): void;
}

export interface Tx extends ReadTx {
  /**
   * Runs a statement that changes rows. PostgreSQL may answer later: if the statement fails, so does a later one, or the
   * transaction.
   */
  run<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<void>;
  /** Runs a statement and returns the number of rows it changed. */
  count<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<number>;
  /**
   * Waits until no other write of its batch changes anything before it (batches.ts). What it reads early and another changes then makes it
   * run again, so what many writes change is read after this. On SQLite this does nothing.
   */
  turn(): Promise<void> | undefined;
  /** Records an event. It joins its company's chain when the transaction ends, with the rows that changed (chain.ts). */
  append(event: NewEventRow): void;
  /**
   * Takes an exclusive lock and keeps it until the transaction ends. Every operation takes the lock of its company before
   * it checks a rule, so no other write can break the rule before the commit. On SQLite this does nothing, because
   * SQLite runs all writes one after another.
   */
  lock(key: string): Promise<void>;
  /**
   * Runs `work` in a savepoint. If it throws, its writes are undone and the error is passed on. The caller may catch the
   * error and continue the transaction.
   */
  attempt<T>(work: () => Promise<T>): Promise<T>;
}

/** A keyed hash. */
export type Mac = (text: string) => string;

/** An event before it has its place in a chain. */
export type NewEventRow = Omit<NewRow<"events">, "seq" | "rows" | "previous" | "hash">;

/** The content of knowledge versions. A file's id and the SHA-256 of the content identify it. */
export interface Blobs {
  read(fileId: string, hash: string): Promise<Uint8Array>;
}

/** Makes a read transaction fit code that expects a `Tx`. Every attempt to write through it fails. */
export function readOnly(tx: ReadTx): Tx {
  const append = (): never => {
    throw new Error("an operation that only reads tried to write");
  };
  const refuse = async (): Promise<never> => append();
  return { ...tx, append, run: refuse, count: refuse, turn: () => undefined, lock: refuse, attempt: refuse };
}
