import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { keep, kept, row } from "../testing/blob-rows.ts";
import { type PostgresDatabase, storeDatabase, testStores } from "../testing/postgres.ts";
import { isLost } from "./connections.ts";
import { linkOn } from "./link.ts";
import { openPostgres } from "./postgres.ts";
import { insertion } from "./inserts.ts";
import { selection } from "./query.ts";
import { type Waves, wavesOn } from "./waves.ts";

const minute = 60_000;
const reasons = (results: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  results.map((result) => (result.status === "rejected" ? Object(result.reason).code : "answered"));

if (testStores.has("postgres"))
  describe("statements that travel together", () => {
    let database: PostgresDatabase;
    let client: pg.Client;
    let waves: Waves;
    /** The number of statements in each message. */
    let sent: number[] = [];
    const ask = (text: string, ...values: (string | number | null | Uint8Array)[]) =>
      waves.ask({ text, values });
    before(async () => {
      database = await storeDatabase();
      client = new pg.Client({ connectionString: database.url });
      await client.connect();
      const counted: Parameters<typeof wavesOn>[0]["query"] = client.query.bind(client);
      const query = ((wave: { statements: readonly unknown[] } & pg.Submittable) => {
        sent.push(wave.statements.length);
        return counted(wave);
      }) as typeof counted;
      waves = wavesOn({ query }, minute);
      await ask("create temporary table wave (id text primary key, number bigint, bytes bytea)");
    });
    after(async () => {
      await client.end();
      await database.drop();
    });

    test("queries made at the same time, or during another query, share one message", async () => {
      sent = [];
      const first = Promise.all([ask("select 1 as one"), ask("select 2 as two"), ask("select 3 as three")]);
      const [one, two, three] = await first;
      assert.deepEqual([one.rows, two.rows, three.rows], [[{ one: 1 }], [{ two: 2 }], [{ three: 3 }]]);
      assert.deepEqual(sent, [3]);
      const other = new pg.Client({ connectionString: database.url });
      await other.connect();
      await other.query("select pg_advisory_lock(1)");
      const slow = ask("select pg_advisory_lock(1)");
      while (sent.length < 2) await new Promise(setImmediate);
      const meanwhile = [ask("select 1 as one"), ask("select 2 as two")];
      await new Promise(setImmediate);
      meanwhile.push(ask("select 3 as three"));
      await other.end();
      await Promise.all([slow, ...meanwhile]);
      assert.deepEqual(sent, [3, 1, 3]);
    });

    test("reads that differ only in their values are one statement, unless something changes between them", async () => {
      const { sql: text } = kept.on("postgres");
      const read = (id: string) => waves.ask({ text, values: [id], isRead: true });
      const store = (id: string, hash: string) =>
        ask("insert into blobs (file_id, hash, content) values ($1, $2, 'x')", id, hash);
      await Promise.all([store("t1", "a"), store("t1", "b"), store('t2 "\\', "c")]);
      sent = [];
      const other = waves.ask({ text: "select 1 as one", isRead: true });
      const before = [read("t1"), read("t3"), read('t2 "\\'), read("t1")];
      const change = store("t3", "d");
      const after = [read("t3"), read("t1")];
      const hashes = async (reads: readonly ReturnType<typeof read>[]) =>
        (await Promise.all(reads)).map(({ rows }) =>
          rows.map((found) => String(Object(found).hash)).toSorted(),
        );
      assert.deepEqual(await hashes(before), [["a", "b"], [], ["c"], ["a", "b"]]);
      assert.deepEqual(await hashes(after), [["d"], ["a", "b"]]);
      assert.deepEqual((await read("t3")).rows, [{ file_id: "t3", hash: "d", content: Buffer.from("x") }]);
      const [found] = (await Promise.all([read("t3"), read("t1")]))[0]?.rows ?? [];
      assert.deepEqual(found, { file_id: "t3", hash: "d", content: Buffer.from("x") });
      await Promise.all([other, change]);
      assert.deepEqual(sent, [4, 1, 1]);
    });

    test("reads with numbers, order and limit also share a statement, and each gets its rows in order", async () => {
      const numbers = [3, 1, 2, 5, 4];
      await Promise.all(
        numbers.map((number) => ask("insert into wave values ($1, $2, null)", `n${number}`, number)),
      );
      const text = "select id, number from wave where id like $1 and number > $2 order by number limit $3";
      const read = (...values: (string | number | null)[]) => waves.ask({ text, values, isRead: true });
      sent = [];
      const answers = await Promise.all([
        read("n%", 1, 2),
        read("n%", 3, 9),
        read("n%", 5, 9),
        read("n%", null, 9),
        read("none", 0, 9),
      ]);
      assert.deepEqual(
        answers.map(({ rows, count }) => [rows.map((found) => Object(found).id), count]),
        [
          [["n2", "n3"], 2],
          [["n4", "n5"], 2],
          [[], 0],
          [[], 0],
          [[], 0],
        ],
      );
      assert.deepEqual(answers[0].rows[0], { id: "n2", number: 2 });
      // Null has no type in the list of values. So a read of null is a statement by itself.
      assert.deepEqual(sent, [2]);
    });

    test("the same read from several callers is one statement, with rows for each caller", async () => {
      const read = (value: number) =>
        waves.ask({ text: "select $1::bigint as n", values: [value], isRead: true });
      sent = [];
      const [one, two, other] = await Promise.all([read(1), read(1), read(2)]);
      assert.deepEqual([one.rows, two.rows, other.rows], [[{ n: 1 }], [{ n: 1 }], [{ n: 2 }]]);
      assert.notEqual(one.rows[0], two.rows[0]);
      assert.deepEqual(sent, [1]);
      const text = "update wave set number = number + 1 where id = 'twice' returning number";
      await ask("insert into wave values ('twice', 0, null)");
      const changed = await Promise.all([waves.ask({ text }), waves.ask({ text })]);
      assert.deepEqual(
        changed.flatMap(({ rows }) => rows),
        [{ number: 1 }, { number: 2 }],
      );
    });

    test("a link sends nothing once it is closed", async () => {
      const released: unknown[] = [];
      const link = linkOn(waves, (failure) => released.push(failure), isLost);
      link.begin("begin");
      await link.ask({ text: "insert into wave values ('closed', 1, null)" });
      await link.close(undefined);
      assert.deepEqual(released, [undefined]);
      await assert.rejects(link.ask({ text: "insert into wave values ('closed', 2, null)" }), /has ended/);
      assert.deepEqual((await ask("select * from wave where id = 'closed'")).rows, []);
    });

    test("a transaction with a statement that could not be sent is not committed", async () => {
      const link = linkOn(waves, () => undefined, isLost);
      link.begin("begin");
      link.send({ text: "insert into wave values ('unsent', 1, null)" });
      link.send({ text: "insert into wave values ('unsent', $1, null)", values: [Object(undefined)] });
      await assert.rejects(link.commit(), TypeError);
      await link.close(undefined);
      assert.deepEqual((await ask("select * from wave where id = 'unsent'")).rows, []);
    });

    test("values and rows keep their types", async () => {
      const bytes = new Uint8Array([0, 255, 92]);
      const insert = "insert into wave values ($1, $2, $3) returning *";
      const { rows, count, command } = await ask(insert, "ünïcode \\ '", 2 ** 52, bytes);
      assert.deepEqual(rows, [{ id: "ünïcode \\ '", number: 2 ** 52, bytes: Buffer.from(bytes) }]);
      assert.deepEqual([count, command], [1, "INSERT"]);
      await ask(insert, "empty", null, null);
      const text = "select * from wave where id = $1";
      assert.deepEqual((await ask(text, "empty")).rows, [{ id: "empty", number: null, bytes: null }]);
      const arrays = await waves.ask({ text, values: ["empty"], isArrays: true });
      assert.deepEqual(arrays.rows, [["empty", null, null]]);
      assert.deepEqual((await ask(text, "missing")).rows, []);
    });

    test("an error answers the rest of its wave, and the next wave runs", async () => {
      const one = "select 1 as one";
      const results = await Promise.allSettled([
        ask(one),
        ask("select 1 / $1::int as none", 0),
        ask(one),
        ask("select 7 as seven"),
      ]);
      assert.deepEqual(reasons(results), ["answered", "22012", "22012", "22012"]);
      assert.deepEqual((await ask("select 7 as seven")).rows, [{ seven: 7 }]);
      assert.deepEqual((await ask("select 1 / $1::int as none", 1)).rows, [{ none: 1 }]);
    });

    test("what must run after an error is the first of its wave", async () => {
      const results = await Promise.allSettled([
        ask("begin"),
        ask("savepoint here"),
        ask("select 1 / $1::int as none", 0),
        waves.ask({ text: "rollback to savepoint here", isFirst: true }),
        ask("select 1 as one"),
        ask("commit"),
      ]);
      assert.deepEqual(reasons(results), [
        "answered",
        "answered",
        "22012",
        "answered",
        "answered",
        "answered",
      ]);
    });

    test("a text is prepared again when its table has changed", async () => {
      const text = "select * from wave where id = 'changed'";
      await ask("insert into wave (id) values ('changed')");
      assert.deepEqual((await ask(text)).rows, [{ id: "changed", number: null, bytes: null }]);
      await ask("alter table wave add column more bigint default 5");
      // PostgreSQL refuses the old plan, because the caller expects the old columns.
      assert.deepEqual(reasons(await Promise.allSettled([ask(text)])), ["0A000"]);
      assert.deepEqual((await ask(text)).rows, [{ id: "changed", number: null, bytes: null, more: 5 }]);
    });

    test("a part that is given up is undone, even if a statement in it failed unnoticed", async () => {
      const store = await openPostgres({ url: database.url, key: "key" });
      try {
        const refusal = new Error("no");
        await store.write(async (tx) => {
          await tx.lock("company");
          await tx.run(keep, row("parts", "before"));
          const part = tx.attempt(async () => {
            await tx.run(keep, row("parts", "undone"));
            // The key already exists.
            await tx.run(keep, row("parts", "before"));
            throw refusal;
          });
          await assert.rejects(part, refusal);
          await tx.run(keep, row("parts", "after"));
        });
        const rows = await store.read((tx) => tx.all(kept, { file_id: "parts" }));
        assert.deepEqual(rows.map(({ hash }) => hash).toSorted(), ["after", "before"]);
      } finally {
        await store.close();
      }
    });

    test("a read that is announced goes out with the next one, once, and is not used after a change", async () => {
      const store = await openPostgres({ url: database.url, key: "key" });
      const query: unknown = Reflect.get(pg.Client.prototype, "query");
      const messages: string[][] = [];
      Reflect.set(pg.Client.prototype, "query", function (this: pg.Client, ...args: unknown[]): unknown {
        const asked: { text: string }[] = Object(args[0]).statements ?? [];
        messages.push(asked.map(({ text }) => text));
        if (typeof query !== "function") throw new TypeError("the driver has no queries");
        return Reflect.apply(query, this, args);
      });
      const edges = selection("edges", ["parent_id"]);
      const addEdge = insertion("edges");
      try {
        await store.write(async (tx) => {
          await tx.lock("company");
          messages.length = 0;
          tx.ahead(edges, { parent_id: "a" });
          tx.ahead(edges, { parent_id: "b" });
          assert.deepEqual(await tx.all(kept, { file_id: "none" }), []);
          assert.deepEqual(
            messages.map(({ length }) => length),
            [messages[0]?.length ?? 0],
          );
          // One statement reads both.
          assert.equal(messages[0]?.filter((text) => text.includes('from "edges"')).length, 1);
          assert.deepEqual(await tx.all(edges, { parent_id: "a" }), []);
          assert.equal(messages.length, 1);
          await tx.run(addEdge, { parent_id: "b", child_id: "c" });
          assert.deepEqual(await tx.all(edges, { parent_id: "b" }), [{ parent_id: "b", child_id: "c" }]);
          assert.equal(messages.length, 2);
        });
      } finally {
        Reflect.set(pg.Client.prototype, "query", query);
        await store.close();
      }
    });

    test("a wave without an answer ends its connection", async () => {
      const lost = new pg.Client({ connectionString: database.url });
      lost.on("error", () => undefined);
      try {
        await lost.connect();
        const silent = wavesOn(lost, 50);
        const results = await Promise.allSettled([
          silent.ask({ text: "select pg_sleep(600)" }),
          silent.ask({ text: "select 1" }),
        ]);
        for (const result of results)
          assert.ok(result.status === "rejected" && isLost(result.reason), JSON.stringify(result));
        const [later] = await Promise.allSettled([silent.ask({ text: "select 1" })]);
        assert.ok(later.status === "rejected" && isLost(later.reason), JSON.stringify(later));
      } finally {
        await lost.end().catch(() => undefined);
      }
    });
  });
