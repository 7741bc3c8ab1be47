import { hash as digest } from "node:crypto";
import type { Value } from "./columns.ts";
import { type TableName, tableNames, tables } from "./schema.ts";
import { keys } from "./migrations.ts";
import type { ReadTx } from "./store.ts";

/**
 * A whole store as data for both databases: the rows of every table in the order of their keys, and the content of every
 * version. A backup, a restore and a move between the stores all read a CopySource and fill a CopyTarget.
 *
 *   empty ──begin──▶ unfinished ──finish──▶ a store like any other
 *                        └─begin again, same state─▶ continues where it stopped; another state: begins from nothing
 *
 * A daemon refuses to open an unfinished copy. Its rows, including events, are those of the source, so the ledger of the copy
 * verifies with the same key.
 */
export type CopiedTable = Exclude<TableName, "blobs"> | "search";

export interface CopySource {
  /** One state of the store, the same for every call. */
  readonly tx: ReadTx;
  /** The next rows after a key, in the order of the keys, as the values of columnsIn(). */
  rows(table: CopiedTable, after: readonly Value[] | null, limit: number): Promise<Value[][]>;
  /** Undefined if the content is not stored. */
  content(version: Version): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

export interface CopyTarget {
  state(): Promise<"empty" | "unfinished" | "taken">;
  /** Creates the tables. `state` names the copied state; an unfinished copy of another state is emptied. */
  begin(state: string): Promise<void>;
  /** The key of the last copied row. */
  last(table: CopiedTable): Promise<Value[] | null>;
  insert(table: CopiedTable, rows: readonly (readonly Value[])[]): Promise<void>;
  /** The versions among these whose content is missing in the copy. */
  lacking(versions: readonly Version[]): Promise<Version[]>;
  keep(contents: readonly StoredContent[]): Promise<void>;
  /** Reads what has been copied so far. */
  look(): Promise<CopySource>;
  finish(): Promise<void>;
  /** Removes an unfinished copy. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export interface Version {
  readonly fileId: string;
  readonly hash: string;
}

export interface StoredContent extends Version {
  readonly bytes: Uint8Array;
}

export const copiedTables: readonly CopiedTable[] = [
  ...tableNames.filter((name): name is Exclude<TableName, "blobs"> => name !== "blobs"),
  "search",
];

/** The tables that the database numbers, and their column with the number. */
export const numberedTables = tableNames.flatMap((table) =>
  Object.entries(tables[table]).flatMap(([column, { generated }]) =>
    generated === true ? [{ table, column }] : [],
  ),
);

export const columnsIn = (table: CopiedTable): string[] =>
  table === "search" ? ["rowid", "description", "body"] : Object.keys(tables[table]);

/** The columns that order the rows: the number if there is one, because SQLite stores a table in that order. */
export function keyOf(table: CopiedTable): readonly string[] {
  if (table === "search") return ["rowid"];
  const numbered = numberedTables.find((each) => each.table === table);
  return numbered === undefined ? keys[table] : [numbered.column];
}

/** The positions of a table's key among its columns. */
export const keyPlaces = (table: CopiedTable): number[] =>
  keyOf(table).map((column) => columnsIn(table).indexOf(column));

/** A digest of the columns of all tables. Copies between programs with different columns are refused. */
export const shapeOfTables = digest(
  "sha256",
  JSON.stringify(copiedTables.map((table) => [table, columnsIn(table)])),
).slice(0, 16);

export const selectRows = (table: CopiedTable, isFirst: boolean, hole: (index: number) => string): string => {
  const key = keyOf(table);
  const after = isFirst
    ? ""
    : `where (${key.join(", ")}) > (${key.map((_, index) => hole(index)).join(", ")})`;
  return `select ${columnsIn(table).join(", ")} from ${table} ${after} order by ${key.join(", ")}
    limit ${hole(isFirst ? 0 : key.length)}`;
};
