/** Repeatable random choices: the same seed and step give the same choices. */
export interface Chance {
  /** A whole number from 0 up to, not including, `below`. */
  int(below: number): number;
  /** True in this percentage of calls. */
  percent(often: number): boolean;
  pick<T>(from: readonly T[]): T | undefined;
  /** One of the keys, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K;
}

export function chanceFor(seed: number, step: number): Chance {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(step + 1, 0xc2b2ae35);
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    int,
    percent: (often) => next() * 100 < often,
    pick: (from) => from[int(from.length)],
    weighted: (weights) => {
      const entries = Object.entries(weights) as [keyof typeof weights, number][];
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [key, weight] of entries) {
        left -= weight;
        if (left < 0) return key;
      }
      throw new Error("nothing to choose from");
    },
  };
}

/**
 * An id that encodes the seed, the step and a count. Leaving a step out of a run therefore changes no other id. No object
 * ever has an id from `missingId`.
 */
export function idFor(seed: number, step: number, count: number): string {
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
  return `${hex(seed, 8)}-${hex(step, 4)}-7${hex(count >> 12, 3)}-8${hex(count & 0xfff, 3)}-${"0".repeat(12)}`;
}

export function missingId(seed: number, step: number, count: number): string {
  return `${idFor(seed, step, count).slice(0, 24)}ffffffffffff`;
}
