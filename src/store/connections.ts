import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Refusal } from "../contract/refusal.ts";
import { refusedIfFull } from "./disk.ts";
import { databaseAway } from "./texts.ts";

/** The connections to PostgreSQL, and the meaning of their errors. */

/**
 * No transaction may hold up others for long. A suspended node (SIGSTOP, a lost network) keeps the locks of its transaction,
 * and its other transactions would get them next. The server ends the first transaction after `idle`, and refuses the lock to
 * the others before that. If a query is not answered in time, the client gives it up (`answer`): some networks drop everything
 * silently.
 */
export const timeouts = {
  writes: { lock: 3000, idle: 5000, statement: 10_000, answer: 12_000 },
  reads: { lock: 3000, idle: 15_000, statement: 15_000, answer: 16_000 },
  leases: { lock: 2000, idle: 2000, statement: 3000, answer: 4000 },
};
/**
 * How long a start and a copy wait for an answer. A dead path does not end by itself for many minutes, and a person who waits would
 * read nothing. `short` is for reads and for waits for a lock (migrations, lockTimeout). A statement of a copy works on a page of
 * rows, but a busy server may take its time.
 */
export const answersIn = { short: 6000, copy: 600_000 };
const closeTimeout = 2000;
export const alive = {
  connectionTimeoutMillis: 5000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 2000,
};

/**
 * Limits how long a suspended process can keep the locks of a transaction. It is set by a statement, not as a connection
 * parameter: a pool in between would refuse the connection with an unclear error.
 */
export async function guard(client: pg.Client, idle = 10_000): Promise<void> {
  await client.query(`set idle_in_transaction_session_timeout = ${idle}`);
}

/** Ends connections cleanly. A silent server is not waited for: the sockets are closed, and their queries fail. */
export function keepSockets() {
  const open = new Set<Socket>();
  return {
    /** Called by the driver for each new connection. */
    stream: (): Socket => {
      const socket = new Socket();
      open.add(socket);
      return socket.once("close", () => open.delete(socket));
    },
    end: async (goodbye: Promise<unknown>): Promise<void> => {
      const inTime = new AbortController();
      const late = sleep(closeTimeout, undefined, { ref: false, signal: inTime.signal });
      await Promise.race([goodbye, late]).catch(() => undefined);
      inTime.abort();
      for (const socket of open) socket.destroy();
    },
  };
}

/**
 * A prepared statement keeps its plan. If its tables were small when it was planned, it would read all their rows, until the
 * server checks them again after a minute of load. So a plan uses an index if there is one. Plans are not compiled: that takes
 * longer than any of these statements, and the server would decide by costs that this setting makes meaningless.
 */
const plans = "-c enable_seqscan=off -c jit=off";

/** `isShared` means that a program such as PgBouncer gives each transaction another connection (pooling.ts). */
export interface Address {
  readonly url: string;
  readonly isShared: boolean;
}

export interface KeptPool {
  /** Waits for a free connection, however long that takes. */
  connect(): Promise<pg.PoolClient>;
  release(client: pg.PoolClient, broken: Error | undefined): void;
  /** Uses new connections from now on. */
  renew(): void;
  /** Running queries have 2 seconds. Then they fail, and so does every later query. */
  end(): Promise<void>;
}

export function keepPool({ url, isShared }: Address, max: number, of: (typeof timeouts)["writes"]): KeptPool {
  const sockets = keepSockets();
  const open = (): pg.Pool => {
    const pool = new pg.Pool({
      connectionString: url,
      max,
      types: { getTypeParser },
      stream: sockets.stream,
      ...alive,
      ...(isShared
        ? {}
        : {
            lock_timeout: of.lock,
            idle_in_transaction_session_timeout: of.idle,
            statement_timeout: of.statement,
            options: plans,
          }),
    });
    // Without these listeners, a broken connection would end the process. The pool replaces a connection that breaks while
    // idle. A connection that breaks while in use fails its query, and `attempt` does not return it to the pool.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => client.on("error", () => undefined));
    return pool;
  };
  let pool = open();
  let renewed = performance.now();
  // pg.Pool would count the wait for a free connection as a failure to connect.
  let free = max;
  const waiting: (() => void)[] = [];
  const give = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  let ended: Promise<void> | undefined;
  return {
    connect: async () => {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      // On a very busy machine, the timer may fire before an answer is read that arrived long ago. So it has two tries.
      const connected = pool
        .connect()
        .catch((error: unknown) => (isTimeout(error) ? pool.connect() : Promise.reject(error)));
      return connected.catch((error: unknown) => {
        give();
        throw error;
      });
    },
    release: (client, broken) => {
      client.release(broken);
      give();
    },
    renew: () => {
      // All running queries fail together.
      if (performance.now() - renewed < 1000) return;
      renewed = performance.now();
      void pool.end().catch(() => undefined);
      if (ended === undefined) pool = open();
    },
    end: () => (ended ??= sockets.end(pool.end())),
  };
}

const isTimeout = (error: unknown): boolean => error instanceof Error && /timeout/.test(error.message);

/** Whether the connection to the database failed, or an answer did not arrive in time. */
export function isLost(error: unknown): boolean {
  if (typeof error !== "object" || error === null || error instanceof Refusal) return false;
  if ("code" in error && typeof error.code === "string")
    return /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|ENOTCONN|EPROTO|ECANCELED|EAI_|ERR_STREAM|ERR_SOCKET|ERR_SSL|ERR_TLS|08|57P0|25P03|53300)/.test(
      error.code,
    );
  return (
    error instanceof Error &&
    /^(?:Connection terminated|Query read timeout|timeout exceeded|Client (?:has|was)|timeout expired|Cannot use a pool after)/i.test(
      error.message,
    )
  );
}

/** A statement or a lock took too long, although the connection works. */
const tooSlow = new Set(["55P03", "57014"]);

export function asRefusal(error: unknown): unknown {
  const isSlow = error instanceof Error && "code" in error && tooSlow.has(String(error.code));
  return isSlow || isLost(error) ? databaseAway() : refusedIfFull(error);
}

/** SQLSTATE codes of rollbacks that a concurrent transaction caused. The same transaction may succeed next time. */
const retryable: Readonly<Record<string, string>> = {
  "40001": "serialization failure",
  "40P01": "deadlock detected",
  "55P03": "lock not available",
};

export function isRetryable(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return String(error.code) in retryable || (error instanceof Error && error.message.includes(headMoved));
}

/** The error of PostgreSQL if the head of a chain is not where a transaction has read it (chain.ts). */
export const headMoved = "the head of the ledger has moved";

/** Reads bigint (type 20) as a number. These columns hold milliseconds, sizes and sequence numbers, far below 2^53. */
export function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  if (oid === 20) return Number;
  return format === "binary"
    ? (pg.types.getTypeParser(oid, "binary") as (value: string) => unknown)
    : pg.types.getTypeParser(oid, "text");
}
