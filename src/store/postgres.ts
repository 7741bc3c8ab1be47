import type pg from "pg";
import type { Store } from "./store.ts";
import { BatchFailed, createBatches, Stale, Undone } from "./batches.ts";
import { applyMigrations } from "./apply-migrations.ts";
import { macOf, readHeads, seal, sealing } from "./chain.ts";
import { asRefusal, isLost, isRetryable, keepPool, timeouts } from "./connections.ts";
import { checkAddresses, limitsOf } from "./pooling.ts";
import { type Link, linkOn } from "./link.ts";
import { listen } from "./listening.ts";
import { keepNeeds } from "./numbers.ts";
import { freeLocksOf, lockOf, readsOn, rowsOf, txOn } from "./postgres-tx.ts";
import { type Pace, writeInBatch } from "./turns.ts";
import { inMap } from "../contract/in-map.ts";
import { type StatementAnswer, type Statement, type Waves, wavesOn } from "./waves.ts";

/**
 * PostgreSQL, shared by several nodes.
 *
 * Writes use READ COMMITTED and one advisory lock for each company. An operation takes the lock before it checks a rule. Each of
 * its later statements sees everything that earlier holders of the lock committed, and no other writer can change it before
 * the commit. SERIALIZABLE was rejected: the writes of a company extend the same hash chain of events, so concurrent ones would
 * fail each other. Writes that wait for the same lock commit together (batches.ts).
 *
 * Reads use REPEATABLE READ, so all queries of one read see the same state.
 *
 * Writes, reads and leases have separate connections. So requests that wait for the lock of a company hold up neither reads nor
 * the renewal of leases.
 *
 * If a write fails because of a concurrent transaction, it was rolled back completely. The store runs it again, up to 10 times.
 */
export interface PostgresOptions {
  readonly url: string;
  /** The address of the server itself, if `url` leads to a pool of connections (pooling.ts). */
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
  await applyMigrations(direct.url, options.directUrl === undefined, options.version);
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

  /** Opens a connection whose statements are sent without waiting. */
  async function connect(name: keyof typeof pools): Promise<Link> {
    const pool = pools[name];
    const client = await pool.connect();
    const release = (failure: unknown): void => {
      const broken = failure === undefined ? undefined : new Error("the connection failed");
      // A silent loss seldom hits one connection alone. Each of the others would cost another wait.
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

  /** The database's time. The database is asked again if the last answer is some seconds old. */
  async function now(): Promise<number> {
    if (clock.isFresh()) return clock.now();
    // Many callers ask at the same time. If the database is silent, one of them finds out for all.
    return (asking ??= look(readClock).finally(() => (asking = undefined)));
  }
  let asking: Promise<number> | undefined;

  const needs = keepNeeds();
  const batch = createBatches({
    open: async () => {
      const link = await connect("writes");
      begin(link, beginWrite, "writes");
      if (!clock.isFresh()) readClock(link).catch(() => undefined);
      return link;
    },
    lock: async (link, keys, { waits, trusts }) => {
      const taken = waits ? keys.map((key) => link.ask(lockOf(key))) : [link.ask(freeLocksOf(keys))];
      const draw = needs.draw();
      const drawn =
        draw === undefined ? undefined : link.ask(draw).then((answer) => link.numbers.fill(answer));
      const isEarly = waits || trusts;
      if (isEarly) readHeads(txOn(link, clock.now(), mac), keys);
      const [answers] = await Promise.all([Promise.all(taken), drawn]);
      if (waits) return keys;
      const got = answers.flatMap(({ rows }) => rows.map((row) => String(Object(row)["key"])));
      if (isEarly) for (const key of keys) if (!got.includes(key)) link.heads.delete(key);
      if (!isEarly && got.length > 0) readHeads(txOn(link, clock.now(), mac), got);
      return got;
    },
    seal: (link) => {
      needs.note(link.numbers.asked);
      return seal(txOn(link, clock.now(), mac));
    },
    committed: () => {
      hear();
      ear.tell();
    },
  });

  const writes = { now, mac, batch, look };

  return {
    dialect: "postgres",
    write: async (work, on) => {
      let pace: Pace = "early";
      for (let tried = 1; ; tried++) {
        try {
          if (on === undefined) return await writeInBatch(writes, work, pace);
          // Followers of events don't look at leases.
          return await look(async (link) => {
            link.begin(beginWrite);
            const tx = txOn(link, await readClock(link), mac);
            const result = await sealing(tx, work);
            await seal(tx);
            await link.commit();
            return result;
          }, on);
        } catch (error) {
          const isOthers = [BatchFailed, Stale, Undone].some((kind) => error instanceof kind);
          if (tried >= attempts || !(isOthers || isRetryable(error))) throw asRefusal(error);
          // Many other writes may fail, one after another. This write does not wait for the last of them.
          if (error instanceof BatchFailed || tried >= 3) pace = "alone";
          else if (error instanceof Stale) pace = "in turn";
        }
      }
    },
    read: async (work) => {
      try {
        const time = await now();
        return await look(async (link) => {
          begin(link, beginRead, "reads");
          // The end of the read is not waited for.
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
    rest: () => undefined,
    close: async () => {
      await Promise.all([ear, ...Object.values(pools)].map((each) => each.end()));
    },
  };
}

const spoken = new WeakMap<pg.PoolClient, Waves>();
const beginWrite = "begin isolation level read committed";
const beginRead = "begin isolation level repeatable read read only";
const clockQuery: Statement = {
  text: "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
};

/** The database's time: its last answer plus the time that has passed here since. It never runs backwards. */
function keepClock() {
  let told = 0;
  let at = -Infinity;
  let last = 0;
  const now = (): number => (last = Math.max(last, Math.round(told + performance.now() - at)));
  return {
    now,
    isFresh: () => performance.now() - at < 5000,
    /** `from` is when the database was asked. */
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
