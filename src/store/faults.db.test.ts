import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Refusal } from "../contract/refusal.ts";
import { allowed } from "../testing/allowed.ts";
import { testDatabase, testStores } from "../testing/postgres.ts";
import { startTcpProxy } from "../testing/tcp-proxy.ts";
import { twoNodes } from "../testing/two-nodes.ts";
import { readPostgres } from "./copy-postgres.ts";
import { openPostgres } from "./postgres.ts";
import { selection } from "./query.ts";
import type { Store } from "./store.ts";

const companies = selection("companies", []);
const took = async (work: Promise<unknown>): Promise<number> => {
  const from = performance.now();
  await work;
  return performance.now() - from;
};
const locked = (store: Store, key: string): Promise<void> => store.write((tx) => tx.lock(key));
const unavailable = (error: unknown): boolean => error instanceof Refusal && error.code === "unavailable";

if (testStores.has("postgres"))
  describe("a database that other nodes and the network disturb", async () => {
    const { url, store, proxy, other } = await twoNodes();

    test("a node that stands still with many transactions delays a company for seconds, and delays no other", async () => {
      const standing = Promise.withResolvers<void>();
      const entered = Promise.withResolvers<void>();
      // As in a stopped process: the first holds the lock and is silent, and the others ask for it.
      const stopped = Array.from({ length: 8 }, async () => {
        let isFirst = true;
        const work = other.write(async (tx) => {
          // A suspended process does not try again.
          if (!isFirst) throw new Error("stopped");
          isFirst = false;
          await tx.lock("a");
          entered.resolve();
          await standing.promise;
        });
        await work.catch(() => undefined);
      });
      await entered.promise;
      const waiting = took(locked(store, "a"));
      assert.ok((await took(locked(store, "b"))) < allowed(1000), "another company waits");
      assert.ok((await took(store.read((tx) => tx.all(companies, {})))) < allowed(1000), "a read waits");
      const renewal = took(store.write((tx) => tx.lock("c"), "leases"));
      assert.ok((await renewal) < allowed(1000), "leases wait");
      const seconds = await waiting;
      assert.ok(seconds < allowed(7000), `waited ${Math.round(seconds)} ms`);
      standing.resolve();
      await Promise.all(stopped);
    });

    test("connections that die silently are given up, and new ones are used at once", async () => {
      await Promise.all([locked(store, "a"), store.read((tx) => tx.all(companies, {}))]);
      await store.write((tx) => tx.lock("c"), "leases");
      proxy.swallow();
      const lost = took(
        assert.rejects(
          store.write((tx) => tx.lock("c"), "leases"),
          unavailable,
        ),
      );
      assert.ok((await lost) < allowed(5000));
      assert.ok((await took(locked(store, "a"))) < allowed(1000), "a write still uses a dead connection");
      assert.ok((await took(store.read((tx) => tx.all(companies, {})))) < allowed(1000));
    });

    test("without its database every call is refused as unavailable, and works again without a restart", async () => {
      proxy.cut();
      await assert.rejects(locked(store, "a"), unavailable);
      await assert.rejects(
        store.read((tx) => tx.all(companies, {})),
        unavailable,
      );
      proxy.heal();
      await locked(store, "a");
      await store.read((tx) => tx.all(companies, {}));
    });

    test("a store that closes while the database is silent refuses running and later calls", async () => {
      const silent = await startTcpProxy(url);
      const closing = await openPostgres({ url: silent.url, key: "key" });
      const usual = await openPostgres({ url: silent.url, key: "key" });
      const isSilent = Promise.withResolvers<void>();
      // Each store already has a connection when the database falls silent. It then asks once more.
      const underWay = async (each: Store): Promise<{ asked: Promise<void> }> => {
        const entered = Promise.withResolvers<void>();
        const asked = each.read(async (tx) => {
          await tx.all(companies, {});
          entered.resolve();
          await isSilent.promise;
          await tx.all(companies, {});
        });
        await entered.promise;
        return { asked };
      };
      const givenUp = (await underWay(usual)).asked.catch(() => "given up");
      const { asked } = await underWay(closing);
      silent.swallow(true);
      isSilent.resolve();
      const refusals = assert.rejects(asked, unavailable);
      await closing.close();
      assert.notEqual(await Promise.race([givenUp, refusals]), "given up");
      await assert.rejects(locked(closing, "a"), unavailable);
      await usual.close();
      await silent.stop();
    });

    test("a start and a copy over a connection that dies silently give up and say so", async () => {
      const empty = await testDatabase();
      const looking = new pg.Client({ connectionString: empty.url });
      await looking.connect();
      const others = async (): Promise<number> =>
        (
          await looking.query(
            "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
          )
        ).rows.length;
      // First while the tables are made, then while nothing is missing.
      for (const target of [empty.url, url]) {
        const path = await startTcpProxy(target);
        path.slow(20);
        const opening = openPostgres({ url: path.url, key: "key" });
        opening.catch(() => undefined);
        if (target === empty.url) while ((await others()) === 0) await sleep(5);
        else await sleep(150);
        path.swallow(true);
        const seconds = await took(assert.rejects(opening, unavailable));
        assert.ok(seconds < allowed(20_000), `the start waited ${Math.round(seconds)} ms`);
        await path.stop();
      }
      await looking.end();
      const path = await startTcpProxy(url);
      const source = await readPostgres({ url: path.url, key: "key", patience: 500 });
      path.swallow(true);
      await assert.rejects(source.rows("companies", null, 10), /Query read timeout/);
      assert.ok((await took(source.close())) < allowed(5000));
      await path.stop();
      await empty.drop();
    });

    test("a start without migrations doesn't wait, and a frozen migrating node holds up no other", async () => {
      const empty = await testDatabase();
      const held = await startTcpProxy(empty.url);
      const looking = new pg.Client({ connectionString: empty.url });
      await looking.connect();
      const locks = async (): Promise<number> =>
        (
          await looking.query(
            "select 1 from pg_locks where locktype = 'advisory' and objid = 42004600 and granted",
          )
        ).rows.length;
      // The network of this store is slow, so the store holds the lock for a while.
      held.slow(20);
      const standing = openPostgres({ url: held.url, key: "key" }).then(
        (opened) => opened.close(),
        () => undefined,
      );
      while ((await locks()) === 0) await sleep(10);
      held.swallow(true);
      await (await openPostgres({ url: empty.url, key: "key" })).close();
      await looking.query("begin; select pg_advisory_xact_lock(42004600)");
      await (await openPostgres({ url: empty.url, key: "key" })).close();
      await looking.end();
      await held.stop();
      await standing;
      await empty.drop();
    });
  });
else test("needs PostgreSQL", () => undefined);
