/** Neighbours of the same kind as one run, in order. */
export function runsOf<T>(list: readonly T[], kindOf: (one: T) => string): [T, ...T[]][] {
  const runs: [T, ...T[]][] = [];
  for (const one of list) {
    const last = runs.at(-1);
    if (last !== undefined && kindOf(last[0]) === kindOf(one)) last.push(one);
    else runs.push([one]);
  }
  return runs;
}
