import pg from "pg";
import type { Mac, ReadTx, Store, Tx } from "./store.ts";
import { BatchFailed, createBatches, type Job } from "./batches.ts";
import { missingMigrations } from "./migrations.ts";
import type { Filled } from "./about.ts";
import { checkRow } from "./checks.ts";
import type { Value } from "./columns.ts";
import { intact } from "./blob-files.ts";
import { macOf, type Pending, type PlainTx, seal, sealing } from "./chain.ts";
import { asRefusal, connectTimeout, isLost, isRetryable, keepPool, timeouts } from "./connections.ts";
import { checkAddresses, limitsOf, refusePool } from "./pooling.ts";
import { type Link, linkOn } from "./link.ts";
import { listen } from "./listening.ts";
import { blobRow, fill, type Holds, type PreparedQuery, type Query, selection } from "./query.ts";
import { sealedColumns } from "./schema.ts";
import { inMap } from "../contract/in-map.ts";
import { type StatementAnswer, type Statement, type Waves, wavesOn } from "./waves.ts";

/**
 * PostgreSQL, shared by several nodes.
 *
 * Writes use READ COMMITTED and one advisory lock for each company. An operation takes the lock before it checks a rule.
 * Each of its later statements sees everything that earlier holders of the lock committed, and no other writer can
 * change it before the commit. SERIALIZABLE was rejected: the writes of a company extend the same hash chain of
 * events, so concurrent ones would fail each other. Writes that wait for the same lock commit together (batches.ts).
 *
 * Reads use REPEATABLE READ, so all queries of one read see the same state.
 *
 * Writes, reads and leases have their own connections. Requests that wait for the lock of a company hold up neither reads nor
 * the renewal of leases.
 *
 * A write that fails because of a concurrent transaction was rolled back completely. The store runs it again, up to 10 times.
 */
export interface PostgresOptions {
  readonly url: string;
  /** The server itself, if `url` leads to a pool of connections (pooling.ts). */
  readonly directUrl?: string | undefined;
  readonly connections?: number;
  /** The version of this program. Data that needs a newer one is refused (migrations.ts). */
  readonly version?: string;
  /** Seals the ledger (chain.ts). Every node needs the same key. */
  readonly key?: string;
}

