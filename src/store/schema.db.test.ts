import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type RawBuilder, sql } from "kysely";
import { viewAgent } from "../contract/agents.ts";
import { listApprovals } from "../contract/approvals.ts";
import { listAgentGrants } from "../contract/capabilities.ts";
import { hireAgent } from "../contract/hiring.ts";
import { readFile } from "../contract/knowledge.ts";
import { listEvents } from "../contract/ledger.ts";
import { viewOutcome } from "../contract/outcomes.ts";
import { bothStores, openTestStore, sharedOrganization } from "../testing/organization.ts";
import type { Column, Value } from "./columns.ts";
import { dynamic, type Query } from "./query.ts";
import { type TableName, tableNames, tables } from "./schema.ts";
import type { Tx } from "./store.ts";

interface Found {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly nullable: number;
}

/** Every column of the database. A primary key is never null, even if SQLite does not report that. */
const columnsIn = {
  sqlite: sql<Found>`select m.name as "table", p.name as "column", p.type,
      case when p."notnull" = 1 or p.pk > 0 then 0 else 1 end as nullable
    from sqlite_master m join pragma_table_info(m.name) p where m.type = 'table'`,
  postgres: sql<Found>`select table_name as "table", column_name as "column", data_type as type,
      case when is_nullable = 'NO' then 0 else 1 end as nullable
    from information_schema.columns where table_schema = current_schema()`,
};
const typeOf: Readonly<Record<string, Column["type"]>> = {
  text: "text",
  integer: "integer",
  bigint: "integer",
  "double precision": "real",
  blob: "blob",
  bytea: "blob",
};
/** Leaves out the store's own list of migrations, and the index for searching, which differs between the stores. */
const isOurs = (table: string): boolean => table !== "migrations" && !table.startsWith("search");

const columns = tableNames.flatMap((table) =>
  Object.entries<Column>(tables[table]).map(([name, column]) => ({ table, name, column })),
);
const checked = columns.filter(({ column }) => column.knows !== undefined);
const tomorrow = ({ type }: Column) => (type === "text" ? "of tomorrow" : 7);

function raw<R>(text: RawBuilder<R>): Query<Record<never, never>, R> {
  return dynamic((db) => ({ compile: () => text.compile(db) }));
}

/** Inserts a row with a value in every column that must not be null. */
async function insert(
  tx: Tx,
  table: TableName,
  values: Readonly<Record<string, string | number>>,
): Promise<void> {
  const something = { text: "x", integer: 0, real: 0, blob: Buffer.from("x") };
  const filled = Object.entries<Column>(tables[table])
    .filter(([, { nullable, generated }]) => !nullable && !generated)
    .map(([name, { type }]) => [name, something[type]] as const);
  const row = Object.entries({ ...Object.fromEntries(filled), ...values });
  const into = sql.join(row.map(([name]) => sql.ref(name)));
  await tx.run(
    raw(sql`insert into ${sql.table(table)} (${into}) values (${sql.join(row.map(([, value]) => value))})`),
    {},
  );
}

for (const kind of bothStores)
  describe(`the schema on ${kind}`, async () => {
    test("the migrations make exactly the columns that the schema declares", async () => {
      const { store, close } = await openTestStore(kind, { fast: true });
      try {
        const found = await store.read((tx) => tx.all(raw(columnsIn[kind]), {}));
        const line = (table: string, column: string, type: string | undefined, nullable: boolean): string =>
          `${table}.${column} ${type ?? "?"}${nullable ? "" : " not null"}`;
        assert.deepEqual(
          found
            .filter(({ table }) => isOurs(table))
            .map(({ table, column, type, nullable }) =>
              line(table, column, typeOf[type.toLowerCase()], nullable === 1),
            )
            .toSorted(),
          columns
            .map(({ table, name, column }) => line(table, name, column.type, column.nullable))
            .toSorted(),
        );
      } finally {
        await close();
      }
    });

    test("a read fails on a value that the code does not know, in every column", async () => {
      assert.equal(checked.length, 42);
      const { store, close } = await openTestStore(kind, { fast: true });
      try {
        await store.write((tx) => insert(tx, "companies", { id: "x" }));
        for (const { table, name, column } of checked)
          await store.write(async (tx) => {
            await insert(tx, table, { [name]: tomorrow(column) });
            const message = new RegExp(`^${table}\\.${name} is .* does not know$`);
            const read = dynamic((db) => db.selectFrom(table).select(db.dynamic.ref<never>(name)));
            await assert.rejects(tx.all(read, {}), { message });
            await tx.run(
              raw(sql`delete from ${sql.table(table)} where ${sql.ref(name)} = ${tomorrow(column)}`),
              {},
            );
          });
      } finally {
        await close();
      }
    });

    test("an operation that reads such a value fails and does not answer with another value", async () => {
      const { org, store } = await sharedOrganization(kind, { approvals: true });
      const { companyId, rootId, board } = org;
      const { id } = await org.agent("Ada");
      await org.root(hireAgent, { name: "Ben", role: "x" });
      const outcome = await org.outcome("Work");
      const cases: readonly [string, () => Promise<unknown>][] = [
        ["agents.status", () => board(viewAgent, { id })],
        ["approvals.status", () => board(listApprovals, { companyId })],
        ["approvals.type", () => board(listApprovals, { companyId })],
        ["grants.origin", () => board(listAgentGrants, { id: rootId })],
        ["grants.resource", () => board(listAgentGrants, { id: rootId })],
        ["grants.level", () => board(listAgentGrants, { id: rootId })],
        ["outcomes.kind", () => board(viewOutcome, { id: outcome })],
        ["outcomes.status", () => board(viewOutcome, { id: outcome })],
        ["files.kind", () => board(readFile, { id: outcome })],
        ["events.actor_kind", () => board(listEvents, { companyId })],
      ];
      for (const [place, ask] of cases) {
        await ask();
        const [table = "", name = ""] = place.split(".");
        const [at, column] = [sql.table(table), sql.ref(name)];
        const key = sql.ref(table === "events" ? "seq" : "id");
        const value = name === "level" ? 7 : "of tomorrow";
        const former = await store.write(async (tx) => {
          const read = raw(
            sql<{ key: Value; value: Value }>`select ${key} as key, ${column} as value from ${at}`,
          );
          const rows = await tx.all(read, {});
          await tx.run(raw(sql`update ${at} set ${column} = ${value}`), {});
          return rows;
        });
        const message = `${place} is ${JSON.stringify(value)}, a value this version does not know`;
        await assert.rejects(ask(), { message });
        await store.write(async (tx) => {
          for (const row of former)
            await tx.run(raw(sql`update ${at} set ${column} = ${row.value} where ${key} = ${row.key}`), {});
        });
      }
    });
  });
