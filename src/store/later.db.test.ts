import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { keepLater, keysOf, kept, row } from "../testing/blob-rows.ts";
import { type PostgresDatabase, storeDatabase, testStores } from "../testing/postgres.ts";
import { openPostgres } from "./postgres.ts";
import { insertion, laterSum } from "./inserts.ts";
import { selection } from "./query.ts";
import type { Store, Tx } from "./store.ts";

const add = laterSum("storage", "bytes");
const sum = selection("storage", ["company_id", "agent_id"]);
const edge = insertion("edges");

if (testStores.has("postgres"))
  describe("rows that are inserted later, together", () => {
    let database: PostgresDatabase;
    let store: Store;
    let statements: string[] = [];
    const query: unknown = Reflect.get(pg.Client.prototype, "query");
    before(async () => {
      database = await storeDatabase();
      store = await openPostgres({ url: database.url, key: "key" });
      Reflect.set(pg.Client.prototype, "query", function (this: pg.Client, ...args: unknown[]): unknown {
        const [asked] = args;
        for (const { text } of Object(asked).statements ?? []) statements.push(String(text));
        if (typeof query !== "function") throw new TypeError("the driver has no queries");
        return Reflect.apply(query, this, args);
      });
    });
    after(async () => {
      Reflect.set(pg.Client.prototype, "query", query);
      await store.close();
      await database.drop();
    });
    const writes = (count: number, work: (tx: Tx, index: number) => Promise<unknown>) => {
      statements = [];
      return Promise.allSettled(
        Array.from({ length: count }, (_, index) =>
          store.write(async (tx) => {
            await tx.lock("company");
            return work(tx, index);
          }),
        ),
      );
    };
    const good = (results: readonly PromiseSettledResult<unknown>[]): number =>
      results.filter(({ status }) => status === "fulfilled").length;
    const inserts = (table: string): number =>
      statements.filter((text) => text.startsWith(`insert into "${table}"`)).length;

    test("the rows of many writes take few statements", async () => {
      assert.equal(good(await writes(30, (tx, index) => tx.run(keepLater, row("a", `k${index}`)))), 30);
      assert.equal((await keysOf(store, "a")).length, 30);
      assert.ok(inserts("blobs") < 30, `${inserts("blobs")} statements`);
    });

    test("a read sees rows that its own and earlier writes deferred", async () => {
      const results = await writes(10, async (tx, index) => {
        await tx.run(keepLater, row("b", `k${index}`));
        return (await tx.all(kept, { file_id: "b" })).length;
      });
      const seen = results.map((result) => (result.status === "fulfilled" ? result.value : 0));
      assert.deepEqual(
        seen,
        seen.map((_, index) => index + 1),
      );
    });

    test("a read of other rows does not make the store insert them early", async () => {
      const results = await writes(10, async (tx, index) => {
        await tx.run(keepLater, row(`of ${index}`, "k"));
        return (await tx.all(kept, { file_id: "none" })).length;
      });
      assert.equal(good(results), 10);
      assert.ok(inserts("blobs") < 10, `${inserts("blobs")} statements`);
      for (const index of results.keys()) assert.deepEqual(await keysOf(store, `of ${index}`), ["k"]);
    });

    test("a write that throws leaves no row, and rows of earlier writes stay", async () => {
      const results = await writes(12, async (tx, index) => {
        await tx.run(keepLater, row("c", `k${index}`));
        // Every third write makes the store insert the held rows, within a part that will be undone.
        if (index % 3 === 2) await tx.all(kept, { file_id: "c" });
        if (index % 3 === 2) throw new Error("no");
      });
      assert.equal(good(results), 8);
      const wanted = [0, 1, 3, 4, 6, 7, 9, 10].map((index) => `k${index}`);
      assert.deepEqual(await keysOf(store, "c"), wanted.toSorted());
    });

    test("an attempt that fails takes back its own rows only", async () => {
      const results = await writes(4, async (tx, index) => {
        await tx.run(keepLater, row("d", `k${index}`));
        const part = async (): Promise<void> => {
          await tx.run(keepLater, row("d", `inner ${index}`));
          if (index % 2 === 0) await tx.all(kept, { file_id: "d" });
          throw new Error("no");
        };
        await assert.rejects(tx.attempt(part), /no/);
      });
      assert.equal(good(results), 4);
      assert.deepEqual(await keysOf(store, "d"), ["k0", "k1", "k2", "k3"]);
    });

    test("a row that can't be inserted fails its own write, and no other", async () => {
      const results = await writes(9, (tx, index) =>
        tx.run(keepLater, row("e", index === 4 ? "k3" : `k${index}`)),
      );
      // One of the two writes with the same key.
      assert.equal(good(results), 8);
      assert.equal((await keysOf(store, "e")).length, 8);
    });

    test("one write may leave more rows than fit a statement", async () => {
      const results = await writes(2, async (tx, index) => {
        for (let number = 0; number < 500; number++) await tx.run(keepLater, row("f", `k${index} ${number}`));
      });
      assert.equal(good(results), 2);
      // PostgreSQL takes up to 65,535 values, and keeps each statement.
      assert.ok(Math.max(...statements.map((text) => text.split("), (").length)) <= 50);
      assert.equal((await keysOf(store, "f")).length, 1000);
    });

    test("few rows of several tables take one statement", async () => {
      for (const bytes of [3, 4]) {
        const results = await writes(1, async (tx) => {
          await tx.run(keepLater, row("g", `k${bytes}`));
          await tx.run(add, { company_id: "g", agent_id: "", bytes });
          await tx.run(add, { company_id: "g", agent_id: "ada", bytes });
        });
        assert.equal(good(results), 1);
        assert.equal(statements.filter((text) => text.includes("insert into")).length, 1);
      }
      assert.deepEqual(await keysOf(store, "g"), ["k3", "k4"]);
      const [found] = await store.read((tx) => tx.all(sum, { company_id: "g", agent_id: "" }));
      assert.equal(found?.bytes, 7);
    });

    test("sums of many writes are added up", async () => {
      const results = await writes(60, async (tx, index) => {
        await tx.run(add, { company_id: "c", agent_id: "", bytes: index });
        await tx.run(edge, { parent_id: `p${index}`, child_id: "x" });
        if (index % 10 === 9) throw new Error("no");
      });
      assert.equal(good(results), 54);
      const wanted = Array.from({ length: 60 }, (_, index) => (index % 10 === 9 ? 0 : index));
      const [found] = await store.read((tx) => tx.all(sum, { company_id: "c", agent_id: "" }));
      assert.equal(
        found?.bytes,
        wanted.reduce((all, bytes) => all + bytes, 0),
      );
    });
  });
else test("rows that are inserted later need PostgreSQL", () => undefined);
