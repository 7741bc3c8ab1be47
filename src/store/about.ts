import type { Value } from "./columns.ts";

/**
 * Which rows of its table a statement can see or change, according to its text: those that have certain values in certain
 * columns. Each of these columns maps to the place of its value among the statement's values. Two statements on one table are
 * apart if a column must have one value for the first and another for the second. Then neither sees what the other changes.
 */
export type About = ReadonlyMap<string, number>;

/**
 * For a read of several tables: of each other table, it sees only the row whose id this column of its main row names. All other
 * rows of that table don't matter to it. A pair names two columns: it sees the rows whose second column equals the first column
 * of its main row.
 */
export type Sees = Readonly<Record<string, string | readonly [own: string, other: string]>>;

/**
 * A read that counts the rows of a table with these values, as `count`. `by` maps columns to the parameters with their values.
 */
export interface Counts {
  readonly table: string;
  readonly by: Readonly<Record<string, string>>;
  readonly where: Readonly<Record<string, readonly Value[]>>;
}

/** The rows and columns that a read depends on. */
export interface Reads {
  readonly sees: Sees;
  /** For a read that counts rows: whether it counts this row of this table. */
  readonly counts?: ((table: string, cell: (column: string) => Value | undefined) => boolean) | undefined;
  /** The words of its text. A read depends only on columns that it names, unless it returns whole rows of the table. */
  readonly words: ReadonlySet<string>;
  /** The tables of which it returns whole rows. */
  readonly whole: readonly string[];
}

/** A statement with its values. */
export interface Filled {
  readonly tables: readonly string[];
  /** Undefined if it may be about any row of its tables. */
  readonly about: About | undefined;
  readonly values: readonly Value[];
}

/** A statement that changes rows. */
export interface RowChange extends Filled {
  /** The columns that it changes. Undefined if it may change any column. */
  readonly sets?: ReadonlySet<string> | undefined;
  /** True if it only adds a row, and its values are those of all columns. */
  readonly isRow?: true;
  /** Set if the statement adds to numbers of one row. Returns the rows that a read by that row's key finds afterwards. */
  readonly added?: ((rows: readonly unknown[]) => unknown[]) | undefined;
}

export function aboutOf(text: string): About | undefined {
  const [, names, holes = ""] = insertion.exec(text.trim()) ?? [];
  if (names !== undefined) {
    const places = holes.split(", ").map(placeIn);
    return new Map(names.split(", ").map((name, at) => [name.replaceAll('"', ""), places[at] ?? -1]));
  }
  const [, set = "", conditions] = ofOneTable.exec(text.trim()) ?? [];
  if (conditions === undefined || (text.match(morePart) ?? []).length > 1) return undefined;
  const where = withoutBrackets(conditions);
  if (/\bcase\b/i.test(where)) return undefined;
  // A column that the statement sets may have another value before and after it.
  const changed = new Set(columnsIn(set));
  const found = where.split(/\sand\s/i).flatMap((condition): [string, number][] => {
    const [, name, hole = ""] = /^\s*"?(\w+)"? = (\$\d+)\s*$/.exec(condition) ?? [];
    return name === undefined || changed.has(name) ? [] : [[name, placeIn(hole)]];
  });
  return found.length === 0 ? undefined : new Map(found);
}

const columnsIn = (set: string): string[] => [...set.matchAll(/"?(\w+)"? = /g)].map(([, name = ""]) => name);

/** The columns that an update of one table changes. */
export function setsOf(text: string): ReadonlySet<string> | undefined {
  const [, set] = ofOneTable.exec(text.trim()) ?? [];
  if (set === undefined || (text.match(morePart) ?? []).length > 1) return undefined;
  return new Set(columnsIn(set));
}

/** The tables among these of which a read returns whole rows. */
export function wholeIn(text: string, named: readonly string[]): string[] {
  if (/\bselect\s+(?:distinct\s+)?\*/i.test(text)) return [...named];
  const stars = [...text.matchAll(/"?(\w+)"?\.\*/g)].map(([, name = ""]) => name);
  return named.filter((table) =>
    stars.some(
      (star) => star === table || new RegExp(`\\b${table}"?\\s+(?:as\\s+)?"?${star}\\b`, "i").test(text),
    ),
  );
}

const insertion =
  /^insert into "?\w+"? \(([\w", ]+)\) values \((\$\d+(?:, \$\d+)*)\)(?:\s+on conflict do nothing)?(?:\s+returning\s[^()]*)?$/i;
const ofOneTable =
  /^(?:select\s[^]*?\sfrom "?\w+"?|update "?\w+"? set ([^]*?)|delete from "?\w+"?)\swhere\s([^]*?)(?:\s(?:order by|limit|group by|returning)\s[^]*)?$/i;
/** Words that, after the first word of a text, make it more than conditions on the rows of one table. */
const morePart = /\b(?:select|insert|update|delete|with|join|union|or|(?<!\bis )not|having|using)\b/gi;

const placeIn = (hole: string): number => Number(hole.slice(1)) - 1;

function withoutBrackets(text: string): string {
  const shorter = text.replaceAll(/\([^()]*\)/g, "[]");
  return shorter === text ? text : withoutBrackets(shorter);
}

/** Whether a text inserts one row, or updates the row with this id. */
export const changesOne = (text: string): boolean =>
  aboutOf(text)?.has("id") === true &&
  /^(?:insert (?![^]*\son conflict)|update [^]* where "?id"? = \$\d+\s+returning )/i.test(text.trim());

/** Whether neither can see what the other changes. */
export function areApart(one: Filled, other: Filled): boolean {
  if (!one.tables.some((table) => other.tables.includes(table))) return true;
  if (one.about === undefined || other.about === undefined) return false;
  for (const [name, place] of one.about) {
    const otherPlace = other.about.get(name);
    if (otherPlace !== undefined && differ(one.values[place], other.values[otherPlace])) return true;
  }
  return false;
}

/** Whether a read that found these rows does not see the changed row. `found` is undefined if the read is not answered yet. */
export function isUnseen(
  { sees, words, whole, tables: seen }: Reads & Pick<Filled, "tables">,
  found: readonly unknown[] | undefined,
  { tables, about, values, sets }: RowChange,
): boolean {
  const [table = "", another] = tables;
  if (another !== undefined) return false;
  const isElsewhere = (column: string, other = "id"): boolean => {
    const place = about?.get(other);
    return (
      found !== undefined &&
      place !== undefined &&
      found.every((row) => differ(Object(row)[column], values[place]))
    );
  };
  const isBlind = sets !== undefined && !sets.values().some((column) => words.has(column));
  if (isBlind && (!whole.includes(table) || (seen.length === 1 && isElsewhere("id")))) return true;
  const [own, other] = [sees[table] ?? []].flat();
  return own !== undefined && found?.length !== 0 && isElsewhere(own, other);
}

function differ(a: Value | undefined, b: Value | undefined): boolean {
  if (a === null || b === null) return a !== b && a !== undefined && b !== undefined;
  return typeof a === typeof b && typeof a !== "object" && a !== b;
}
