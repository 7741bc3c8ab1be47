import { createHash } from "node:crypto";
import pg from "pg";
import type { Mac, Store } from "./store.ts";
import { missingMigrations } from "./migrations.ts";
import { checkRow } from "./checks.ts";
import type { Value } from "./columns.ts";
import { intact } from "./blob-files.ts";
import { refusedIfFull } from "./disk.ts";
import { macOf, type PlainTx, sealing } from "./chain.ts";
import { blobRow, fill, type PreparedQuery, type Query } from "./query.ts";

/**
 * PostgreSQL, shared by several nodes.
 *
 * Writes use READ COMMITTED and one advisory lock for each company. An operation takes the lock before it checks a rule.
 * Each of its later statements sees everything that earlier holders of the lock committed, and no other writer can
 * change it before the commit. SERIALIZABLE was rejected: the writes of a company extend the same hash chain of
 * events, so concurrent ones would fail each other.
 *
 * Reads use REPEATABLE READ, so all queries of one read see the same state.
 *
 * A write that fails with one of the errors below was rolled back completely. The store runs it again, up to 10 times.
 */
export interface PostgresOptions {
  readonly url: string;
  readonly connections?: number;
  /** Seals the ledger (chain.ts). Every node needs the same key. */
  readonly key?: string;
}

/** SQLSTATE codes of rollbacks that a concurrent transaction caused. The same transaction may succeed next time. */
const retryable: Readonly<Record<string, string>> = {
  "40001": "serialization failure",
  "40P01": "deadlock detected",
  "55P03": "lock not available",
};
const attempts = 10;
const channel = "agency_events";

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections ?? 10,
    types: { getTypeParser },
  });
  // Without these listeners, a broken connection would end the process. The pool replaces a connection that breaks while
  // idle. A connection that breaks while in use fails its query, and `attempt` does not return it to the pool.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  await migrate(pool);
  const mac = macOf(options.key ?? "");

  const listeners = new Set<() => void>();
  const hear = (): void => {
    for (const listener of listeners) listener();
  };
  const ear = await listen(options.url, hear);

  async function attempt<T>(begin: string, end: string, work: (tx: PlainTx) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    let broken: Error | undefined;
    try {
      const results: unknown = await client.query(`${begin}; ${clock}`);
      const result = await work(txOn(client, clockIn(results), mac));
      await client.query(end);
      return result;
    } catch (error) {
      try {
        await client.query("rollback");
      } catch (failure) {
        broken = failure instanceof Error ? failure : new Error(String(failure));
      }
      throw error;
    } finally {
      client.release(broken);
    }
  }

  return {
    dialect: "postgres",
    write: async (work) => {
      for (let tried = 1; ; tried++) {
        try {
          const result = await attempt(
            "begin isolation level read committed",
            `notify ${channel}; commit`,
            (tx) => sealing(tx, work),
          );
          hear();
          return result;
        } catch (error) {
          if (tried >= attempts || !isRetryable(error)) throw refusedIfFull(error);
        }
      }
    },
    read: (work) => attempt("begin isolation level repeatable read read only", "commit", work),
    onCommit: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      await ear.close();
      await pool.end();
    },
  };
}

const clock = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now";

function clockIn(results: unknown): number {
  const last: unknown = Array.isArray(results) ? results.at(-1) : results;
  if (typeof last === "object" && last !== null && "rows" in last && Array.isArray(last.rows)) {
    const row: unknown = last.rows[0];
    if (typeof row === "object" && row !== null && "now" in row && typeof row.now === "number")
      return row.now;
  }
  throw new TypeError("the database did not tell the time");
}

function txOn(client: pg.PoolClient, now: number, mac: Mac): PlainTx {
  const asked = ({ sql, slots }: PreparedQuery, params: Readonly<Record<string, Value>>) => ({
    name: nameOf(sql),
    text: sql,
    values: fill(slots, params),
  });
  const ask = async (
    prepared: PreparedQuery,
    params: Readonly<Record<string, Value>>,
  ): Promise<pg.QueryResult> => {
    const { checks } = prepared;
    const result = await client.query(asked(prepared, params));
    if (checks.length > 0) for (const row of result.rows) checkRow(row, checks);
    return result;
  };
  return {
    dialect: "postgres",
    now,
    mac,
    blobs: {
      read: async (fileId, hash) => {
        const { rows } = await ask(blobRow.on("postgres"), { file_id: fileId, hash });
        return intact(fileId, hash, rows[0]?.content);
      },
    },
    all: async (q, params) => typed(q, (await ask(q.on("postgres"), params)).rows),
    first: async (q, params) => typed(q, (await ask(q.on("postgres"), params)).rows)[0],
    run: async (q, params) => (await ask(q.on("postgres"), params)).rowCount ?? 0,
    changed: async (q, params) =>
      (await client.query<Value[]>({ ...asked(q.on("postgres"), params), rowMode: "array" })).rows,
    lock: async (key) => {
      await client.query({
        name: "lock",
        text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
        values: [key],
      });
    },
    attempt: async (work) => {
      await client.query("savepoint part");
      try {
        const result = await work();
        await client.query("release savepoint part");
        return result;
      } catch (error) {
        await client.query("rollback to savepoint part; release savepoint part");
        throw error;
      }
    },
  };
}

/** PostgreSQL parses a named statement once for each connection. The name is a hash of the text, so it identifies it. */
function nameOf(sql: string): string {
  return createHash("sha1").update(sql).digest("base64url");
}

async function migrate(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    // Nodes that start at the same time migrate one after another. The number only has to be the same on all of them.
    await client.query("begin; select pg_advisory_xact_lock(42004600)");
    await client.query(
      "create table if not exists migrations (name text primary key, applied_at bigint not null)",
    );
    const { rows } = await client.query<{ name: string }>("select name from migrations");
    for (const { name, statements } of missingMigrations(rows.map((row) => row.name))) {
      for (const statement of statements("postgres")) await client.query(statement);
      await client.query(
        "insert into migrations (name, applied_at) values ($1, (extract(epoch from clock_timestamp()) * 1000)::bigint)",
        [name],
      );
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

/**
 * Keeps one connection that listens for the commits of other nodes, and reconnects when it breaks. Notifications sent
 * in between are lost, which is harmless: followers of events also look from time to time.
 */
async function listen(url: string, hear: () => void): Promise<{ close: () => Promise<void> }> {
  let closed = false;
  let client = new pg.Client({ connectionString: url });
  const start = async (): Promise<void> => {
    client.on("notification", hear);
    client.on("error", () => {
      if (!closed) setTimeout(restart, 1000).unref();
    });
    await client.connect();
    await client.query(`listen ${channel}`);
    hear();
  };
  const restart = (): void => {
    if (closed) return;
    client.removeAllListeners();
    client.on("error", () => undefined);
    void client.end().catch(() => undefined);
    client = new pg.Client({ connectionString: url });
    start().catch(() => setTimeout(restart, 1000).unref());
  };
  await start();
  return {
    close: async () => {
      closed = true;
      await client.end();
    },
  };
}

function isRetryable(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && String(error.code) in retryable;
}

/** Reads bigint (type 20) as a number. These columns hold milliseconds, sizes and sequence numbers, far below 2^53. */
function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  if (oid === 20) return Number;
  return format === "binary"
    ? (pg.types.getTypeParser(oid, "binary") as (value: string) => unknown)
    : pg.types.getTypeParser(oid, "text");
}

function typed<P, R>(_query: Query<P, R>, rows: unknown[]): R[] {
  return rows as R[];
}
