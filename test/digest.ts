// What a store holds, table by table: to prove that a refused call changed nothing.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { sql } from "kysely";
import { dynamic, type Query } from "../src/store/query.ts";
import type { ReadTx, Store } from "../src/store/store.ts";

/** Table → number of rows and a hash over all of them. */
export type Digest = Readonly<Record<string, string>>;

/** Every table but those of the ledger, which refusals are put on record in. */
export async function digestOf(store: Store): Promise<Digest> {
  return store.read(async (tx) => {
    const digest: Record<string, string> = {};
    for (const table of await tablesOf(tx)) {
      if (table === "events" || table === "ledger_head") continue;
      const rows = (await tx.all(contentOf(table), {})).map((row) => JSON.stringify(row, plain)).toSorted();
      digest[table] =
        `${rows.length} rows ${createHash("sha256").update(rows.join("\n")).digest("hex").slice(0, 16)}`;
    }
    return digest;
  });
}

/** Makes the calls and checks that the store is as it was, but for refusals put on record. */
export async function unchanged(store: Store, calls: () => Promise<void>): Promise<void> {
  const digest = await digestOf(store);
  const { last } = await eventsAfter(store, 0);
  await calls();
  assert.deepEqual(await digestOf(store), digest);
  const { operations } = await eventsAfter(store, last);
  assert.deepEqual(
    operations.filter((name) => name !== "access.refused"),
    [],
  );
}

/** The operations in the ledger after a sequence number, and the last number. */
export async function eventsAfter(
  store: Store,
  seq: number,
): Promise<{ operations: string[]; last: number }> {
  const rows = await store.read((tx) =>
    tx.all(
      dynamic((db) =>
        db.selectFrom("events").select(["seq", "operation"]).where("seq", ">", seq).orderBy("seq"),
      ),
      {},
    ),
  );
  return { operations: rows.map(({ operation }) => operation), last: rows.at(-1)?.seq ?? seq };
}

/** All text the store holds, the ledger included: to prove that a secret is nowhere. */
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
  // The shadow tables of the search index hold its words in a form of their own; the index itself is read whole.
  return rows
    .map(({ name }) => String(name))
    .filter((name) => !name.startsWith("search_"))
    .toSorted();
}

/** Content moves from its table to files behind the writers' backs; what no version names would be a leftover. */
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
