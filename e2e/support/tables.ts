// The tables of a store, looked at from outside the daemon: whether rows that belong together are there together.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { hash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import type { DaemonOptions } from "./daemon.ts";

export interface Tables {
  ask(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Where SQLite keeps content that was moved out of the database. */
  readonly blobFolder: string | undefined;
  close(): Promise<void>;
}

/** Of whatever store a daemon with these options keeps. */
export async function openTables({ home, databaseUrl }: DaemonOptions): Promise<Tables> {
  return databaseUrl === undefined ? sqliteTables(home) : postgresTables(databaseUrl);
}

export function sqliteTables(home: string): Tables {
  const db = new DatabaseSync(join(home, "agency.db"), { readOnly: true, timeout: 5000 });
  return {
    ask: async (sql) => db.prepare(sql).all(),
    blobFolder: join(home, "knowledge"),
    close: async () => db.close(),
  };
}

export async function postgresTables(url: string): Promise<Tables> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  return {
    ask: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    blobFolder: undefined,
    close: () => client.end(),
  };
}

/** Each query finds rows that must not be there. */
const halves: Readonly<Record<string, string>> = {
  "a file disagrees with its newest version": `select f.id from files f
    left join versions v on v.file_id = f.id and v.version = f.version
    where v.hash is null or v.hash <> f.hash or v.size <> f.size`,
  "version numbers have a gap": `select file_id as id from versions group by file_id
    having count(*) <> max(version) or min(version) <> 1`,
  "a version is not of a file, or newer than its file": `select v.file_id as id from versions v
    left join files f on f.id = v.file_id where f.id is null or v.version > f.version`,
  "content belongs to no version": `select b.file_id as id from blobs b
    left join versions v on v.file_id = b.file_id and v.hash = b.hash where v.file_id is null`,
  "an outcome has no file": `select o.id from outcomes o
    left join files f on f.id = o.id and f.kind = 'outcome' where f.id is null`,
  "the file of an outcome has no outcome": `select f.id from files f
    left join outcomes o on o.id = f.id where f.kind = 'outcome' and o.id is null`,
  "an outcome hangs below nothing": `select o.id from outcomes o
    left join edges e on e.child_id = o.id
    left join outcomes p on p.id = e.parent_id where o.kind <> 'perpetual' and p.id is null`,
  "a file cannot be searched": `select f.id from files f
    left join search s on s.rowid = f.num where f.deleted_at is null and s.rowid is null`,
  "the search knows a file that is not there": `select s.rowid as id from search s
    left join files f on f.num = s.rowid where f.num is null`,
  "an agent's file was not given to it": `select f.id from files f
    join versions v on v.file_id = f.id and v.version = 1 and v.author_agent_id is not null
    left join grants g on g.resource = 'kb:' || f.id and g.grantee_id = v.author_agent_id and g.origin = 'creation'
    where f.kind = 'file' and g.id is null`,
  "sequence numbers have a gap": `select max(seq) as id from events having count(*) <> coalesce(max(seq), 0)`,
};

export async function checkTables(tables: Tables): Promise<string[]> {
  const problems: string[] = [];
  for (const [problem, sql] of Object.entries(halves)) {
    const rows = await tables.ask(sql);
    if (rows.length > 0) problems.push(`${problem}: ${rows.length} times, first ${String(rows[0]?.["id"])}`);
  }
  if (tables.blobFolder === undefined) {
    const rows = await tables.ask(`select v.file_id as id from versions v
      left join blobs b on b.file_id = v.file_id and b.hash = v.hash where b.file_id is null`);
    if (rows.length > 0)
      problems.push(`a version has no content: ${rows.length} times, first ${String(rows[0]?.["id"])}`);
    return problems;
  }
  const [integrity] = await tables.ask("pragma integrity_check");
  if (integrity?.["integrity_check"] !== "ok")
    problems.push(`integrity_check: ${String(integrity?.["integrity_check"])}`);
  await checkBlobFiles(tables, tables.blobFolder, problems);
  return problems;
}

/** Content is in the table, in its file, or in both; a file holds what its name says, and belongs to a version. */
async function checkBlobFiles(tables: Tables, folder: string, problems: string[]): Promise<void> {
  const nameOf = (row: Readonly<Record<string, unknown>>): string =>
    `${String(row["file_id"])}/${String(row["hash"])}`;
  const namesIn = async (sql: string): Promise<Set<string>> => new Set((await tables.ask(sql)).map(nameOf));
  const versionsBefore = await namesIn("select file_id, hash from versions");
  // The rows first and the files after: content that is moved meanwhile is seen at least once.
  const held = await namesIn("select file_id, hash from blobs");
  const files = existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.name.endsWith(".tmp"))
        .map((entry) => join(entry.parentPath, entry.name))
    : [];
  const versions = await namesIn("select file_id, hash from versions");
  for (const file of files) {
    const name = file.split(/[/\\]/).slice(-2).join("/");
    held.add(name);
    if (!versions.has(name)) problems.push(`content belongs to no version: ${name}`);
    if (hash("sha256", readFileSync(file)) !== name.split("/")[1])
      problems.push(`a file of content is not what its name says: ${name}`);
  }
  const missing = [...versionsBefore].filter((name) => !held.has(name));
  if (missing.length > 0)
    problems.push(`a version has no content: ${missing.length} times, first ${missing[0] ?? ""}`);
}
