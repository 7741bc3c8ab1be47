import { type RawBuilder, sql } from "kysely";
import { inMap } from "../contract/in-map.ts";
import type { Value } from "./columns.ts";
import {
  builders,
  type Dialect,
  type HeldInsert,
  holes,
  type Params,
  type PreparedQuery,
  type Query,
  textQuery,
} from "./query.ts";
import { isSealed } from "./row-keys.ts";
import { columnsOf, type NewRow, type TableName, tables } from "./schema.ts";

/** Inserts: of one row or of several, at once or later in a batch with others. */

/** Inserts a row with all columns of the table in schema.ts. `ending` can add `on conflict` or `returning`. */
export function insertion<T extends TableName, R = never>(
  table: T,
  ending?: RawBuilder<R>,
): Query<NewRow<T>, R> {
  const columns = columnsOf(table);
  const cells = (of: readonly string[]) => (p: Params) =>
    Object.fromEntries(of.map((column) => [column, sql`${p[column]}`]));
  const one = textQuery((p: Params) => {
    const names = columns.map((column) => sql.ref(column));
    const values = Object.values(cells(columns)(p));
    return sql<R>`insert into ${sql.table(table)} (${sql.join(names)}) values (${sql.join(values)}) ${ending ?? sql``}`;
  });
  const all = Object.keys(tables[table]);
  if (ending !== undefined || !isSealed(table) || all.length === columns.length) return one;
  const drawn = laterInsertion(table, cells(all));
  let both: PreparedQuery | undefined;
  return {
    on: (dialect) =>
      dialect === "sqlite" ? one.on(dialect) : (both ??= { ...one.on(dialect), drawn: drawn.on(dialect) }),
  };
}

/**
 * Inserts a row whose effect the transaction need not wait for. PostgreSQL inserts it together with other rows of its kind,
 * including those of other writes: as soon as a statement names the table, and at the latest at the commit. `cells` maps the
 * columns to their values. `merge` joins rows that a single statement could not insert separately.
 */
export function laterInsertion<P extends Params>(
  table: TableName | "search",
  cells: (p: P, dialect: Dialect) => Readonly<Record<string, RawBuilder<unknown>>>,
  ending: RawBuilder<unknown> = sql``,
  merge: Merge = (rows) => rows,
  onto?: Pick<HeldInsert, "about" | "added">,
): Query<P, never> {
  const into = (row: ReturnType<typeof cells>) =>
    sql`insert into ${sql.table(table)} (${sql.join(Object.keys(row).map((column) => sql.ref(column)))})`;
  const one = textQuery((p: P, dialect) => {
    const row = cells(p, dialect);
    return sql<never>`${into(row)} values (${sql.join(Object.values(row))}) ${ending}`;
  });
  let later: PreparedQuery | undefined;
  const prepareLater = (): PreparedQuery => {
    const part = (text: RawBuilder<unknown>): string => text.compile(builders.postgres).sql;
    const row = cells(holes<P>(), "postgres");
    const [start, tuple, end] = [part(into(row)), part(sql.join(Object.values(row))), part(ending)];
    const prepared = one.on("postgres");
    const isNumbered = "num" in row;
    const sqlFor = (rows: number): string => {
      const tuples = Array.from(
        { length: rows },
        (_, at) =>
          `(${tuple.replace(/\$(\d+)/g, (_all, number) => `$${Number(number) + at * prepared.slots.length}`)})`,
      );
      return `${start} values ${tuples.join(", ")} ${end}`;
    };
    const texts: string[] = [];
    const several: HeldInsert["several"] = (rows) => {
      const merged = merge(rows);
      return { sql: (texts[merged.length] ??= sqlFor(merged.length)), values: merged.flat() };
    };
    return {
      ...prepared,
      holds: { table, isNumbered, about: prepared.about, added: undefined, ...onto, several },
    };
  };
  return { on: (dialect) => (dialect === "sqlite" ? one.on(dialect) : (later ??= prepareLater())) };
}

type Merge = (rows: readonly (readonly Value[])[]) => readonly (readonly Value[])[];

/** The same for a row with all columns of the table in schema.ts. */
export function laterRow<T extends TableName>(
  table: T,
  ending?: RawBuilder<unknown>,
): Query<NewRow<T>, never> {
  return later(table, ending);
}

/** The same for a row whose `sum` is added to that of an existing row with the same other values. */
export function laterSum<T extends TableName>(
  table: T,
  sum: keyof NewRow<T> & string,
): Query<NewRow<T>, never> {
  const columns = columnsOf(table);
  const at = columns.indexOf(sum);
  const keys = columns.filter((name) => name !== sum);
  const [column, own] = [sql.ref(sum), sql.ref(`${table}.${sum}`)];
  const ending = sql`on conflict (${sql.join(keys.map((name) => sql.ref(name)))}) do update set ${column} = ${own} + ${sql.ref(`excluded.${sum}`)}`;
  const keyOf = (values: readonly Value[]): string => JSON.stringify(values.toSpliced(at, 1));
  // A single statement can't add to the same row twice.
  const merge: Merge = (rows) =>
    [...Map.groupBy(rows, keyOf).values()].map((same) =>
      (same[0] ?? []).with(
        at,
        same.reduce((total, values) => total + Number(values[at]), 0),
      ),
    );
  const about = new Map(keys.map((name) => [name, columns.indexOf(name)]));
  const added: HeldInsert["added"] = (values, rows) => {
    const row = Object.fromEntries(columns.map((name, index) => [name, values[index]]));
    return [{ ...row, [sum]: Number(Object(rows[0])[sum] ?? 0) + Number(values[at]) }];
  };
  return later(table, ending, merge, { about, added });
}

function later<T extends TableName>(
  table: T,
  ending?: RawBuilder<unknown>,
  merge?: Merge,
  onto?: Pick<HeldInsert, "about" | "added">,
): Query<NewRow<T>, never> {
  const columns = columnsOf(table);
  // The ledger seals the row before it is inserted (chain.ts), so the database must not fill in any value.
  if (isSealed(table) && columns.length < Object.keys(tables[table]).length)
    throw new Error(`a row of ${table} is numbered when it is inserted, so it can't be inserted later`);
  const cells = (p: Params) => Object.fromEntries(columns.map((name) => [name, sql`${p[name]}`]));
  return laterInsertion(table, cells, ending, merge, onto);
}

/** Inserts several rows with one statement. */
export async function insertAll<T extends TableName>(
  tx: { run(query: Query<Params, unknown>, params: Params): Promise<void> },
  table: T,
  rows: readonly NewRow<T>[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += mostAtOnce) {
    const some: readonly Params[] = rows.slice(from, from + mostAtOnce);
    const statement = inMap(severalRows, `${table} ${some.length}`, () =>
      textQuery((p: Params) => {
        const columns = columnsOf(table);
        const names = columns.map((column) => sql.ref(column));
        const values = some.map(
          (_, row) => sql`(${sql.join(columns.map((name) => sql`${p[`${name} ${row}`]}`))})`,
        );
        return sql`insert into ${sql.table(table)} (${sql.join(names)}) values ${sql.join(values)}`;
      }),
    );
    const params: Record<string, Value> = {};
    for (const [row, columns] of some.entries())
      for (const [name, value] of Object.entries(columns)) params[`${name} ${row}`] = value;
    await tx.run(statement, params);
  }
}
const severalRows = new Map<string, Query<Params, unknown>>();
/** PostgreSQL keeps each text as a prepared statement, and takes up to 65,535 values. */
const mostAtOnce = 50;
