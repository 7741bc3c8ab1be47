import {
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  sql,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { checksIn, checksOf, type Check } from "./checks.ts";
import type { Column, Value } from "./columns.ts";
import { columnsOf, sealedColumns, type Row, type Schema, type TableName, tables } from "./schema.ts";
import { type About, aboutOf, changesOne, type Counts, type Sees, setsOf, wholeIn } from "./about.ts";
import { isSealed, type SealedTable } from "./row-keys.ts";
import { inMap } from "../contract/in-map.ts";

/**
 * Kysely builds and types the SQL, and the store runs it. A `query` is built once for each dialect and has named holes
 * for its parameters. Building takes tens of microseconds, often longer than the database needs to answer, so queries on
 * a hot path must not be built for each call.
 */
export type Dialect = "sqlite" | "postgres";
export type Db = Kysely<Schema>;
export type Params = Readonly<Record<string, Value>>;

export interface Query<P, R> {
  readonly on: (dialect: Dialect) => PreparedQuery;
  /** Never set at run time. It carries the types of the parameters and of a row. */
  readonly shape?: (params: P) => R;
}

export interface PreparedQuery {
  readonly sql: string;
  readonly slots: readonly (Hole | Value)[];
  /** Applied to each returned row. */
  readonly checks: readonly Check[];
  /** Set if the statement changes rows of this table. It then returns them. */
  readonly seals?: { readonly table: SealedTable; readonly deletes: boolean; readonly isOfOne: boolean };
  readonly readsLedger: boolean;
  /** The tables that the text names, and the search index. */
  readonly tables: readonly string[];
  readonly changes: boolean;
  readonly about: About | undefined;
  readonly sees?: Sees;
  readonly counts?: Counts | undefined;
  readonly sets: ReadonlySet<string> | undefined;
  readonly words: ReadonlySet<string>;
  readonly whole: readonly string[];
  /** Set if PostgreSQL may insert the row later, together with others. */
  readonly holds?: HeldInsert;
  /** The same statement for a row that already has its number (numbers.ts) and may be inserted later. */
  readonly drawn?: PreparedQuery;
}

export interface HeldInsert {
  readonly table: string;
  /** True if the row has a number of its table. Others may look for the row by it. */
  readonly isNumbered: boolean;
  readonly about: About | undefined;
  /** Set if the statement adds to an existing row. Returns the rows that a read by that row's key finds afterwards. */
  readonly added: ((values: readonly Value[], rows: readonly unknown[]) => unknown[]) | undefined;
  /** The statement for several rows. */
  readonly several: (rows: readonly (readonly Value[])[]) => {
    readonly sql: string;
    readonly values: readonly Value[];
  };
}

export class Hole {
  readonly key: string;
  constructor(key: string) {
    this.key = key;
  }
}

interface Traits {
  /** Only for text that the builder can't see through. The checks of other queries are derived. */
  readonly checks?: readonly Check[];
  readonly sees?: Sees;
  readonly counts?: Counts;
}

export function query<P extends Params, R>(
  build: (db: Db, params: P, dialect: Dialect) => Compilable<R>,
  { checks, sees = {}, counts }: Traits = {},
): Query<P, R> {
  const built: Partial<Record<Dialect, PreparedQuery>> = {};
  const made: Query<P, R> = {
    on: (dialect) =>
      (built[dialect] ??= {
        ...prepare(build(builders[dialect], holes<P>(), dialect), checks),
        sees,
        counts,
      }),
  };
  onQuery?.(made);
  return made;
}

let onQuery: ((made: Query<never, unknown>) => void) | undefined;
/** For the test that prepares every query on both stores: the listener is called for each query made from now on. */
export function watchQueries(listener: (made: Query<never, unknown>) => void): void {
  onQuery = listener;
}

/** Builds the query at each call. Use it only if the text depends on the request, as in a list with optional filters. */
export function dynamic<R>(
  build: (db: Db) => Compilable<R>,
  checks?: readonly Check[],
): Query<Record<never, never>, R> {
  return { on: (dialect) => prepare(build(builders[dialect]), checks) };
}

/** A query as text. Its columns are not checked by the compiler, but a test prepares it on both stores. */
export function textQuery<P extends Params, R>(
  text: (p: P, dialect: Dialect) => RawBuilder<R>,
  traits: Traits = {},
): Query<P, R> {
  return query((db, p: P, dialect) => ({ compile: () => text(p, dialect).compile(db) }), {
    checks: [],
    ...traits,
  });
}

/**
 * Makes a function that changes the row with the id of `before`, except the `fixed` columns, which never change. Only columns that differ
 * are saved. The statement names no others, so writes of the same batch that only read those need not run again (known.ts).
 */
export function saving<T extends TableName>(table: T, fixed: readonly (keyof Row<T> & string)[]) {
  const kept: readonly string[] = ["id", ...fixed];
  const columns = columnsOf(table).filter((column) => !kept.includes(column));
  const updates = new Map<string, Query<Params, never>>();
  return async (
    tx: { run(query: Query<Params, never>, params: Params): Promise<void> },
    before: Row<T> & Params,
    changes: Partial<Row<T>> & Params,
  ): Promise<void> => {
    const changed = columns.filter((name) => name in changes && changes[name] !== before[name]);
    if (changed.length === 0) return;
    const update = inMap(updates, changed.join(), () =>
      textQuery(
        (p: Params) =>
          sql<never>`update ${sql.table(table)} set ${equal(changed, p, sql`, `)} where id = ${p["id"]}`,
      ),
    );
    await tx.run(update, { ...before, ...changes });
  };
}

/**
 * Whole rows of one table, found by the columns in `by`. `ending` adds more conditions (`and …`), an order or a limit. A
 * function can use more parameters.
 */
export function selection<
  T extends TableName,
  B extends keyof Row<T> & string,
  E extends Params = Record<never, never>,
>(table: T, by: readonly B[], ending?: Ending<E>): Query<Found<T, B> & E, Row<T>> {
  return textQuery(
    (p: Found<T, B> & E) => sql<Row<T>>`select * from ${sql.table(table)} where ${matching(by, p, ending)}`,
    { checks: checksIn(table) },
  );
}

/** The number of rows that selection() would find. */
export function counting<
  T extends TableName,
  B extends keyof Row<T> & string,
  E extends Params = Record<never, never>,
>(table: T, by: readonly B[], ending?: Ending<E>): Query<Found<T, B> & E, { count: number }> {
  return textQuery(
    (p: Found<T, B> & E) =>
      sql<{
        count: number;
      }>`select count(*) as count from ${sql.table(table)} where ${matching(by, p, ending)}`,
  );
}

/** The query with which both stores find content. */
export const blobRow = selection("blobs", ["file_id", "hash"]);

/** Sets the columns in `set` of the rows found by the columns in `by`. */
export function updating<
  T extends TableName,
  S extends keyof Row<T> & string,
  B extends keyof Row<T> & string,
>(
  table: T,
  set: readonly S[],
  by: readonly B[],
  ending?: RawBuilder<unknown>,
): Query<Pick<Row<T>, S> & Found<T, B>, never> {
  return textQuery(
    (p: Params) =>
      sql<never>`update ${sql.table(table)} set ${equal(set, p, sql`, `)} where ${matching(by, p, ending)}`,
  );
}

/** Deletes the rows found by the columns in `by`. */
export function deleting<T extends TableName, B extends keyof Row<T> & string>(
  table: T,
  by: readonly B[],
): Query<Found<T, B>, never> {
  return textQuery((p: Params) => sql<never>`delete from ${sql.table(table)} where ${matching(by, p)}`);
}

/** The texts of a JSON array, for `in (…)`. So a query has the same text for any number of values. */
export const textsIn = (json: string, dialect: Dialect): RawBuilder<unknown> =>
  dialect === "sqlite"
    ? sql`select value from json_each(${json})`
    : sql`select json_array_elements_text(cast(${json} as json))`;

/** An optional condition of a list. Everything but a part of a statement is ignored. */
export type Condition = RawBuilder<unknown> | false | "" | undefined;

type Where<T extends TableName> = { readonly [C in keyof Row<T>]?: Row<T>[C] | undefined };

/** Undefined conditions are ignored. */
function conditionsOf<T extends TableName>(where: Where<T>, also: Condition): RawBuilder<unknown>[] {
  const conditions = Object.entries<Value | undefined>(where).flatMap(([column, value]) =>
    value === undefined ? [] : [sql`${sql.ref(column)} ${value === null ? sql`is null` : sql`= ${value}`}`],
  );
  return also ? [...conditions, sql`${also}`] : conditions;
}

/** Counts rows. */
export function countSelection<T extends TableName>(
  table: T,
  where: Where<T>,
  also?: Condition,
): Query<Record<never, never>, { count: number }> {
  const text = sql<{ count: number }>`select count(*) as count from ${sql.table(table)}
    where ${sql.join(conditionsOf(where, also), sql` and `)}`;
  return dynamic((db) => ({ compile: () => text.compile(db) }), []);
}

/** Rows of a numbered table, starting at `from`. */
export function numbered<T extends TableName>(
  table: T,
  where: Where<T>,
  order: "oldest first" | "newest first",
  from: number,
  limit: number,
  also?: Condition,
): Query<Record<never, never>, Row<T> & { num: number; id: string }> {
  const isUp = order === "oldest first";
  const text = sql<Row<T> & { num: number; id: string }>`select * from ${sql.table(table)}
    where ${sql.join([...conditionsOf(where, also), isUp ? sql`num > ${from}` : sql`num < ${from}`], sql` and `)}
    order by num ${isUp ? sql`asc` : sql`desc`} limit ${limit}`;
  return dynamic((db) => ({ compile: () => text.compile(db) }), checksIn(table));
}

/** Null equals nothing in SQL, so rows are never found by it. */
type Found<T extends TableName, B extends keyof Row<T>> = { [C in B]: NonNullable<Row<T>[C]> };

type Ending<E> = RawBuilder<unknown> | ((p: E) => RawBuilder<unknown>);

function matching<E extends Params>(
  by: readonly string[],
  p: E,
  ending: Ending<E> = sql``,
): RawBuilder<unknown> {
  const found = by.length === 0 ? sql`1 = 1` : equal(by, p, sql` and `);
  return sql`${found} ${typeof ending === "function" ? ending(p) : ending}`;
}

const equal = (columns: readonly string[], p: Params, separator: RawBuilder<unknown>) =>
  sql.join(
    columns.map((column) => sql`${sql.ref(column)} = ${p[column]}`),
    separator,
  );

export function fill(slots: PreparedQuery["slots"], params: Params): Value[] {
  return slots.map((slot) => {
    if (!(slot instanceof Hole)) return slot;
    const value = params[slot.key];
    if (value === undefined) throw new TypeError(`query parameter ${slot.key} is missing`);
    return value;
  });
}

export const builders: Readonly<Record<Dialect, Db>> = {
  sqlite: new Kysely<Schema>({
    dialect: {
      createDriver: () => new DummyDriver(),
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  }),
  postgres: new Kysely<Schema>({
    dialect: {
      createDriver: () => new DummyDriver(),
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
};

function prepare(compilable: Compilable<unknown>, checks?: readonly Check[]): PreparedQuery {
  const { sql: text, parameters, query: node } = compilable.compile();
  const [, verb = "", table = ""] = /\b(insert into|update|delete from)\s+"?(\w+)/i.exec(text) ?? [];
  const seals = isSealed(table) && !changesOnlyUnsealed(text, table);
  const words = new Set(text.match(/\w+/g));
  const named = [...words].filter((word) => word in tables || word === "search");
  const returned = seals ? sealedColumns(table).map((column) => `"${table}"."${column}"`) : [];
  const whole = seals ? `${text.replace(/\sreturning\s[^]*$/i, "")} returning ${returned.join(", ")}` : text;
  return {
    sql: whole,
    about: aboutOf(whole),
    checks: checks ?? checksOf(node),
    slots: parameters.map((slot) => (slot instanceof Hole ? slot : asValue(slot))),
    readsLedger: named.includes("events") || named.includes("ledger_heads"),
    tables: named,
    changes: verb !== "",
    sets: verb === "update" ? setsOf(whole) : undefined,
    words,
    whole: wholeIn(text, named),
    ...(seals ? { seals: { table, deletes: /^delete/i.test(verb), isOfOne: changesOne(whole) } } : {}),
  };
}

function changesOnlyUnsealed(text: string, table: SealedTable): boolean {
  const [, set = ""] = /^update\s+"?\w+"?\s+set\s(.*?)\swhere\s/is.exec(text) ?? [];
  const columns: Readonly<Record<string, Column>> = tables[table];
  const changed = [...set.matchAll(/"(\w+)" = /g)].map(([, name = ""]) => columns[name]);
  return changed.length > 0 && changed.every((column) => column?.unsealed === true);
}

function asValue(value: unknown): Value {
  if (value === null || typeof value === "string" || typeof value === "number" || value instanceof Uint8Array)
    return value;
  throw new TypeError(`not a database value: ${typeof value}`);
}

/** Returns a hole for every key that is read. The hole stands for the value until the query runs. */
export function holes<P>(): P {
  return new Proxy({}, { get: (_, key) => new Hole(String(key)) }) as P;
}
