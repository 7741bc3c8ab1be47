/** All rows of a list that comes in pages. */
export async function allPages<K extends string, T>(
  page: (cursor: string | undefined) => Promise<Record<K, T[]> & { nextCursor: string | null }>,
  key: K,
): Promise<T[]> {
  const rows: T[] = [];
  for (let cursor: string | undefined; ;) {
    const next = await page(cursor);
    rows.push(...next[key]);
    if (next.nextCursor === null) return rows;
    cursor = next.nextCursor;
  }
}
