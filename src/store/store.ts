import type { Value } from "./columns.ts";
import type { Query } from "./query.ts";

/**
 * What the rest of the program sees of a database. Two implementations: sqlite.ts and postgres.ts.
 *
 * write() runs `work` in a transaction and resolves only when it is durable; when `work` throws, nothing of it remains.
 * It may be run again after a serialization failure, so it must have no effect outside the transaction.
 * read() sees one committed state and cannot write. Neither may wait for anything but its own queries.
 */
export interface Store {
  readonly dialect: "sqlite" | "postgres";
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /** Called after each commit of this process, and on PostgreSQL of any other: look for new events. A hint, never truth. */
  onCommit(listener: () => void): () => void;
  close(): Promise<void>;
}

export interface ReadTx {
  readonly dialect: "sqlite" | "postgres";
  /** The time of the transaction by the database's clock, in milliseconds. */
  readonly now: number;
  readonly blobs: Blobs;
  all<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<R[]>;
  first<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<R | undefined>;
}

export interface Tx extends ReadTx {
  /** Runs a statement for its effect; answers how many rows it changed. */
  run<P extends Readonly<Record<string, Value>>, R>(query: Query<P, R>, params: P): Promise<number>;
  /**
   * Until the end of the transaction nobody else holds this lock. The writes of a company happen one after another
   * (SQLite: all writes do), so a rule checked in a transaction still holds when it commits.
   */
  lock(key: string): Promise<void>;
  /** A part that may fail by itself: when `work` throws, what it wrote is undone and the transaction goes on. */
  attempt<T>(work: () => Promise<T>): Promise<T>;
}

/** Content of knowledge versions, addressed by file and SHA-256. */
export interface Blobs {
  read(fileId: string, hash: string): Promise<Uint8Array>;
}

/** For code that takes either: through this, what only reads cannot write by mistake. */
export function readOnly(tx: ReadTx): Tx {
  const refuse = (): Promise<never> =>
    Promise.reject(new Error("an operation that only reads tried to write"));
  return { ...tx, run: refuse, lock: refuse, attempt: refuse };
}
