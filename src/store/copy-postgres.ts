import pg from "pg";
import { checkRow } from "./checks.ts";
import type { Column, Value } from "./columns.ts";
import {
  columnsIn,
  copiedTables,
  type CopiedTable,
  type CopySource,
  type CopyTarget,
  keyOf,
  numberedTables,
  selectRows,
} from "./copying.ts";
import { macOf } from "./chain.ts";
import { copyMark } from "./migrations.ts";
import { alive, answersIn, asRefusal, getTypeParser, guard, keepSockets } from "./connections.ts";
import { openPostgres } from "./postgres.ts";
import { blobRow, fill, type Query } from "./query.ts";
import { tables } from "./schema.ts";
import { entryWords } from "./search-words.ts";

/** PostgreSQL as the source or the target of a copy (copying.ts). */
export interface PostgresPlace {
  readonly url: string;
  readonly key: string;
  /** How long an answer may take. Tests shorten it. */
  readonly patience?: number;
}

/** Reads one state of the database, while nodes may write to it. */
export async function readPostgres(place: PostgresPlace): Promise<CopySource> {
  const { client, end } = await connect(place);
  await client.query("begin isolation level repeatable read read only");
  const { rows: times } = await client.query<{ now: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
  );
  const found = async <P extends Readonly<Record<string, Value>>, R>(
    q: Query<P, R>,
    params: P,
  ): Promise<R[]> => {
    const { sql, slots, checks } = q.on("postgres");
    const { rows } = await client.query({ text: sql, values: fill(slots, params) });
    for (const row of rows) checkRow(row, checks);
    return rows as R[];
  };
  const content: CopySource["content"] = async ({ fileId, hash }) =>
    (await found(blobRow, { file_id: fileId, hash }))[0]?.content;
  return {
    tx: {
      dialect: "postgres",
      now: times[0]?.now ?? 0,
      mac: macOf(place.key),
      blobs: { read: async (fileId, hash) => (await content({ fileId, hash })) ?? new Uint8Array() },
      all: found,
      first: async (q, params) => (await found(q, params))[0],
      ahead: () => undefined,
    },
    rows: async (table, after, limit) => {
      const text = selectRows(table, after === null, (index) => `$${index + 1}`);
      const values = [...(after ?? []), limit];
      return (await client.query<Value[]>({ text, values, rowMode: "array" })).rows;
    },
    content,
    close: end,
  };
}

/** The database must be empty, or an unfinished copy. */
export async function fillPostgres(place: PostgresPlace): Promise<CopyTarget> {
  const { url, key } = place;
  const { client, end } = await connect(place);
  const marksIn = async (): Promise<string[]> => {
    const { rows } = await client.query("select to_regclass('migrations') is not null as made");
    if (rows[0]?.made !== true) return [];
    const found = await client.query<{ name: string }>("select name from migrations where name like $1", [
      `${copyMark}%`,
    ]);
    return found.rows.map(({ name }) => name);
  };
  const clear = async (): Promise<void> => {
    for (const table of [...copiedTables, "blobs", "migrations"])
      await client.query(`drop table if exists ${table}`);
  };
  return {
    state: async () => {
      if ((await marksIn()).length > 0) return "unfinished";
      const { rows } = await client.query("select to_regclass('ledger_heads') is not null as made");
      if (rows[0]?.made !== true) return "empty";
      return (await client.query("select 1 from ledger_heads limit 1")).rows.length > 0 ? "taken" : "empty";
    },
    begin: async (state) => {
      const mark = `${copyMark}${state}`;
      const marks = await marksIn();
      if (marks.includes(mark)) return;
      if (marks.length > 0) await clear();
      await (await openPostgres({ url, key })).close();
      await client.query("insert into migrations (name, applied_at) values ($1, 0)", [mark]);
    },
    last: async (table) => {
      const by = keyOf(table);
      const { rows } = await client.query<Value[]>({
        text: `select ${by.join(", ")} from ${table} order by ${by.map((one) => `${one} desc`).join(", ")} limit 1`,
        rowMode: "array",
      });
      return rows[0] ?? null;
    },
    insert: async (table, rows) => {
      if (rows.length === 0) return;
      const columns = columnsIn(table);
      const lists = columns.map((_, index) => rows.map((row) => row[index] ?? null));
      const holes = columns.map((column, index) => `$${index + 1}::${arrayOf(table, column)}`);
      const names = columns.join(", ");
      if (table !== "search")
        await client.query(
          `insert into ${table} (${names}) select * from unnest(${holes.join(", ")})`,
          lists,
        );
      else
        await client.query(
          `insert into search (${names}, words) select ${names}, array_to_tsvector(said::text[])
           from unnest(${holes.join(", ")}, $${columns.length + 1}::text[]) as rows(${names}, said)`,
          [...lists, rows.map(([, description, body]) => entryWords(String(description), String(body)))],
        );
    },
    lacking: async (versions) => {
      const { rows } = await client.query<{ file_id: string; hash: string }>(
        "select b.file_id, b.hash from blobs b join unnest($1::text[], $2::text[]) as w(file_id, hash) using (file_id, hash)",
        [versions.map(({ fileId }) => fileId), versions.map(({ hash }) => hash)],
      );
      const there = new Set(rows.map(({ file_id, hash }) => `${file_id} ${hash}`));
      return versions.filter(({ fileId, hash }) => !there.has(`${fileId} ${hash}`));
    },
    keep: async (contents) => {
      await client.query(
        "insert into blobs (file_id, hash, content) select * from unnest($1::text[], $2::text[], $3::bytea[]) on conflict do nothing",
        [
          contents.map(({ fileId }) => fileId),
          contents.map(({ hash }) => hash),
          contents.map(({ bytes }) => Buffer.from(bytes)),
        ],
      );
    },
    look: () => readPostgres(place),
    finish: async () => {
      for (const { table, column } of numberedTables)
        await client.query(
          `select setval(pg_get_serial_sequence('${table}', '${column}'), coalesce((select max(${column}) from ${table}), 0) + 1, false)`,
        );
      await client.query("analyze");
      await client.query("delete from migrations where name like $1", [`${copyMark}%`]);
    },
    clear,
    close: end,
  };
}

function arrayOf(table: CopiedTable, column: string): string {
  if (table === "search") return column === "rowid" ? "bigint[]" : "text[]";
  const { type }: Column = { ...(tables[table] as Record<string, Column>)[column] } as Column;
  return { text: "text[]", integer: "bigint[]", real: "double precision[]", blob: "bytea[]" }[type];
}

/** A connection whose silence ends the copy: `agency backup` would otherwise hang over a dead path without a word. */
async function connect({ url, patience = answersIn.copy }: PostgresPlace) {
  const sockets = keepSockets();
  const client = new pg.Client({
    connectionString: url,
    types: { getTypeParser },
    ...alive,
    query_timeout: patience,
    stream: sockets.stream,
  });
  // A broken connection fails its next query.
  client.on("error", () => undefined);
  await client.connect().catch((error: unknown) => {
    throw asRefusal(error);
  });
  // The source keeps its state while the target is checked.
  await guard(client, 600_000);
  return { client, end: () => sockets.end(client.end()) };
}
