import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type Blobs } from "./store.ts";
import type { ReadTx, Store, Tx } from "./store.ts";
import { missingMigrations } from "./migrations.ts";
import { type Check, checkRow } from "./checks.ts";
import type { Value } from "./columns.ts";
import { blobRow, fill, type PreparedQuery, type Query } from "./query.ts";
import { BlobFiles, intact, privateFile } from "./blob-files.ts";
import { refusedIfFull } from "./disk.ts";
import { macOf, type PlainTx, seal, sealing } from "./chain.ts";

/**
 * SQLite inside this process. One connection writes and a second one reads.
 *
 * Group commit: a durable commit needs an fsync, which takes far longer than a small write. Waiting writes therefore share
 * one transaction. A write is in one of these states:
 *
 *   waiting ──drain takes it──▶ running in its savepoint ──▶ released or rolled back ──group commits──▶ settled
 *
 * - The writes of a group run one after another, each in a savepoint. Each sees the changes of those before it.
 * - A write that throws is rolled back to its savepoint. The other writes of the group stay.
 * - No caller gets an answer before the commit.
 * - If a group fails, each of its writes runs again, alone. A commit can fail, and a full disk can make SQLite roll back the whole
 *   transaction.
 *
 * Two alternatives were rejected. One commit for each write pays one fsync for each. `synchronous=NORMAL` can lose
 * acknowledged writes when the machine loses power.
 *
 * The reader uses a WAL snapshot, so it sees committed states only and never blocks the writer.
 *
 * Content is written to the table `blobs` in the same transaction as its version. blob-files.ts later moves it to a file.
 */
export interface SqliteOptions {
  /** A file, or `:memory:` for tests that don't need durability. */
  readonly path: string;
  /** The folder to which content is moved. Without it (in tests), content stays in the database. */
  readonly blobFolder?: string;
  readonly clock: () => number;
  /** Seals the ledger (chain.ts). Without it (in tests), hashes are not secret. */
  readonly key?: string;
  /** The version of this program. Data that needs a newer one is refused (migrations.ts). */
  readonly version?: string;
}

type Row = Record<string, Value>;
type Job = { isRead: boolean; run: () => Promise<void>; settle: (committed: unknown) => void };
const groupLimit = 128;
const mappedBytes = 2 ** 30;

