// Summarizes the content of a store, table by table. Tests use it to prove that a refused call changed nothing.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { sql } from "kysely";
import { sealOperation } from "../src/events/verify.ts";
import { newEvents, seenSoFar } from "../src/events/ledger.ts";
import { dynamic, type Query } from "../src/store/query.ts";
import type { ReadTx, Store } from "../src/store/store.ts";

/** Table → number of rows and a hash over all of them. */
export type Digest = Readonly<Record<string, string>>;

/**
 * A digest of every table, with two exceptions: the ledger, which records refusals, and the nodes, because a daemon reports
 * itself every few seconds. The database summarizes the tables itself.
 */
export async function digestOf(store: Store): Promise<Digest> {
  return store.read(async (tx) => {
    const summary = (summaries[tx.dialect] ??= await summaryOn(tx));
    const digest: Record<string, string> = {};
    for (const { name, count, content } of await tx.all(summary, {}))
      digest[String(name)] =
        `${String(count)} rows ${createHash("sha256").update(String(content)).digest("hex").slice(0, 16)}`;
    return digest;
  });
}

const notCompared = new Set(["events", "ledger_heads", "nodes"]);

/** All stores have the same tables. */
const summaries: Partial<Record<ReadTx["dialect"], Query<Record<never, never>, Row>>> = {};

/**
 * One statement that returns each table's name, number of rows and content. SQLite reads a table in the order of its keys,
 * which does not change with a call that changes nothing. Sorting the text of all rows took half of the walk's time.
 */
async function summaryOn(tx: ReadTx): Promise<Query<Record<never, never>, Row>> {
  const parts: string[] = [];
  for (const table of await tablesOf(tx)) {
    if (notCompared.has(table)) continue;
    const rows = contentOf(table);
    const content =
      tx.dialect === "sqlite"
        ? listed(await columnsIn(tx, rows))
        : `md5(string_agg(t::text, chr(10) order by t::text collate "C"))`;
    parts.push(`select '${table}' as name, count(*) as count, ${content} as content from (${rows}) t`);
  }
  return raw(parts.join(" union all "));
}

function listed(columns: readonly string[]): string {
  const row = columns.map((column) => `quote(${column})`).join(" || ',' || ");
  return `group_concat(${row}, char(10))`;
}

async function columnsIn(tx: ReadTx, rows: string): Promise<string[]> {
  const first = await tx.first(raw(`select * from (select 1) left join (${rows}) limit 1`), {});
  return Object.keys(first ?? {}).slice(1);
}

/**
 * Makes the calls and checks that they changed nothing in the store, except for recorded refusals. A daemon also seals the
 * heads of its companies once a minute.
 */
export async function unchanged(store: Store, calls: () => Promise<void>): Promise<void> {
  const digest = await digestOf(store);
  const before = await store.read(seenSoFar);
  await calls();
  assert.deepEqual(await digestOf(store), digest);
  const events = await store.read((tx) => newEvents(tx, before));
  assert.deepEqual(
    events.filter(({ operation }) => operation !== "access.refused" && operation !== sealOperation),
    [],
  );
}

/** All text in the store, including the ledger. Tests use it to prove that a secret is not stored. */
export async function everythingIn(store: Store): Promise<string> {
  return store.read(async (tx) => {
    const texts: string[] = [];
    for (const table of await tablesOf(tx))
      for (const row of await tx.all(raw(`select * from ${table}`), {}))
        texts.push(
          Object.values(row)
            .map((value) =>
              value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value),
            )
            .join(" "),
        );
    return texts.join("\n");
  });
}

async function tablesOf(tx: ReadTx): Promise<string[]> {
  const rows = await tx.all(
    raw(
      tx.dialect === "sqlite"
        ? "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
        : "select tablename as name from pg_tables where schemaname = 'public'",
    ),
    {},
  );
  // The shadow tables of the search index have an internal format. The index itself is read completely instead.
  return rows
    .map(({ name }) => String(name))
    .filter((name) => !name.startsWith("search_"))
    .toSorted();
}

/** Content moves from its table to files in the background. Content that no version refers to would be a leftover. */
function contentOf(table: string): string {
  if (table === "blobs")
    return "select b.file_id, b.hash from blobs b left join versions v on v.file_id = b.file_id and v.hash = b.hash where v.hash is null";
  return table === "search" ? "select rowid, description, body from search" : `select * from ${table}`;
}

type Row = Readonly<Record<string, unknown>>;

function raw(statement: string): Query<Record<never, never>, Row> {
  return dynamic((db) => ({ compile: () => sql<Row>`${sql.raw(statement)}`.compile(db) }));
}
