import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { createCompany } from "../contract/companies.ts";
import { examineDeeply } from "../contract/doctor.ts";
import { createFile, readFile } from "../contract/knowledge.ts";
import { listEvents, verifyLedger } from "../contract/ledger.ts";
import type { Output } from "../contract/operation.ts";
import { keepAnchor } from "../daemon/anchor.ts";
import { admitBoard, createCore } from "../daemon/core.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { genesis, hashOf, macOf, sealOf } from "../store/chain.ts";
import type { Column, Value } from "../store/columns.ts";
import { dynamic } from "../store/query.ts";
import { tableNames, tables } from "../store/schema.ts";
import { isSealed, rowKeys, type SealedTable } from "../store/row-keys.ts";
import { bothStores, openTestStore, refusal, testKey, type TestCaller } from "../testing/organization.ts";
import { watchStatements } from "../testing/statements.ts";
import { allHeads, listAfter } from "./ledger.ts";
import { wrong } from "./texts.ts";

/** Changes the database and its files from outside. `audit verify` has to find each change. */
for (const kind of bothStores)
  describe(`tampering on ${kind}`, async () => {
    const { store, tamper, blobFolder, close } = await openTestStore(kind);
    const folder = mkdtempSync(join(tmpdir(), "agency-anchor-"));
    const anchorParts = {
      store,
      file: join(folder, "audit-anchor.log"),
      copy: join(folder, "copy.log"),
      sleep: (milliseconds: number, signal: AbortSignal) =>
        sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined),
      reportBug: (error: unknown) => assert.fail(String(error)),
    };
    let anchor = await keepAnchor(anchorParts);
    const { dispatch } = createCore({ store, newId, newSecret, anchor: { read: () => anchor.read() } });
    const token = newSecret();
    const board: TestCaller = async (operation, input) =>
      operation.output.parse(await dispatch({ operation, token, input }));
    await admitBoard(store, token, newId);
    const { id: companyId } = await board(createCompany, { name: "Bakery" });
    await board(createCompany, { name: "Lab" });
    const write = (content: string) => board(createFile, { companyId, description: "notes", content });
    for (const content of ["one", "two", "three", "four", "five"]) await write(content);
    after(async () => {
      await anchor.stop();
      await close();
      rmSync(folder, { recursive: true });
    });

    /** Notes the heads now. The daemon does so once a second. */
    const noteHeads = async () => {
      await anchor.stop();
      anchor = await keepAnchor(anchorParts);
    };
    const check = async (deep = false) => {
      type Problem = Output<typeof verifyLedger>["problems"][number];
      const [problems, content]: [Problem[], Problem[]] = [[], []];
      let [events, rows] = [0, 0];
      for (let cursor: string | undefined; ;) {
        const part = await board(verifyLedger, { cursor, deep });
        for (const one of part.problems)
          (one.row?.startsWith("knowledge/") === true ? content : problems).push(one);
        events += part.checked;
        rows += part.rows;
        if (part.nextCursor === null) return { problems, content, events, rows };
        cursor = part.nextCursor;
      }
    };
    const allTables = [...tableNames];
    const save = (names: readonly string[]) =>
      tamper(names.map((name) => `create table saved_${name} as select * from ${name}`).join(";"));
    const putBack = (names: readonly string[], keep = false) =>
      tamper(
        [
          ...names.flatMap((name) => {
            const columns = columnsOf(name).join(", ");
            return [
              `delete from ${name}`,
              `insert into ${name} (${columns}) select ${columns} from saved_${name}`,
              ...(keep ? [] : [`drop table saved_${name}`]),
            ];
          }),
          "delete from search where rowid not in (select num from files)",
        ].join(";"),
      );
    const ledger = ["events", "ledger_heads"];
    const mine = `company_id = '${companyId}'`;
    const eventsOfCompany = () => store.read((tx) => tx.all(listAfter, { companyId, after: 0, limit: 1000 }));

    /** Changes the data of event `from`, then makes new hashes from there on. An attacker with this key could do the same. */
    const rechain = async (key: string, from: number) => {
      const mac = macOf(key);
      const head = (await store.read((tx) => tx.all(allHeads, {}))).find(
        (one) => one.company_id === companyId,
      );
      assert.ok(head);
      let previous = genesis;
      const statements: string[] = [];
      for (const row of await eventsOfCompany()) {
        if (row.seq < from) {
          previous = row.hash;
          continue;
        }
        const data = row.seq === from ? '{"forged":true}' : row.data;
        const hash = hashOf(mac, { ...row, data, previous });
        statements.push(
          `update events set data = '${data.replaceAll("'", "''")}', previous = '${previous}', hash = '${hash}' where seq = ${row.seq} and ${mine}`,
        );
        previous = hash;
      }
      const seal = sealOf(mac, { ...head, hash: previous });
      statements.push(`update ledger_heads set hash = '${previous}', seal = '${seal}' where ${mine}`);
      await tamper(statements.join(";"));
    };

    test("the record verifies before the changes", async () => {
      await noteHeads();
      const { problems, content, events, rows } = await check(true);
      assert.deepEqual([problems, content], [[], []]);
      assert.ok(events > 5 && rows > 20);
    });

    const last = 5;
    for (const [what, how, seq, says] of [
      [
        "an edited payload",
        () => tamper(`update events set data = '{}' where seq = 3 and ${mine}`),
        3,
        /edited/,
      ],
      [
        "an edited actor",
        () => tamper(`update events set agent_id = 'x' where seq = 2 and ${mine}`),
        2,
        /edited/,
      ],
      [
        "an edited time",
        () => tamper(`update events set at = at - 1 where seq = 2 and ${mine}`),
        2,
        /edited/,
      ],
      [
        "edited digests of rows",
        () => tamper(`update events set rows = '' where seq = 4 and ${mine}`),
        4,
        /edited/,
      ],
      [
        "two exchanged events",
        () =>
          tamper(`update events set seq = -seq where seq in (2, 3) and ${mine};
            update events set seq = 5 + seq where seq < 0 and ${mine}`),
        2,
        /exchanged/,
      ],
      ["a deleted event", () => tamper(`delete from events where seq = 3 and ${mine}`), 3, /missing/],
      [
        "an inserted event",
        () =>
          tamper(`insert into events select company_id, seq + 1, at, actor_kind, agent_id, session_id, person_id, operation, subject, data,
            rows, previous, hash from events where seq = ${last} and ${mine}`),
        last + 1,
        /exchanged|inserted/,
      ],
      [
        "the last 2 events deleted",
        () => tamper(`delete from events where seq > 3 and ${mine}`),
        4,
        /ended with event 5/,
      ],
      [
        "the last 2 events deleted and the head moved",
        () =>
          tamper(`delete from events where seq > 3 and ${mine};
            update ledger_heads set seq = 3, hash = (select hash from events where seq = 3 and ${mine}) where ${mine}`),
        3,
        /end of the ledger was edited/,
      ],
      [
        "a deleted head",
        () => tamper(`delete from ledger_heads where ${mine}`),
        last,
        /end of the ledger was deleted/,
      ],
      [
        "an edited head",
        () => tamper(`update ledger_heads set rows = 'x y' where ${mine}`),
        last,
        /end of the ledger was edited/,
      ],
      [
        "the whole chain of a company deleted",
        () => tamper(`delete from events where ${mine}; delete from ledger_heads where ${mine}`),
        1,
        /earlier state/,
      ],
      ["a chain sealed again without a key", () => rechain("", 1), 1, /without the audit key/],
      [
        "a chain sealed again from the middle without a key",
        () => rechain("", 4),
        4,
        /without the audit key/,
      ],
      ["a chain sealed again with another key", () => rechain("another key", 2), 2, /without the audit key/],
      ["a chain sealed again with the key", () => rechain(testKey, 1), last, /rewritten/],
      ["a chain sealed again from the middle with the key", () => rechain(testKey, 4), last, /rewritten/],
      [
        "an event of the installation edited",
        () => tamper(`update events set subject = 'x' where seq = 1 and company_id = ''`),
        1,
        /edited/,
      ],
    ] as const)
      test(`${what} is named`, async () => {
        await save(ledger);
        await how();
        const { problems } = await check();
        const found = problems.find((one) => one.seq === seq && says.test(one.what));
        assert.ok(found, JSON.stringify(problems));
        assert.notEqual(found.advice, "");
        await putBack(ledger);
        assert.deepEqual((await check()).problems, []);
      });

    for (const [what, table] of [
      ["an event", "events"],
      ["the end of the ledger", "ledger_heads"],
    ] as const)
      for (const garbage of [
        "nonsense",
        "toString",
        "agents",
        "agents/a/b x",
        "agents/%E0%A4%A x",
        "versions/a/b x",
        "people/%00 x",
        "\n\n",
        ...(kind === "sqlite" ? [sqliteBytes] : []),
      ])
        test(`${JSON.stringify(garbage)} in the list of rows of ${what} is named, and the deep check ends`, async () => {
          await save(ledger);
          const [only = ""] = (await eventsOfCompany()).slice(-1).map(({ seq }) => `seq = ${seq} and `);
          await tamper(
            `update ${table} set rows = ${garbage === sqliteBytes ? garbage : `'${garbage}'`} where ${table === "events" ? only : ""}${mine}`,
          );
          const { problems } = await check(true);
          assert.ok(
            problems.some((one) => one.companyId === companyId && /edited/.test(one.what)),
            JSON.stringify(problems),
          );
          assert.ok(
            problems.some(({ what: says }) => /names something that is not a row/.test(says)),
            JSON.stringify(problems),
          );
          await putBack(ledger);
          assert.deepEqual((await check(true)).problems, []);
        });

    test("data of a seal that is not JSON any more is named", async () => {
      await save(ledger);
      await tamper(`update events set data = 'nonsense' where company_id = '' and operation = 'ledger.seal'`);
      const { problems } = await check(true);
      assert.ok(
        problems.some(({ companyId: one, what }) => one === null && /edited/.test(what)),
        JSON.stringify(problems),
      );
      await putBack(ledger);
    });

    test("work continues on a changed head, and the ledger shows it forever", async () => {
      await save(allTables);
      await tamper(`delete from events where seq > 3 and ${mine};
        update ledger_heads set seq = 3, hash = (select hash from events where seq = 3 and ${mine}) where ${mine}`);
      await write("after");
      const { problems } = await check();
      assert.ok(
        problems.some(({ seq, what }) => seq === 4 && /before this event/.test(what)),
        JSON.stringify(problems),
      );
      await putBack(allTables);
    });

    test("a database that was put back as a whole is older than its anchor", async () => {
      await save(allTables);
      await write("later");
      await noteHeads();
      await putBack(allTables, true);
      const { problems } = await check(true);
      assert.ok(
        problems.some((one) => one.companyId === companyId && /earlier state/.test(one.what)),
        JSON.stringify(problems),
      );
      // The check still notices the change after the same number of other events was recorded.
      await write("instead");
      await write("more");
      const again = await check();
      assert.ok(
        again.problems.some(({ what }) => /another hash for this event/.test(what)),
        JSON.stringify(again),
      );
      // Without the first file, its copy in the second place shows the same.
      rmSync(anchorParts.file);
      assert.ok((await check()).problems.length > 0);
      // Otherwise it could note the heads once more before they are put back.
      await anchor.stop();
      for (const file of [anchorParts.file, anchorParts.copy]) rmSync(file, { force: true });
      await putBack(allTables);
      await noteHeads();
      assert.deepEqual((await check(true)).problems, []);
    });

    test("one company that was put back with a valid head is known from the installation's seal", async () => {
      await save(allTables);
      await write("later");
      await noteHeads();
      await anchor.stop();
      await tamper(`delete from events where ${mine} and seq > ${last};
        delete from ledger_heads where ${mine};
        insert into ledger_heads select * from saved_ledger_heads where ${mine}`);
      // The check needs no anchor to notice this.
      rmSync(anchorParts.file);
      rmSync(anchorParts.copy);
      const { problems } = await check();
      assert.deepEqual(
        problems.map((one) => [one.companyId, one.seq]),
        [[companyId, last + 1]],
      );
      await putBack(allTables);
      await noteHeads();
    });

    test("a forged line of the anchor is ignored", async () => {
      await noteHeads();
      const text = readFileSync(anchorParts.file, "utf8");
      for (const file of [anchorParts.file, anchorParts.copy])
        writeFileSync(file, text.replaceAll(/"mac":"./g, '"mac":"x'));
      assert.equal(anchor.read().size, 0);
      await noteHeads();
      assert.ok(anchor.read().size > 0);
    });

    test("content that was changed, exchanged or deleted is refused to its reader, recorded once, and found by the doctor", async () => {
      const [a, b, c] = [await write("content a"), await write("content b"), await write("content c")];
      const damage = async (file: { id: string }, says: RegExp): Promise<void> => {
        const told = await refusal(board(readFile, { id: file.id }), "damaged");
        assert.match(told.message, says);
        await refusal(board(readFile, { id: file.id }), "damaged");
        const { events } = await board(listEvents, { companyId, limit: 1000 });
        const known = events.filter(
          (event) => event.operation === "knowledge.damaged" && event.subject === file.id,
        );
        assert.equal(known.length, 1);
        const { findings } = await board(examineDeeply, {});
        assert.ok(
          findings.some((one) => one.id === file.id),
          JSON.stringify(findings),
        );
      };
      if (blobFolder === undefined) {
        const content = (id: string) => `(select content from blobs where file_id = '${id}')`;
        await tamper(`update blobs set content = set_byte(content, 0, 0) where file_id = '${a.id}'`);
        await tamper(`create table swapped as select ${content(b.id)} as b, ${content(c.id)} as c`);
        await tamper(`update blobs set content = (select c from swapped) where file_id = '${b.id}'`);
        await tamper(`delete from blobs where file_id = '${c.id}'; drop table swapped`);
      } else {
        const file = ({ id, hash }: { id: string; hash: string }) => join(blobFolder, id, hash);
        while (![a, b, c].every(({ id, hash }) => inFolder(join(blobFolder, id)).includes(hash)))
          await sleep(50);
        // The rows are deleted once the files are complete. Until then, content is read from the rows.
        const ids = [a, b, c].map(({ id }) => `'${id}'`).join();
        await tamper(`delete from blobs where file_id in (${ids})`);
        writeFileSync(file(a), "content A");
        renameSync(file(c), file(b));
      }
      await damage(a, /changed/);
      await damage(b, /changed/);
      await damage(c, /deleted/);
      const { content } = await check(true);
      const files = [a, b, c].map(({ id }) => `knowledge/${id}`);
      assert.deepEqual(new Set(content.map(({ row }) => row)), new Set(files));
      for (const { row, what } of content)
        assert.match(what, new RegExp(`^Version of file ${row?.slice(10) ?? ""} has lost its content`));
    });

    if (kind === "postgres")
      test("rows that are gone are looked up together", async () => {
        await save(["files"]);
        await tamper("delete from files");
        const watched = watchStatements();
        try {
          const { problems } = await check(true);
          const deleted = problems.filter(({ what }) => what === wrong.rowDeleted);
          assert.ok(deleted.length >= 5, JSON.stringify(problems));
        } finally {
          watched.stop();
        }
        await putBack(["files"]);
        const lookups = watched.texts.filter((text) => /from "files" where "id" =/.test(text));
        assert.equal(lookups.length, 1, lookups.join("\n"));
      });

    const rowTables = Object.keys(rowKeys).filter(isSealed);
    test("every cell of every table is compared with the ledger", async (t) => {
      const keys = new Map<SealedTable, string>();
      for (const table of rowTables) {
        const row = sampleOf(table, companyId);
        await store.write(async (tx) => {
          const names = sql.join(Object.keys(row).map((name) => sql.ref(name)));
          const text = sql`insert into ${sql.table(table)} (${names}) values (${sql.join(Object.values(row))})`;
          await tx.run(
            dynamic((db) => ({ compile: () => text.compile(db) })),
            {},
          );
        });
        keys.set(
          table,
          Object.entries(row)
            .filter(([name]) => keyColumns(table).includes(name))
            .map(([name, value]) => `${name} = ${literal(value)}`)
            .join(" and "),
        );
      }
      assert.deepEqual((await check(true)).problems, []);
      await save(rowTables);
      /** Changes many tables at once, and expects a finding about each of them. */
      const changing = async (changes: readonly (readonly [SealedTable, string])[], says: RegExp) => {
        await tamper(changes.map(([, text]) => text).join(";"));
        const { problems } = await check(true);
        for (const [table, text] of changes)
          assert.ok(
            problems.some(({ row, what }) => row?.startsWith(`${table}/`) === true && says.test(what)),
            `${text}: ${JSON.stringify(problems)}`,
          );
        await putBack(rowTables, true);
      };
      const cells: (readonly [SealedTable, string])[][] = [];
      const skipped: string[] = [];
      for (const table of rowTables)
        for (const [index, [column, { type, generated, unsealed }]] of Object.entries<Column>(
          tables[table],
        ).entries()) {
          const text = `update ${table} set ${column} = ${type === "text" ? "'edited'" : `${column} + 41`} where ${keys.get(table)}`;
          if (unsealed === true) skipped.push(`${table}.${column}`);
          else if (!generated) (cells[index] ??= []).push([table, text]);
        }
      for (const round of cells) await changing(round, /./);
      await changing(
        rowTables.map((table) => [table, `delete from ${table} where ${keys.get(table)}`] as const),
        /missing/,
      );
      await tamper(rowTables.map((table) => `drop table saved_${table}`).join(";"));
      t.diagnostic(`${cells.flat().length} cells`);
      // A lease is renewed all the time, so the ledger does not record it. Of a server's health, it records each change between
      // working and failing.
      assert.deepEqual(skipped, ["sessions.lease_until", "mcp_servers.health"]);
      assert.deepEqual((await check(true)).problems, []);
    });

    test("a row that was inserted, and a row that was put back to its earlier values, are named", async () => {
      const { id } = await write("first");
      await save(["files", "versions", "edges"]);
      await tamper(`insert into edges (parent_id, child_id) values ('a', 'b')`);
      const inserted = await check(true);
      assert.deepEqual(
        inserted.problems.map(({ row, what }) => [row, /inserted/.test(what)]),
        [["edges/a/b", true]],
      );
      await tamper(`delete from edges where parent_id = 'a'`);
      await store.write(async (tx) => {
        const text = sql`update files set description = 'newer' where id = ${id}`;
        await tx.run(
          dynamic((db) => ({ compile: () => text.compile(db) })),
          {},
        );
      });
      await tamper(`update files set description = 'notes' where id = '${id}'`);
      const restored = await check(true);
      assert.deepEqual(
        restored.problems.map(({ row }) => row),
        [`files/${id}`],
      );
      await tamper(`update files set description = 'newer' where id = '${id}'`);
      for (const name of ["files", "versions", "edges"]) await tamper(`drop table saved_${name}`);
      assert.deepEqual((await check(true)).problems, []);
    });
  });

const inFolder = (path: string): string[] => {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
};

/** Bytes in a column of text. PostgreSQL refuses them. */
const sqliteBytes = "x'00ff'";

const keyColumns = (table: SealedTable): readonly string[] =>
  table === "reviews" ? ["outcome_id"] : rowKeys[table];

const columnsOf = (name: string): string[] =>
  Object.entries<Record<string, Column>>(tables).flatMap(([table, columns]) =>
    table === name ? Object.keys(columns) : [],
  );

const literal = (value: Value): string => (typeof value === "number" ? String(value) : `'${String(value)}'`);

/** A row with some value in every column. */
function sampleOf(table: SealedTable, companyId: string): Record<string, Value> {
  return Object.fromEntries(
    Object.entries<Column>(tables[table]).flatMap(([name, { type, generated }]): [string, Value][] => {
      if (generated) return [];
      if (name === "company_id") return [[name, companyId]];
      return [[name, type === "text" ? `sample ${table}` : 7]];
    }),
  );
}
