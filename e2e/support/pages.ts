/** All rows of a list that comes in pages. */
export async function allPages<
  K extends string,
  A extends Readonly<Record<K, readonly unknown[]>> & { nextCursor: string | null },
>(page: (cursor: string | undefined) => Promise<A>, key: K): Promise<A[K][number][]> {
  const rows: A[K][number][] = [];
  for (let cursor: string | undefined; ;) {
    const next = await page(cursor);
    rows.push(...next[key]);
    if (next.nextCursor === null) return rows;
    cursor = next.nextCursor;
  }
}
