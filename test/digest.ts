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

/** Every table except those of the ledger, because the ledger records refusals. */
export async function digestOf(store: Store): Promise<Digest> {
  return store.read(async (tx) => {
    const digest: Record<string, string> = {};
    for (const table of await tablesOf(tx)) {
      if (table === "events" || table === "ledger_heads") continue;
      const rows = (await tx.all(contentOf(table), {})).map((row) => JSON.stringify(row, plain)).toSorted();
      digest[table] =
        `${rows.length} rows ${createHash("sha256").update(rows.join("\n")).digest("hex").slice(0, 16)}`;
    }
    return digest;
  });
}

/**
 * Makes the calls and checks that they changed nothing in the store except for recorded refusals. A daemon also seals the
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
function contentOf(table: string): Query<Record<never, never>, Row> {
  if (table === "blobs")
    return raw(
      "select b.file_id, b.hash from blobs b left join versions v on v.file_id = b.file_id and v.hash = b.hash where v.hash is null",
    );
  return raw(table === "search" ? "select rowid, description, body from search" : `select * from ${table}`);
}

type Row = Readonly<Record<string, unknown>>;

function raw(statement: string): Query<Record<never, never>, Row> {
  return dynamic((db) => ({ compile: () => sql<Row>`${sql.raw(statement)}`.compile(db) }));
}

function plain(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? createHash("sha256").update(value).digest("hex") : value;
}