export function openSqlite(options: SqliteOptions): Store {
  const inMemory = options.path === ":memory:";
  const db = open(options.path, false);
  migrate(db, options.clock, options.version);
  // An in-memory database belongs to one connection, so reads then queue with the writes.
  const reader = inMemory ? undefined : open(options.path, true);
  const writing = new Connection(db);
  const mac = macOf(options.key ?? "");
  const listeners = new Set<() => void>();
  const files = options.blobFolder === undefined ? undefined : new BlobFiles(options.blobFolder);
  const waiting: Job[] = [];
  let draining: Promise<void> | undefined;
  let readChain: Promise<unknown> = Promise.resolve();
  let closed = false;

  const blobsOn = (connection: Connection): Blobs => ({
    read: async (fileId, hash) => {
      const row = connection.all(blobRow.on("sqlite"), { file_id: fileId, hash })[0];
      return intact(fileId, hash, row === undefined ? files?.read(fileId, hash) : row["content"]);
    },
  });

  const txOn = (connection: Connection): PlainTx => ({
    dialect: "sqlite",
    now: options.clock(),
    blobs: blobsOn(connection),
    mac,
    all: async (q, params) => typed(q, connection.all(q.on("sqlite"), params)),
    first: async (q, params) => typed(q, connection.first(q.on("sqlite"), params))[0],
    ahead: () => undefined,
    pending: [],
    turn: () => undefined,
    run: async (q, params) => void connection.run(q.on("sqlite"), params),
    count: async (q, params) => connection.run(q.on("sqlite"), params),
    changed: async (q, params) => connection.values(q.on("sqlite"), params),
    lock: async () => undefined,
    attempt: (work, isOver) => inSavepoint(connection, "part", work, isOver),
  });

  /** Adds work to the next group. It is settled when the group is committed. */
  function enqueue<T>(isRead: boolean, work: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new Error("the store is closed"));
    return new Promise<T>((resolve, reject) => {
      let outcome: () => void;
      waiting.push({
        isRead,
        run: async () => {
          try {
            const result = await work();
            outcome = () => resolve(result);
          } catch (error) {
            outcome = () => reject(refusedIfFull(error));
            // The savepoint is gone, and so are the writes before this one.
            if (!db.isTransaction) throw error;
          }
        },
        settle: (failure) => (failure === undefined ? outcome() : reject(refusedIfFull(failure))),
      });
      draining ??= drain();
    });
  }

  function write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return enqueue(false, async () => {
      const tx = txOn(writing);
      return inSavepoint(writing, "one", async () => {
        const answer = await sealing(tx, work);
        await seal(tx);
        return answer;
      });
    });
  }

  /** Runs the waiting writes in groups, with one commit for each group, until none is waiting. */
  async function drain(): Promise<void> {
    await Promise.resolve();
    while (waiting.length > 0) {
      const group: Job[] = [];
      const next = (): Job | undefined => {
        const job = group.length < groupLimit ? waiting.shift() : undefined;
        if (job !== undefined) group.push(job);
        return job;
      };
      const failure = await commitTogether(next);
      // Otherwise a transaction that can't even begin would be tried again without end.
      if (group.length === 0) for (const job of waiting.splice(0)) job.settle(failure);
      else if (failure === undefined || group.length === 1) settle(group, failure);
      else for (const job of group) settle([job], await commitTogether(once(job)));
      files?.settleSoon(db);
      // Give sockets a turn. The requests that arrived during this commit then form the next group.
      await new Promise(setImmediate);
    }
    draining = undefined;
  }

  /** Runs writes in one transaction. If it fails, returns the error, and nothing of the transaction remains. */
  async function commitTogether(next: () => Job | undefined): Promise<unknown> {
    try {
      writing.exec("begin immediate");
      // Writes that arrive while the group runs join it, up to the limit. A burst then needs one commit.
      for (let job = next(); job !== undefined; job = next()) await job.run();
      writing.exec("commit");
      return undefined;
    } catch (error) {
      if (db.isTransaction) writing.exec("rollback");
      return error ?? new Error("commit failed");
    }
  }

  function settle(group: readonly Job[], failure: unknown): void {
    for (const job of group) job.settle(failure);
    if (failure === undefined && !group.every(({ isRead }) => isRead))
      for (const listener of listeners) listener();
  }

  function read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new Error("the store is closed"));
    // A database in memory has one connection.
    if (reader === undefined) return enqueue(true, () => work(txOn(writing)));
    const turn = readChain.then(async () => {
      reading.exec("begin");
      try {
        return await work(txOn(reading));
      } finally {
        reading.exec("commit");
      }
    });
    readChain = turn.catch(() => undefined);
    return turn;
  }
  const reading = reader === undefined ? writing : new Connection(reader);

  // An earlier process may have left content in the table.
  files?.settleSoon(db);

  return {
    dialect: "sqlite",
    write,
    read,
    onCommit: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    rest: () => {
      if (closed) return;
      writing.rest();
      if (reader !== undefined) reading.rest();
    },
    close: async () => {
      closed = true;
      await draining;
      await readChain;
      await files?.settleAll(db);
      reader?.close();
      db.close();
    },
  };
}

/**
 * A connection and its prepared statements. The driver returns rows as arrays and this class turns them into objects,
 * which takes half as long as having the driver build the objects.
 */
