import { Refusal } from "../contract/refusal.ts";

/** Lists ask for one row more than a page holds; a row too many means there is a next page. */
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

/** A cursor that is a row number; lists ascend from `start`. */
export function numberCursor(cursor: string | undefined, start = 0): number {
  if (cursor === undefined) return start;
  if (!/^\d{1,15}$/.test(cursor))
    throw new Refusal(
      "invalid",
      "The cursor is not one this list gave out.",
      "Pass the nextCursor of the page before, unchanged.",
    );
  return Number(cursor);
}
