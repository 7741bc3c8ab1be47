/** The known words that a person most likely meant: those that differ from the given one by few letters, or begin with it. */
export function nearest(given: string, known: readonly string[]): string[] {
  const word = given.toLowerCase();
  const limit = Math.max(1, Math.floor(word.length / 3));
  return known
    .map((one) => ({
      one,
      steps: one.startsWith(word) && word.length > 1 ? 0 : distance(word, one.toLowerCase()),
    }))
    .filter(({ steps }) => steps <= limit)
    .toSorted((a, b) => a.steps - b.steps)
    .slice(0, 3)
    .map(({ one }) => one);
}

/** The number of letters to add, drop, change or swap. */
function distance(a: string, b: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        change,
        ...(isSwap ? [(before[j - 2] ?? 0) + 1] : []),
      );
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

/** "Did you mean pause?" Empty if nothing is close. */
export const didYouMean = (given: string, known: readonly string[]): string => {
  const words = nearest(given, known);
  return words.length === 0 ? "" : `Did you mean ${words.join(" or ")}?`;
};