class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, Statement>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get isInTransaction(): boolean {
    return this.#db.isTransaction;
  }

  exec(sql: string): void {
    this.#statement(sql).prepared.run();
  }

  /** Frees its statements, its cached pages, and the mapped pages of the file. */
  rest(): void {
    if (this.#db.isTransaction) return;
    this.#statements.clear();
    this.#db.exec(`pragma shrink_memory; pragma mmap_size = 0; pragma mmap_size = ${mappedBytes}`);
  }

  all({ sql, slots, checks }: PreparedQuery, params: Row): Row[] {
    const { prepared, columns } = this.#statement(sql);
    return prepared.all(...fill(slots, params)).map((values) => rowOf(columns, values, checks));
  }

  /** Returns a list of one row or none, which `typed` can convert like any other list. */
  first({ sql, slots, checks }: PreparedQuery, params: Row): Row[] {
    const { prepared, columns } = this.#statement(sql);
    const values = prepared.get(...fill(slots, params));
    return values === undefined ? [] : [rowOf(columns, values, checks)];
  }

  values({ sql, slots }: PreparedQuery, params: Row): Value[][] {
    return this.#statement(sql).prepared.all(...fill(slots, params)) as unknown as Value[][];
  }

  run({ sql, slots }: PreparedQuery, params: Row): number {
    return Number(this.#statement(sql).prepared.run(...fill(slots, params)).changes);
  }

  #statement(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      const prepared = this.#db.prepare(sql);
      prepared.setReturnArrays(true);
      statement = { prepared, columns: prepared.columns().map(({ name }) => name) };
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

const once = <T>(only: T): (() => T | undefined) => {
  const left = [only];
  return () => left.shift();
};

/** "one" is a write in its group, "part" a `Tx.attempt` inside it. SQLite resolves a repeated name to the innermost. */
async function inSavepoint<T>(
  connection: Connection,
  name: "one" | "part",
  work: () => Promise<T>,
  isOver = () => false,
): Promise<T> {
  connection.exec(`savepoint ${name}`);
  try {
    const result = await work();
    if (isOver()) throw new Error("the write has ended");
    connection.exec(`release ${name}`);
    return result;
  } catch (error) {
    // After a full disk there may be no transaction left to roll back.
    if (connection.isInTransaction && !isOver()) {
      connection.exec(`rollback to ${name}`);
      connection.exec(`release ${name}`);
    }
    throw error;
  }
}

interface Statement {
  readonly prepared: StatementSync;
  readonly columns: readonly string[];
}

function rowOf(columns: readonly string[], values: unknown, checks: readonly Check[]): Row {
  const list = values as Value[];
  const row: Row = {};
  for (let index = 0; index < columns.length; index++) row[columns[index] ?? ""] = list[index] ?? null;
  checkRow(row, checks);
  return row;
}

function open(path: string, readOnly: boolean): DatabaseSync {
  if (!readOnly && path !== ":memory:") privateFile(path);
  const db = new DatabaseSync(path, { readOnly, timeout: 5000, enableForeignKeyConstraints: false });
  if (!readOnly)
    db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000;");
  // Reads come from the mapped file. A larger cache makes no write faster, and malloc would not return it.
  db.exec(`pragma cache_size = -4096; pragma mmap_size = ${mappedBytes}; pragma temp_store = memory;`);
  return db;
}

function migrate(db: DatabaseSync, clock: () => number, version: string | undefined): void {
  db.exec("create table if not exists migrations (name text primary key, applied_at bigint not null)");
  const applied = db.prepare("select name from migrations").all();
  const nodes = version === undefined ? undefined : { own: version, others: [] };
  for (const { name, statements } of missingMigrations(
    applied.map((row) => String(row["name"])),
    nodes,
  )) {
    db.exec("begin immediate");
    try {
      for (const statement of statements("sqlite")) db.exec(statement);
      db.prepare("insert into migrations (name, applied_at) values (?, ?)").run(name, clock());
      db.exec("commit");
    } catch (error) {
      db.exec("rollback");
      throw error;
    }
  }
}

/** Gives the driver's rows the type that the query declares. Only this function does that. */
function typed<P, R>(_query: Query<P, R>, rows: Row[]): R[] {
  return rows as unknown as R[];
}
