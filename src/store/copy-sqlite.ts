import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdir, open, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { checkRow } from "./checks.ts";
import type { Value } from "./columns.ts";
import { columnsIn, type CopySource, type CopyTarget, keyOf, selectRows } from "./copying.ts";
import { macOf } from "./chain.ts";
import { copyMark } from "./migrations.ts";
import { blobRow, fill, type Query } from "./query.ts";
import { openSqlite } from "./sqlite.ts";
import { privateFile } from "./blob-files.ts";
import { inMap } from "../contract/in-map.ts";

/** SQLite as the source or the target of a copy (copying.ts). */
export interface SqlitePlace {
  readonly path: string;
  readonly blobFolder: string;
  readonly key: string;
}

/** Reads one state of the database, while a daemon may write to it. */
export function readSqlite({ path, blobFolder, key }: SqlitePlace): CopySource {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  const statements = new Map<string, StatementSync>();
  const prepare = (text: string): StatementSync =>
    inMap(statements, text, () => {
      const statement = db.prepare(text);
      statement.setReturnArrays(true);
      return statement;
    });
  const all = (text: string, values: readonly Value[]) =>
    prepare(text).all(...values) as unknown as Value[][];
  const found = <P extends Readonly<Record<string, Value>>, R>(q: Query<P, R>, params: P): R[] => {
    const { sql, slots, checks } = q.on("sqlite");
    const statement = db.prepare(sql);
    const rows = statement.all(...fill(slots, params));
    for (const row of rows) checkRow({ ...row } as Record<string, Value>, checks);
    return rows.map((row) => ({ ...row }) as R);
  };
  const content: CopySource["content"] = async ({ fileId, hash }) => {
    const [row] = found(blobRow, { file_id: fileId, hash });
    if (row !== undefined) return row.content;
    const file = join(blobFolder, fileId, hash);
    return existsSync(file) ? readFileSync(file) : undefined;
  };
  // The state is fixed by the first read, not by `begin`.
  db.exec("begin");
  all("select count(*) from migrations", []);
  return {
    tx: {
      dialect: "sqlite",
      now: Date.now(),
      mac: macOf(key),
      blobs: { read: async (fileId, hash) => (await content({ fileId, hash })) ?? new Uint8Array() },
      all: async (q, params) => found(q, params),
      first: async (q, params) => found(q, params)[0],
      ahead: () => undefined,
    },
    rows: async (table, after, limit) =>
      all(
        selectRows(table, after === null, () => "?"),
        [...(after ?? []), limit],
      ),
    content,
    close: async () => db.close(),
  };
}

/** The database must not exist, unless it is an unfinished copy. */
export function fillSqlite(place: SqlitePlace): CopyTarget {
  const { path, blobFolder, key } = place;
  let db: DatabaseSync | undefined;
  const opened = (): DatabaseSync => {
    if (db === undefined) throw new Error("the copy has not begun");
    return db;
  };
  const connect = (): DatabaseSync => {
    const database = new DatabaseSync(privateFile(path), { timeout: 5000 });
    database.exec("pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -65536");
    return database;
  };
  const clear = (): void => {
    db?.close();
    db = undefined;
    for (const name of [path, `${path}-wal`, `${path}-shm`]) rmSync(name, { force: true });
    rmSync(blobFolder, { recursive: true, force: true });
  };
  const inTransaction = (work: (database: DatabaseSync) => void): void => {
    const database = opened();
    database.exec("begin immediate");
    try {
      work(database);
      database.exec("commit");
    } catch (error) {
      database.exec("rollback");
      throw error;
    }
  };
  const namesIn = (table: string, column: string, like: string): string[] => {
    if (!existsSync(path)) return [];
    db ??= connect();
    // A process that died while it created the database may have left it without tables.
    if (db.prepare("select 1 from sqlite_master where name = ?").get(table) === undefined) return [];
    const rows = db.prepare(`select ${column} as name from ${table} where ${column} like ?`).all(like);
    return rows.map(({ name }) => String(name));
  };
  const marksIn = (): string[] => namesIn("migrations", "name", `${copyMark}%`);
  return {
    state: async () => {
      if (marksIn().length > 0) return "unfinished";
      const hasContent = existsSync(blobFolder) && readdirSync(blobFolder).length > 0;
      return hasContent || namesIn("ledger_heads", "company_id", "%").length > 0 ? "taken" : "empty";
    },
    begin: async (state) => {
      const mark = `${copyMark}${state}`;
      const marks = marksIn();
      if (marks.includes(mark)) return;
      if (marks.length > 0) clear();
      db?.close();
      await openSqlite({ path, clock: Date.now, key }).close();
      db = connect();
      db.prepare("insert into migrations (name, applied_at) values (?, ?)").run(mark, Date.now());
    },
    last: async (table) => {
      const by = keyOf(table);
      const row = opened()
        .prepare(
          `select ${by.join(", ")} from ${table} order by ${by.map((one) => `${one} desc`).join(", ")} limit 1`,
        )
        .get();
      return row === undefined ? null : by.map((column) => row[column] as Value);
    },
    insert: async (table, rows) => {
      const columns = columnsIn(table);
      inTransaction((database) => {
        const insert = database.prepare(
          `insert into ${table} (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`,
        );
        for (const row of rows) insert.run(...row);
      });
    },
    lacking: async (versions) =>
      versions.filter(({ fileId, hash }) => !existsSync(join(blobFolder, fileId, hash))),
    keep: async (contents) => {
      await Promise.all(
        contents.map(({ fileId, hash, bytes }) => keepFile(join(blobFolder, fileId), hash, bytes)),
      );
    },
    look: async () => readSqlite(place),
    finish: async () => {
      const database = opened();
      database.exec("analyze");
      database.exec("pragma synchronous = full");
      database.prepare("delete from migrations where name like ?").run(`${copyMark}%`);
      database.exec("pragma wal_checkpoint(truncate)");
    },
    clear: async () => clear(),
    close: async () => db?.close(),
  };
}

/** Writes the file completely or not at all. Its folder is synced with it. */
async function keepFile(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `.${name}.tmp`);
  await writeFile(draft, bytes, { mode: 0o600, flush: true });
  await rename(draft, join(folder, name));
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
