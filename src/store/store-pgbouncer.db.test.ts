import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { pgBouncer } from "../../scripts/test-plan.ts";
import { allHeads, append, system } from "../events/ledger.ts";
import { verify } from "../events/verify.ts";
import { get, put, rename } from "../testing/company-rows.ts";
import { type PgBouncer, startPgBouncer } from "../testing/pgbouncer.ts";
import { storeDatabase, testDatabase, testStores, type PostgresDatabase } from "../testing/postgres.ts";
import { timeouts } from "./connections.ts";
import { troubleWith } from "./pooling.ts";
import { openPostgres } from "./postgres.ts";
import { query } from "./query.ts";
import type { Store } from "./store.ts";

const settings = query((db, p: { id: string }) =>
  db
    .selectFrom("companies")
    .select([
      sql<string>`current_setting('lock_timeout')`.as("lock"),
      sql<string>`current_setting('statement_timeout')`.as("statement"),
      sql<string>`current_setting('idle_in_transaction_session_timeout')`.as("idle"),
    ])
    .where("id", "=", p.id),
);

/** Waits until this many connections of the database wait for a lock. */
async function untilWaiting(client: pg.Client, count: number): Promise<void> {
  const waits = "select 1 from pg_locks where not granted and locktype = 'advisory'";
  while ((await client.query(waits)).rows.length < count) await sleep(20);
}

const program = pgBouncer() ?? assert.fail("there is no PgBouncer on this machine (Debian: pgbouncer)");

// PgBouncer needs PostgreSQL, which a quick run does not have.
if (testStores.has("postgres"))
  describe("the store on PostgreSQL behind PgBouncer in transaction mode", () => {
    let database: PostgresDatabase;
    let pool: PgBouncer;
    let nodes: Store[];
    before(async () => {
      database = await storeDatabase();
      pool = await startPgBouncer(program, database.url);
      nodes = [];
      for (let node = 0; node < 2; node++)
        nodes.push(await openPostgres({ url: pool.url, directUrl: database.url, key: "k".repeat(32) }));
    });
    after(async () => {
      for (const node of nodes) await node.close();
      await pool.stop();
      await database.drop();
    });
    const node = (index: number): Store => nodes[index % nodes.length] ?? assert.fail();

    test("writes of two nodes lose nothing under one lock, and the ledger verifies", async () => {
      const ids = ["a", "b", "c"];
      for (const id of ids) await node(0).write((tx) => tx.run(put, { id, name: "0" }));
      const writes = 30;
      await Promise.all(
        ids.flatMap((id) =>
          Array.from({ length: writes }, (_, index) =>
            node(index).write(async (tx) => {
              await tx.lock(id);
              const now = Number((await tx.first(get, { id }))?.name);
              await tx.run(rename, { id, name: String(now + 1) });
              append(tx, {
                companyId: id,
                actor: system,
                operation: "company.update",
                subject: id,
                data: {},
              });
            }),
          ),
        ),
      );
      for (const id of ids)
        assert.equal(await node(1).read(async (tx) => (await tx.first(get, { id }))?.name), String(writes));
      const heads = await node(0).read((tx) => tx.all(allHeads, {}));
      assert.deepEqual(
        heads.filter(({ company_id }) => ids.includes(company_id)).map(({ seq }) => seq),
        ids.map(() => writes),
      );
      const { checked, problems } = await node(1).read((tx) => verify(tx, new Map(), null, 1000));
      assert.ok(checked >= ids.length * writes);
      assert.deepEqual(problems, []);
    });

    test("a failing write leaves nothing behind, and its connection serves the next", async () => {
      await node(0).write((tx) => tx.run(put, { id: "taken", name: "0" }));
      const results = await Promise.allSettled(
        Array.from({ length: 30 }, (_, index) =>
          node(index).write((tx) =>
            tx.run(put, { id: index % 3 === 0 ? "taken" : `free ${index}`, name: "0" }),
          ),
        ),
      );
      for (const [index, { status }] of results.entries())
        assert.equal(status, index % 3 === 0 ? "rejected" : "fulfilled");
    });

    test("every transaction has its timeouts, and leaves none to others behind", async () => {
      await node(0).write((tx) => tx.run(put, { id: "timed", name: "0" }));
      const inSeconds = ({ lock, statement, idle }: (typeof timeouts)["writes"]) => ({
        lock: `${lock / 1000}s`,
        statement: `${statement / 1000}s`,
        idle: `${idle / 1000}s`,
      });
      const written = await node(0).write(async (tx) => {
        await tx.lock("timed");
        return tx.first(settings, { id: "timed" });
      });
      assert.deepEqual(written, inSeconds(timeouts.writes));
      assert.deepEqual(
        await node(0).read((tx) => tx.first(settings, { id: "timed" })),
        inSeconds(timeouts.reads),
      );
      const others = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const client = new pg.Client({ connectionString: pool.url });
          await client.connect();
          const { rows } = await client.query("select current_setting('lock_timeout') as lock");
          await client.end();
          return rows;
        }),
      );
      assert.deepEqual(
        others.flat(),
        Array.from({ length: 6 }, () => ({ lock: "0" })),
      );
    });

    test("a node is notified of the commits of another", async () => {
      const heard = new Promise<void>((resolve) => {
        const stop = node(1).onCommit(() => {
          stop();
          resolve();
        });
      });
      await node(0).write(async (tx) => {
        await tx.lock("heard");
        await tx.run(put, { id: "heard", name: "0" });
      });
      await heard;
    });

    test("leases are renewed past the pool, also when all of its connections wait", async () => {
      const keys = ["p", "q", "r", "s", "t", "u"];
      const holder = new pg.Client({ connectionString: database.url });
      await holder.connect();
      await holder.query("begin");
      for (const key of keys)
        await holder.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [key]);
      // More writes than the pool has connections. Each waits for its lock, again and again.
      const waiting = keys.map((key) =>
        node(0)
          .write((tx) => tx.lock(key))
          .catch(() => undefined),
      );
      try {
        await untilWaiting(holder, 3);
        await node(0).write((tx) => tx.run(put, { id: "lease", name: "0" }), "leases");
      } finally {
        await holder.end();
        await Promise.all(waiting);
      }
    });

    test("a pool without a second address is refused, with the setting that helps", async () => {
      const sentence = /leads to a pool of connections, such as PgBouncer/;
      await assert.rejects(openPostgres({ url: pool.url }), sentence);
      assert.match((await troubleWith({ url: pool.url })) ?? "", /pool of connections.*DATABASE_DIRECT_URL/);
    });

    test("doctor finds what is wrong with the two addresses, and nothing if they are right", async () => {
      assert.equal(await troubleWith({ url: pool.url, directUrl: database.url }), undefined);
      assert.equal(await troubleWith({ url: database.url }), undefined);
      const other = await testDatabase();
      try {
        assert.match(
          (await troubleWith({ url: pool.url, directUrl: other.url })) ?? "",
          /lead to two databases/,
        );
        await assert.rejects(openPostgres({ url: pool.url, directUrl: other.url }), /lead to two databases/);
      } finally {
        await other.drop();
      }
      assert.match(
        (await troubleWith({ url: pool.url, directUrl: pool.url })) ?? "",
        /don't arrive at the direct address.*not a pool/,
      );
    });
  });
else test("these tests need PostgreSQL", () => assert.ok(program));