const attempts = 10;

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const most = options.connections ?? 10;
  const direct = { url: options.directUrl ?? options.url, isShared: false };
  const usual = { url: options.url, isShared: options.directUrl !== undefined };
  await checkAddresses(options);
  await migrate(direct.url, options.directUrl === undefined, options.version);
  const pools = {
    writes: keepPool(usual, most, timeouts.writes),
    reads: keepPool(usual, most, timeouts.reads),
    leases: keepPool(direct, 1, timeouts.leases),
  };
  const begin = (link: Link, statement: string, name: "writes" | "reads"): void => {
    link.begin(statement);
    if (usual.isShared) link.send(limitsOf(timeouts[name]));
  };
  const mac = macOf(options.key ?? "");
  const clock = keepClock();
  const listeners = new Set<() => void>();
  const hear = (): void => {
    for (const listener of listeners) listener();
  };
  const ear = await listen(direct.url, hear);

  /** A connection whose statements are sent without waiting. */
  async function connect(name: keyof typeof pools): Promise<Link> {
    const pool = pools[name];
    const client = await pool.connect();
    const release = (failure: unknown): void => {
      const broken = failure === undefined ? undefined : new Error("the connection failed");
      // One that is lost without a word is seldom alone. The others would each cost another wait.
      if (isLost(failure)) for (const other of Object.values(pools)) other.renew();
      pool.release(client, broken);
    };
    const { isShared } = name === "leases" ? direct : usual;
    const waves = inMap(spoken, client, () =>
      wavesOn(client, timeouts[name].answer, isShared ? 0 : undefined),
    );
    return linkOn(waves, release, isLost);
  }

  async function readClock(link: Link): Promise<number> {
    const from = performance.now();
    return clock.set(nowIn(await link.ask(clockQuery)), from);
  }

  async function look<T>(ask: (link: Link) => Promise<T>, on: keyof typeof pools = "reads"): Promise<T> {
    const link = await connect(on);
    try {
      const answer = await ask(link);
      void link.close(undefined);
      return answer;
    } catch (error) {
      void link.close(error);
      throw error;
    }
  }

  /** The database's time. It is asked for if the last answer is some seconds old. */
  async function now(): Promise<number> {
    if (clock.isFresh()) return clock.now();
    return look(readClock);
  }

  const batch = createBatches({
    open: async (key) => {
      const link = await connect("writes");
      try {
        begin(link, beginWrite, "writes");
        if (key !== null) link.send(lockOf(key));
        await readClock(link);
        return link;
      } catch (error) {
        void link.close(error);
        throw error;
      }
    },
    seal: (link) => seal(txOn(() => link, clock.now(), mac)),
    committed: () => {
      hear();
      ear.tell();
    },
  });

  async function tryWrite<T>(work: (tx: Tx) => Promise<T>, isAlone: boolean): Promise<T> {
    const time = await now();
    const answer = Promise.withResolvers<T>();
    const ended = Promise.withResolvers<boolean>();
    let settle: () => void = () => undefined;
    let link: Link | undefined;
    let joining: Promise<Link> | undefined;
    const join = (key: string | null): Promise<Link> =>
      (joining ??= new Promise<Link>((resolve, refuse) => {
        const job: Job = {
          isAlone,
          announce: (on, number) => {
            for (const asked of announced) announceOn(on, asked, number);
          },
          ended: ended.promise,
          refuse,
          enter: (given) => resolve((link = given)),
          settle: (failure) => (failure === undefined ? settle() : answer.reject(failure)),
        };
        batch(key, job);
      }));
    const early: Pending = [];
    const announced: Asking[] = [];
    const lock = async (key: string): Promise<void> => {
      if (joining === undefined) await join(key);
      else (await joining).send(lockOf(key));
    };
    const plain = txOn(() => link, time, mac, {
      join,
      lock,
      early,
      announced,
      look: (ask) => (joining === undefined ? look(ask) : joining.then(ask)),
    });
    const end = (isGood: boolean, settled: () => void): void => {
      settle = settled;
      ended.resolve(isGood);
      if (link === undefined) settled();
    };
    sealing(plain, work)
      .then(async (result) => {
        // It recorded something, and took no lock.
        if (early.length > 0) (await join(null)).pending.push(...early);
        await joining;
        return result;
      })
      .then(
        (result) => end(true, () => answer.resolve(result)),
        (error: unknown) => end(false, () => answer.reject(error)),
      );
    return answer.promise;
  }

  return {
    dialect: "postgres",
    write: async (work, on) => {
      let isAlone = false;
      for (let tried = 1; ; tried++) {
        try {
          if (on === undefined) return await tryWrite(work, isAlone);
          // No follower of events looks at leases.
          return await look(async (link) => {
            link.begin(beginWrite);
            const tx = txOn(() => link, await readClock(link), mac);
            const result = await sealing(tx, work);
            await seal(tx);
            await link.commit();
            return result;
          }, on);
        } catch (error) {
          const isOthers = error instanceof BatchFailed;
          if (tried >= attempts || !(isOthers || isRetryable(error))) throw asRefusal(error);
          isAlone ||= isOthers;
        }
      }
    },
    read: async (work) => {
      try {
        const time = await now();
        return await look(async (link) => {
          begin(link, beginRead, "reads");
          // Its end is not waited for.
          return work(readsOn(time, mac, (asked) => rowsOf(link, asked)));
        });
      } catch (error) {
        throw asRefusal(error);
      }
    },
    onCommit: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      await ear.close();
      await Promise.all(Object.values(pools).map((pool) => pool.end()));
    },
  };
}

const spoken = new WeakMap<pg.PoolClient, Waves>();
const beginWrite = "begin isolation level read committed";
const beginRead = "begin isolation level repeatable read read only";
const clockQuery: Statement = {
  text: "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
};
const lockOf = (key: string): Statement => ({
  text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
  values: [key],
});

/** The database's time: its last answer, and the time that has passed here since. It never runs backwards. */
function keepClock() {
  let told = 0;
  let at = -Infinity;
  let last = 0;
  const now = (): number => (last = Math.max(last, Math.round(told + performance.now() - at)));
  return {
    now,
    isFresh: () => performance.now() - at < 5000,
    /** `from`: when it was asked. */
    set: (time: number, from: number): number => {
      [told, at] = [time, from];
      return now();
    },
  };
}

function nowIn({ rows: [row] }: StatementAnswer): number {
  if (typeof row === "object" && row !== null && "now" in row && typeof row.now === "number") return row.now;
  throw new TypeError("the database did not tell the time");
}

