import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { append, system } from "../events/ledger.ts";
import { RowCheck } from "../events/rows.ts";
import { type PostgresDatabase, storeDatabase, testStores } from "../testing/postgres.ts";
import { watchStatements } from "../testing/statements.ts";
import { openPostgres } from "./postgres.ts";
import { insertion, laterInsertion, laterRow } from "./inserts.ts";
import { deleting, selection, updating } from "./query.ts";
import type { Store, Tx } from "./store.ts";

const insert = insertion("reviews");
const of = selection("reviews", ["outcome_id"]);
const all = selection("reviews", ["company_id"], sql`order by num`);
const setNote = updating("reviews", ["note"], ["outcome_id"]);
const eventsOf = selection("events", ["company_id"], sql`order by seq`);
const review = (outcome_id: string) => ({
  company_id: "company",
  outcome_id,
  agent_id: null,
  reviewer_id: null,
  verdict: "pass" as const,
  note: null,
  created_at: 0,
});

const insertFile = insertion("files");
const files = selection("files", ["company_id"], sql`order by num`);
const file = (id: string) => ({
  id,
  company_id: "company",
  kind: "file" as const,
  description: id,
  media_type: "text/plain",
  version: 1,
  hash: id,
  size: 1,
  owner_id: null,
  created_at: 0,
  updated_at: 0,
  deleted_at: null,
});
const addEdge = laterRow("edges", sql`on conflict do nothing`);
const dropEdge = deleting("edges", ["parent_id", "child_id"]);
const index = laterInsertion("search", (p: { id: string }) => ({
  rowid: sql`(select num from files where id = ${p.id})`,
  description: sql`${p.id}`,
  body: sql`''`,
  words: sql`''::tsvector`,
}));

if (testStores.has("postgres"))
  describe("rows whose numbers are drawn in advance", () => {
    let database: PostgresDatabase;
    let nodes: Store[];
    before(async () => {
      database = await storeDatabase();
      nodes = [];
      for (let node = 0; node < 2; node++) nodes.push(await openPostgres({ url: database.url, key: "key" }));
    });
    after(async () => {
      for (const node of nodes) await node.close();
      await database.drop();
    });
    const writes = (
      count: number,
      name: string,
      work: (tx: Tx, index: number, name: string) => Promise<unknown>,
    ) =>
      Promise.allSettled(
        Array.from({ length: count }, (_, index) =>
          (nodes[index % nodes.length] ?? assert.fail()).write(async (tx) => {
            await tx.lock("company");
            const subject = `${name} ${index}`;
            await tx.run(insert, review(subject));
            append(tx, { companyId: "company", actor: system, operation: "test", subject, data: {} });
            return work(tx, index, subject);
          }),
        ),
      );
    const reviews = () => (nodes[0] ?? assert.fail()).read((tx) => tx.all(all, { company_id: "company" }));
    const assertIntact = async (): Promise<void> => {
      const rows = new RowCheck();
      for (let isDone = false; !isDone;) {
        const { problems, done } = await (nodes[1] ?? assert.fail()).read((tx) => rows.step(tx));
        assert.deepEqual(problems, []);
        isDone = done;
      }
    };

    test("the numbers rise in the order of the commits of all nodes, and many rows take one statement", async () => {
      await writes(16, "warm", async () => undefined);
      const watched = watchStatements();
      try {
        for (let round = 0; round < 5; round++) await writes(16, `many ${round}`, async () => undefined);
      } finally {
        watched.stop();
      }
      const made = watched.texts.filter((text) => text.startsWith('insert into "reviews"')).length;
      assert.ok(made <= 40, `${made} statements for 80 rows`);
      const events = await (nodes[1] ?? assert.fail()).read((tx) =>
        tx.all(eventsOf, { company_id: "company" }),
      );
      assert.equal(events.length, 96);
      assert.deepEqual(
        (await reviews()).map(({ outcome_id }) => outcome_id),
        events.map(({ subject }) => subject),
      );
      await assertIntact();
    });

    test("a row that is inserted later finds the number of another one", async () => {
      for (const round of [1, 2, 3]) {
        const results = await writes(1, `found ${round}`, async (tx, _, name) => {
          for (let number = 0; number < 60; number++) {
            const id = `${name} ${number}`;
            await tx.run(insertFile, file(id));
            await tx.run(index, { id });
            // The first file is inserted, and the row that refers to it is not. So the others fill a later statement than the
            // rows that refer to them.
            if (number === 0) await tx.all(files, { company_id: "company" });
          }
        });
        assert.ok(
          results.every(({ status }) => status === "fulfilled"),
          JSON.stringify(results),
        );
      }
      const found = await (nodes[0] ?? assert.fail()).read((tx) => tx.all(files, { company_id: "company" }));
      assert.equal(found.length, 180);
      await assertIntact();
    });

    test("a row for later that replaces a deleted one is sealed after it", async () => {
      const edge = { parent_id: "parent", child_id: "child" };
      for (const isStored of [false, true, true])
        await writes(1, `replaced ${isStored}`, async (tx) => {
          if (isStored) await tx.run(dropEdge, edge);
          await tx.run(addEdge, edge);
          if (!isStored) await tx.run(dropEdge, edge);
        });
      await assertIntact();
    });

    test("a write sees and changes its row, and a write that is undone leaves no row", async () => {
      for (let round = 0; round < 3; round++) {
        const results = await writes(16, `mixed ${round}`, async (tx, index, name) => {
          const undone = tx.attempt(async () => {
            await tx.run(insert, review(`${name} undone`));
            throw new Error("undo");
          });
          if (index % 4 === 1) await undone.catch(() => undefined);
          else await undone.catch(() => tx.run(setNote, { outcome_id: name, note: "changed" }));
          if (index % 4 === 3) throw new Error("no");
          return (await tx.all(of, { outcome_id: name })).map(({ note }) => note);
        });
        assert.deepEqual(
          results.map((result) => (result.status === "fulfilled" ? result.value : null)),
          results.map((_, index) => (index % 4 === 3 ? null : [index % 4 === 1 ? null : "changed"])),
        );
      }
      const mixed = (await reviews()).filter(({ outcome_id }) => outcome_id.startsWith("mixed"));
      assert.equal(mixed.length, 36);
      assert.ok(mixed.every(({ outcome_id }) => !outcome_id.endsWith("undone")));
      await assertIntact();
    });
  });
else test("needs PostgreSQL", () => undefined);
