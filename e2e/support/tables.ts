// The tables of a store, read from outside the daemon.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { hash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import type { DaemonOptions } from "./daemon.ts";

export interface Tables {
  ask(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The folder where SQLite keeps content that was moved out of the database. */
  readonly blobFolder: string | undefined;
  close(): Promise<void>;
}

/** Opens the tables of the store that a daemon with these options uses. */
export async function openTables({ home, databaseUrl }: DaemonOptions): Promise<Tables> {
  return databaseUrl === undefined ? sqliteTables(home) : postgresTables(databaseUrl);
}

export function sqliteTables(home: string): Tables {
  const db = new DatabaseSync(join(home, "agency.db"), { readOnly: true, timeout: 60_000 });
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

/** Finds faults that no query of the product shows: damage inside the database file, and content files without a version. */
export async function checkTables(tables: Tables): Promise<string[]> {
  const problems: string[] = [];
  if (tables.blobFolder === undefined) return problems;
  const [integrity] = await tables.ask("pragma integrity_check");
  if (integrity?.["integrity_check"] !== "ok")
    problems.push(`integrity_check: ${String(integrity?.["integrity_check"])}`);
  await checkBlobFiles(tables, tables.blobFolder, problems);
  return problems;
}

/** A content file matches its name, and belongs to a version. */
async function checkBlobFiles(tables: Tables, folder: string, problems: string[]): Promise<void> {
  const files = existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.name.endsWith(".tmp"))
        .map((entry) => join(entry.parentPath, entry.name))
    : [];
  const rows = await tables.ask("select file_id, hash from versions");
  const versions = new Set(rows.map((row) => `${String(row["file_id"])}/${String(row["hash"])}`));
  for (const file of files) {
    const name = file.split(/[/\\]/).slice(-2).join("/");
    if (!versions.has(name)) problems.push(`content belongs to no version: ${name}`);
    if (hash("sha256", readFileSync(file)) !== name.split("/")[1])
      problems.push(`a file of content is not what its name says: ${name}`);
  }
}