/** A query with its parameters, on the way to PostgreSQL. */
interface Asking extends Filled {
  readonly prepared: PreparedQuery;
}

function asking(prepared: PreparedQuery, params: Readonly<Record<string, Value>>): Asking {
  const { tables, about, slots } = prepared;
  return { prepared, tables, about, values: fill(slots, params) };
}

async function rowsOf(link: Link, asked: Asking): Promise<unknown[]> {
  const { checks, sql } = asked.prepared;
  link.reach(asked);
  const { rows } = await link.ask({ text: sql, values: asked.values });
  if (checks.length > 0) for (const row of rows) checkRow(Object(row), checks);
  return rows;
}

/**
 * The same, from memory if the write has read it before. Credentials and sessions are read for each write, once it waits for its turn,
 * and the ledger and content each time.
 */
async function knownOf(link: Link, asked: Asking): Promise<unknown[]> {
  const { prepared } = asked;
  if (prepared.changes) link.known.change(asked);
  if (!isAnnounced(prepared)) return rowsOf(link, asked);
  const rows = await link.known.rows(readOf(asked), () => rowsOf(link, asked), isKept(prepared));
  return rows.map((row) => ({ ...Object(row) }));
}

function announceOn(link: Link, asked: Asking, number: number): void {
  link.known.announce(readOf(asked), () => rowsOf(link, asked), isKept(asked.prepared), number);
}

const readOf = (asked: Asking) => {
  const { sql, sees = {} } = asked.prepared;
  return { ...asked, sql, sees };
};

const isKept = ({ tables, changes }: PreparedQuery): boolean =>
  !changes && tables.length > 0 && tables.every((table) => kept.has(table));
const isAnnounced = ({ tables, changes }: PreparedQuery): boolean =>
  !changes && tables.length > 0 && tables.every((table) => kept.has(table) || callers.has(table));
const callers = new Set(["credentials", "sessions"]);
const kept = new Set([
  "agents",
  "approval_comments",
  "approvals",
  "companies",
  "deliverables",
  "dependencies",
  "edges",
  "enclosures",
  "files",
  "grants",
  "messages",
  "outcomes",
  "people",
  "versions",
]);

function changing(link: Link, asked: Asking): Statement {
  link.known.change(asked);
  link.reach(asked);
  return { text: asked.prepared.sql, values: asked.values };
}

function runOn(link: Link, asked: Asking): void {
  const { holds } = asked.prepared;
  if (holds === undefined) return link.send(changing(link, asked));
  const into = inMap(holding, holds, () => heldIn(holds));
  link.known.change({ ...into, values: asked.values });
  link.hold(into, asked.values);
}

const holding = new WeakMap<Holds, Parameters<Link["hold"]>[0]>();

function heldIn({ table, about, several }: Holds): Parameters<Link["hold"]>[0] {
  return {
    tables: [table],
    about,
    statement: (rows) => {
      const { sql, values } = several(rows);
      return { text: sql, values };
    },
  };
}

/** A statement that changes one row, found by its id, returns all of it. So the row need not be read again. */
function learn(link: Link, { prepared, about, values }: Asking, changed: Promise<Value[][]>): void {
  const { table, isOfOne } = prepared.seals ?? {};
  const place = about?.get("id");
  const read = table === undefined ? undefined : rowsById.get(table)?.on("postgres");
  if (!isOfOne || table === undefined || place === undefined || read === undefined) return;
  const names = sealedColumns(table);
  const found = changed.then((rows) =>
    rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at] ?? null]))),
  );
  link.known.learn(readOf(asking(read, { id: values[place] ?? null })), found);
}

const rowsById = new Map<string, Query<never, unknown>>([
  ["agents", selection("agents", ["id"])],
  ["approvals", selection("approvals", ["id"])],
  ["files", selection("files", ["id"])],
  ["messages", selection("messages", ["id"])],
  ["outcomes", selection("outcomes", ["id"])],
]);

type AskRows = (asked: Asking) => Promise<unknown[]>;

