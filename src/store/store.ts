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
  /** `leases` uses a separate connection, which nothing else holds up. */
  write<T>(work: (tx: Tx) => Promise<T>, on?: "leases"): Promise<T>;
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /**
   * Calls the listener after each commit of this process, and on PostgreSQL after commits of other processes too. A call
   * may be missing or come without a change: the listener looks for new events, and also looks from time to time.
   */
  onCommit(listener: () => void): () => void;
  /** Frees memory that only makes the next call faster. */
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
   * Announces that the same read will follow soon. In a write, PostgreSQL then gets it together with the next statement that is
   * waited for. Before lock(), it gets it together with the statements of the earlier writes in the batch. This is only a hint
   * and changes no answer.
   */
  ahead<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): void;
}

export interface Tx extends ReadTx {
  /**
   * Runs a statement that changes rows. PostgreSQL may answer later: if the statement fails, a later one or the transaction
   * fails too.
   */
  run<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<void>;
  /** Runs a statement and returns the number of rows it changed. */
  count<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<number>;
  /**
   * Waits for the write's turn in its batch: until then, earlier writes may change rows (batches.ts). If a write reads early
   * and another one changes those rows, it runs again. So rows that many writes change are read after this. On SQLite this does
   * nothing.
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

/** An event without its place in a chain yet. */
export type NewEventRow = Omit<NewRow<"events">, "seq" | "rows" | "previous" | "hash">;

/** The content of knowledge versions, identified by the file's id and the SHA-256 of the content. */
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
