import { type Condition, countSelection, numbered } from "../store/query.ts";
import type { Row, TableName } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { cursorInvalid } from "./texts.ts";

/** The input of every list. */
export interface PageInput {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A page of a table whose rows are numbered: the rows with the values in `where` that also meet `also`. */
export async function pageByNumber<T extends TableName>(
  tx: ReadTx,
  table: T,
  where: { readonly [C in keyof Row<T>]?: Row<T>[C] | undefined },
  order: "oldest first" | "newest first",
  { limit = defaultPage, cursor }: PageInput,
  also?: Condition,
): Promise<{ page: Row<T>[]; nextCursor: string | null }> {
  const start = order === "oldest first" ? 0 : Number.MAX_SAFE_INTEGER;
  const last = await cursorRow(cursor, (id) =>
    tx.first(numbered(table, { ...where, id }, order, start, 1, also), {}),
  );
  const rows = await tx.all(numbered(table, where, order, last?.num ?? start, limit + 1, also), {});
  return pageAfter(rows, limit, ({ id }) => id);
}

/** The number of rows on all pages of such a list. */
export async function countOf<T extends TableName>(
  tx: ReadTx,
  ...list: Parameters<typeof countSelection<T>>
): Promise<number> {
  return (await tx.first(countSelection(...list), {}))?.count ?? 0;
}

/** Lists query one row more than a page holds. If that row comes back, there is a next page. */
export function pageAfter<R>(
  rows: readonly R[],
  limit: number | undefined,
  cursorOf: (row: R) => string,
): { page: R[]; nextCursor: string | null } {
  const size = limit ?? defaultPage;
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return { page, nextCursor: rows.length > size && last !== undefined ? cursorOf(last) : null };
}

export const defaultPage = 100;

/**
 * The row that a cursor names by its id; undefined without a cursor. Row numbers count over all companies, so no answer may
 * show them. `find` must return only rows of the caller's list. The id of any other row is then treated like an unknown id.
 */
export async function cursorRow<R>(
  cursor: string | undefined,
  find: (id: string) => Promise<R | undefined>,
): Promise<R | undefined> {
  const [id] = cursorParts(cursor, "id");
  const row = id === undefined ? undefined : await find(id);
  if (id !== undefined && row === undefined) throw cursorInvalid();
  return row;
}

/** A cursor that is a number of the caller's own list, such as a version; lists ascend from `start`. */
export function numberCursor(cursor: string | undefined, start = 0): number {
  const [number] = cursorParts(cursor, "number");
  return number === undefined ? start : Number(number);
}

/** The parts of a cursor of this shape. Empty if there is no cursor. */
export function cursorParts(cursor: string | undefined, shape: keyof typeof cursorShapes): string[] {
  if (cursor === undefined) return [];
  const parts = cursorShapes[shape].exec(cursor);
  if (parts === null) throw cursorInvalid();
  return parts.slice(1);
}

const number = "(\\d{1,15})";
const id = "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})";
const cursorShapes = {
  number: new RegExp(`^${number}$`),
  id: new RegExp(`^${id}$`),
  "number id": new RegExp(`^${number} ${id}$`),
  /** A chain of the ledger: a company's, or (-) the installation's. */
  "chain number": new RegExp(`^(-|${id.slice(1, -1)}) ${number}$`),
  "id id": new RegExp(`^${id} ${id}$`),
  /** A place in the attention list: how many wait, two times or dashes, and the subject. */
  place: new RegExp(`^${number} (\\d{1,15}|-) (\\d{1,15}|-) (.+)$`),
} as const;