function readsOn(now: number, mac: Mac, ask: AskRows): ReadTx {
  return {
    dialect: "postgres",
    now,
    mac,
    blobs: {
      read: async (fileId, hash) => {
        const [row] = await ask(asking(blobRow.on("postgres"), { file_id: fileId, hash }));
        return intact(fileId, hash, Object(row)["content"]);
      },
    },
    all: async (q, params) => typed(q, await ask(asking(q.on("postgres"), params))),
    first: async (q, params) => typed(q, await ask(asking(q.on("postgres"), params)))[0],
    ahead: () => undefined,
  };
}

/** What a write does until it has a transaction. */
interface Beginning {
  /** Waits for its place in a batch. Null: it has no lock, and is a batch by itself. */
  join(key: string | null): Promise<Link>;
  lock(key: string): Promise<void>;
  /** Reads outside a transaction, or in the one it waits for. */
  look(ask: (link: Link) => Promise<unknown[]>): Promise<unknown[]>;
  readonly early: Pending;
  /** What it will read once it has the lock. */
  readonly announced: Asking[];
}

function txOn(linkNow: () => Link | undefined, now: number, mac: Mac, beginning?: Beginning): PlainTx {
  /** At once if it can be: statements go out in the order in which they were called. */
  const started = <T>(use: (link: Link) => Promise<T>): Promise<T> => {
    const link = linkNow();
    return link === undefined ? (beginning?.join(null).then(use) ?? noLink()) : use(link);
  };
  let parts = 0;
  return {
    ...readsOn(now, mac, (asked) => {
      const link = linkNow();
      if (link !== undefined) return knownOf(link, asked);
      return beginning?.look((looking) => rowsOf(looking, asked)) ?? noLink();
    }),
    ahead: (q, params) => {
      const link = linkNow();
      const prepared = q.on("postgres");
      // If it fails, so does the transaction.
      if (link === undefined) {
        if (isAnnounced(prepared)) beginning?.announced.push(asking(prepared, params));
      } else if (isKept(prepared)) void knownOf(link, asking(prepared, params)).catch(() => undefined);
    },
    get pending() {
      return linkNow()?.pending ?? beginning?.early ?? noLink();
    },
    run: (q, params) => started(async (link) => runOn(link, asking(q.on("postgres"), params))),
    count: (q, params) =>
      started(async (link) => (await link.ask(changing(link, asking(q.on("postgres"), params)))).count),
    changed: (q, params) =>
      started(async (link) => {
        const asked = asking(q.on("postgres"), params);
        const answer = link.ask({ ...changing(link, asked), isArrays: true });
        const changed = answer.then(({ rows }) => rows as Value[][]);
        learn(link, asked, changed);
        return changed;
      }),
    lock: async (key) => {
      const link = linkNow();
      if (link === undefined) await beginning?.lock(key);
      else link.send(lockOf(key));
    },
    attempt: (work) =>
      started(async (link) => {
        const savepoint = `part${(parts += 1)}`;
        link.savepoint(savepoint);
        try {
          const result = await work();
          await link.ask({ text: `release savepoint ${savepoint}` });
          return result;
        } catch (error) {
          await link.rollBackTo(savepoint);
          throw error;
        }
      }),
  };
}

function noLink(): never {
  throw new Error("there is no transaction");
}

/** The versions of the nodes that renewed their leases within the last minute, by the database's clock. */
async function nodeVersions(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ version: string }>(
    "select version from nodes where heartbeat > (extract(epoch from clock_timestamp()) * 1000)::bigint - 60000",
  );
  return rows.map((row) => row.version);
}

async function migrate(url: string, isOnly: boolean, version: string | undefined): Promise<void> {
  // Without the timeouts of the pools: a migration of large tables takes long.
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeout });
  client.on("error", () => undefined);
  await client.connect().catch((error: unknown) => {
    throw asRefusal(error);
  });
  try {
    if (isOnly) await refusePool(client);
    // Nodes that start at the same time migrate one after another. The number only has to be the same on all of them.
    await client.query("begin; select pg_advisory_xact_lock(42004600)");
    await client.query(
      "create table if not exists migrations (name text primary key, applied_at bigint not null)",
    );
    const { rows } = await client.query<{ name: string }>("select name from migrations");
    const applied = rows.map((row) => row.name);
    const others = applied.length === 0 ? [] : await nodeVersions(client);
    const nodes = version === undefined ? undefined : { own: version, others };
    for (const { name, statements } of missingMigrations(applied, nodes)) {
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
    await client.end();
  }
}

function typed<P, R>(_query: Query<P, R>, rows: unknown[]): R[] {
  return rows as R[];
}
