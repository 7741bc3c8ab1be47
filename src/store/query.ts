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
import { checksOf, type Check } from "./checks.ts";
import type { Value } from "./columns.ts";
import { columnsOf, type NewRow, type Schema, type TableName } from "./schema.ts";

/**
 * Kysely builds and types the SQL; the store runs it. A `query` is built once per dialect, with named holes where the
 * parameters go: building costs tens of microseconds, which on a hot path would be more than the database's own work.
 */
export type Dialect = "sqlite" | "postgres";
export type Db = Kysely<Schema>;
type Params = Readonly<Record<string, Value>>;

export interface Query<P, R> {
  readonly on: (dialect: Dialect) => PreparedQuery;
  /** Only for the type checker: what goes in and what comes out. */
  readonly shape?: (params: P) => R;
}

export interface PreparedQuery {
  readonly sql: string;
  readonly slots: readonly (Hole | Value)[];
  /** For each row that comes back. */
  readonly checks: readonly Check[];
}

export class Hole {
  readonly key: string;
  constructor(key: string) {
    this.key = key;
  }
}

export function query<P extends Params, R>(build: (db: Db, params: P) => Compilable<R>): Query<P, R> {
  const built: Partial<Record<Dialect, PreparedQuery>> = {};
  return {
    on: (dialect) => (built[dialect] ??= prepare(build(builders[dialect], holes<P>()))),
  };
}

/** For queries whose text depends on the request, such as a list with optional filters. */
export function dynamic<R>(build: (db: Db) => Compilable<R>): Query<Record<never, never>, R> {
  return { on: (dialect) => prepare(build(builders[dialect])) };
}

/** Inserts a whole row, its columns as schema.ts has them. The ending may say what to do on a conflict, or what to return. */
export function insertion<T extends TableName, R = never>(
  table: T,
  ending: RawBuilder<R> = sql``,
): Query<NewRow<T>, R> {
  return query((db, p: Params) => {
    const columns = columnsOf(table);
    const names = columns.map((column) => sql.ref(column));
    const values = columns.map((column) => sql`${p[column]}`);
    const text = sql<R>`insert into ${sql.table(table)} (${sql.join(names)}) values (${sql.join(values)}) ${ending}`;
    return { compile: () => text.compile(db) };
  });
}

/** Saves a row by its id, all columns but those that never change. */
export function saving<T extends TableName, F extends keyof NewRow<T> & string>(
  table: T,
  fixed: readonly F[],
): Query<Omit<NewRow<T>, F>, never> {
  const kept: readonly string[] = ["id", ...fixed];
  return query((db, p: Params) => {
    const columns = columnsOf(table).filter((column) => !kept.includes(column));
    const set = columns.map((column) => sql`${sql.ref(column)} = ${p[column]}`);
    const text = sql<never>`update ${sql.table(table)} set ${sql.join(set)} where id = ${p["id"]}`;
    return { compile: () => text.compile(db) };
  });
}

export function fill(slots: PreparedQuery["slots"], params: Params): Value[] {
  return slots.map((slot) => {
    if (!(slot instanceof Hole)) return slot;
    const value = params[slot.key];
    if (value === undefined) throw new TypeError(`query parameter ${slot.key} is missing`);
    return value;
  });
}

const builders: Readonly<Record<Dialect, Db>> = {
  sqlite: new Kysely<Schema>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  }),
  postgres: new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
};

function prepare(compilable: Compilable<unknown>): PreparedQuery {
  const { sql: text, parameters, query: node } = compilable.compile();
  return {
    sql: text,
    checks: checksOf(node),
    slots: parameters.map((slot) => (slot instanceof Hole ? slot : asValue(slot))),
  };
}

function asValue(value: unknown): Value {
  if (value === null || typeof value === "string" || typeof value === "number" || value instanceof Uint8Array)
    return value;
  throw new TypeError(`not a database value: ${typeof value}`);
}

/** Whatever key is read, a hole of that name: it stands in for the value until the query runs. */
function holes<P>(): P {
  return new Proxy({}, { get: (_, key) => new Hole(String(key)) }) as P;
}
