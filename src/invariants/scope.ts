import { type RawBuilder, sql } from "kysely";
import type { Value } from "../store/columns.ts";
import { type Dialect, query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * The rows that a check examines: all of them, those of a company, a range of keys, or one row. Only a range is bounded, so a
 * large company is checked range after range. Other writes may happen between two ranges. So a check judges a row by the rows
 * it refers to, and never relies on the result of an earlier range.
 */
export type Scope =
  | { readonly kind: "all" }
  | { readonly kind: "company"; readonly companyId: string }
  /** Keys greater than `after`, up to and including `upto`. Null as the company means all companies. */
  | {
      readonly kind: "range";
      readonly companyId: string | null;
      readonly after: string;
      readonly upto: string;
    }
  | { readonly kind: "one"; readonly id: string };

interface Table {
  readonly alias: string;
  readonly key: string;
  /** Null if the rows belong to the installation, not to a company. */
  readonly company: string | null;
  /** The name of a row in findings: a noun, and the column that names it. */
  readonly noun: string;
  readonly name: string | null;
  readonly isNumbered?: true;
  /** The column with the bytes of its content. */
  readonly size?: string;
  /** The table where SQLite has the rows, if it does not have the subject's name. */
  readonly onSqlite?: { readonly table: string; readonly key: string };
}

/**
 * The tables that invariants are about. Queries use exactly these aliases next to `{here}`. `{rows}`, `{key}` and `{words}` are
 * optional: `{words}` is PostgreSQL's text of a search entry `i`.
 */
const subjects = {
  companies: { alias: "k", key: "id", company: "id", noun: "Company", name: "name" },
  agents: { alias: "a", key: "id", company: "company_id", noun: "Agent", name: "name" },
  approvals: { alias: "p", key: "id", company: "company_id", noun: "Approval", name: "type" },
  credentials: { alias: "c", key: "id", company: "company_id", noun: "Credential", name: "label" },
  outcomes: { alias: "o", key: "id", company: "company_id", noun: "Outcome", name: "title" },
  grants: { alias: "g", key: "id", company: "company_id", noun: "Grant", name: "resource" },
  sessions: { alias: "s", key: "id", company: "company_id", noun: "Session", name: null },
  messages: { alias: "m", key: "id", company: "company_id", noun: "Message", name: null },
  budgets: { alias: "b", key: "agent_id", company: "company_id", noun: "Budget of agent", name: null },
  files: { alias: "f", key: "id", company: "company_id", noun: "File", name: "description", size: "size" },
  versions: {
    alias: "v",
    key: "file_id",
    company: null,
    noun: "Version of file",
    name: null,
    size: "size",
  },
  blobs: { alias: "b", key: "file_id", company: null, noun: "Content of file", name: null },
  search: {
    alias: "i",
    key: "rowid",
    company: null,
    noun: "Search entry",
    name: null,
    isNumbered: true,
    // A full-text table can't be read from a key onward, but its companion table can.
    onSqlite: { table: "search_docsize", key: "id" },
  },
} as const satisfies Readonly<Record<string, Table>>;
export type Subject = keyof typeof subjects;

export const tableOf = (subject: Subject): Table => subjects[subject];

function placeOf(subject: Subject, dialect: Dialect) {
  const { onSqlite, ...table } = tableOf(subject);
  return { ...table, table: subject, ...(dialect === "sqlite" ? onSqlite : undefined) };
}

export type Scoped<R> = (tx: ReadTx, scope: Scope) => Promise<R[]>;

/** A query whose `{here}` is replaced by the condition of each scope. */
export function scoped<R>(subject: Subject, text: string): Scoped<R> {
  return forms((form, p, dialect) => sql<R>`${filled(text, subject, form, p, dialect)}`, subject);
}

/** Several queries for `id`s as one statement. A label shows which query each row comes from. */
export function scopedTogether(
  queries: readonly { readonly label: string; readonly subject: Subject; readonly text: string }[],
): Scoped<{ label: string; id: string }> {
  if (queries.length === 0) return async () => [];
  return forms((form, p, dialect) => {
    const parts = queries.map(({ label, subject, text }) => {
      const find = filled(text, subject, form, p, dialect);
      return sql`select * from (select ${sql.lit(label)} as label, cast(x.id as text) as id from (${find}) x limit 20) y`;
    });
    return sql<{ label: string; id: string }>`${sql.join(parts, sql` union all `)}`;
  });
}

const everyForm = ["all", "company", "range", "range of company", "one"] as const;
type Form = (typeof everyForm)[number];

/** Built once for each dialect and form of scope. */
function forms<R>(
  build: (form: Form, p: Params, dialect: Dialect) => RawBuilder<R>,
  subject?: Subject,
): Scoped<R> {
  const made = new Map(
    everyForm.map((form) => [
      form,
      query((db, p: Params, dialect) => ({ compile: () => build(form, p, dialect).compile(db) })),
    ]),
  );
  const isNumbered = subject !== undefined && tableOf(subject).isNumbered === true;
  return async (tx, scope) => {
    const form = scope.kind === "range" && scope.companyId !== null ? "range of company" : scope.kind;
    const found = made.get(form);
    return found === undefined ? [] : tx.all(found, paramsOf(isNumbered, scope));
  };
}

/** Whether a scope of one company can hold rows of this subject. Rows of the installation are found only among all rows. */
export function hasRowsIn(subject: Subject, companyId: string | null): boolean {
  return companyId === null || tableOf(subject).company !== null;
}

/** The next rows of a subject: their last key, how many they are, and whether no others follow. */
export async function nextRange(
  tx: ReadTx,
  subject: Subject,
  from: {
    companyId: string | null;
    after: string;
    limit: number;
    /** The most bytes of content in a range of more than one row. */
    mostBytes: number;
  },
): Promise<{ upto: string; rows: number; isLast: boolean } | undefined> {
  const { companyId, after, limit, mostBytes } = from;
  const { alias, size } = tableOf(subject);
  const ask = scoped<{ upto: string | number | null; number: number; listed: number }>(
    subject,
    `select max(z.id) as upto, count(z.id) as number, count(*) as listed from (
       select case when rank() over (order by x.id) = 1 or sum(x.size) over (order by x.id) <= ${mostBytes}
         then x.id end as id from (
         select {key} as id, ${size === undefined ? 0 : `${alias}.${size}`} as size from {rows} where {here} order by {key} limit ${limit}) x) z`,
  );
  const [found] = await ask(tx, { kind: "range", companyId, after, upto: lastKey(subject) });
  if (found === undefined || found.upto === null) return undefined;
  const { upto, number: rows, listed } = found;
  return { upto: String(upto), rows, isLast: rows === listed && listed < limit };
}

/** A key greater than every other: ids are hexadecimal. */
const lastKey = (subject: Subject): string =>
  tableOf(subject).isNumbered === true ? String(Number.MAX_SAFE_INTEGER) : "z";

/** The name of a row in findings. */
export async function callIt(tx: ReadTx, subject: Subject, id: string): Promise<Called> {
  const { noun, name: column, company } = tableOf(subject);
  const ask = scoped<{ name: string | null; company: string | null }>(
    subject,
    `select ${column ?? "null"} as name, ${company ?? "null"} as company from {rows} where {here} limit 1`,
  );
  const [row] = await ask(tx, { kind: "one", id });
  const name = row?.name ?? null;
  return {
    called: name === null ? `${noun} ${id}` : `${noun} "${name}" (${id})`,
    companyId: row?.company ?? null,
  };
}

export interface Called {
  readonly called: string;
  readonly companyId: string | null;
}

interface Params extends Readonly<Record<string, Value>> {
  readonly companyId: string;
  readonly after: string | number;
  readonly upto: string | number;
  readonly id: string | number;
}

function paramsOf(isNumbered: boolean, scope: Scope): Params {
  const key = (text: string): string | number => (isNumbered ? Number(text) : text);
  const companyId = "companyId" in scope ? (scope.companyId ?? "") : "";
  const range = scope.kind === "range" ? scope : { after: "", upto: "" };
  return {
    companyId,
    after: key(range.after),
    upto: key(range.upto),
    id: key("id" in scope ? scope.id : ""),
  };
}

function condition({ alias, key, company }: Omit<Table, "onSqlite">, scope: Form, p: Params) {
  const column = sql.ref(`${alias}.${key}`);
  const isOfCompany = company === null ? sql`1 = 0` : sql`${sql.ref(`${alias}.${company}`)} = ${p.companyId}`;
  const isInRange = sql`${column} > ${p.after} and ${column} <= ${p.upto}`;
  switch (scope) {
    case "all":
      return sql`1 = 1`;
    case "company":
      return isOfCompany;
    case "range":
      return isInRange;
    case "range of company":
      return sql`${isOfCompany} and ${isInRange}`;
    case "one":
      return sql`${column} = ${p.id}`;
  }
}

function filled(text: string, subject: Subject, form: Form, p: Params, dialect: Dialect) {
  const place = placeOf(subject, dialect);
  const named = text
    .replaceAll("{rows}", `${place.table} ${place.alias}`)
    .replaceAll("{key}", `${place.alias}.${place.key}`)
    .replaceAll("{words}", dialect === "sqlite" ? "''" : "array_to_string(tsvector_to_array(i.words), ' ')");
  const [first = "", ...rest] = named.split("{here}");
  return sql.join(
    [sql.raw(first), ...rest.map((part) => sql`${condition(place, form, p)}${sql.raw(part)}`)],
    sql.raw(""),
  );
}
