import { cpus } from "node:os";

/**
 * Timing. Machines are noisy, so the subjects of a comparison take turns: a slice of each, repeated several times. The
 * median of the slices counts.
 */
export type Slice = () => Promise<number>;

/** The subjects of a comparison: the product with few rows, with many rows, and the raw loop. */
export interface Compared<T> {
  readonly small: T;
  readonly large: T;
  readonly rawSmall: T;
  readonly raw: T;
}

/** Measures the subjects. A subject that was left out becomes NaN. */
export async function inTurns(rounds: number, slices: Partial<Compared<Slice>>): Promise<Compared<number>> {
  const times: Compared<number[]> = { small: [], large: [], rawSmall: [], raw: [] };
  for (let round = 0; round < rounds; round++)
    for (const name of ["small", "large", "rawSmall", "raw"] as const) {
      const slice = slices[name];
      if (slice !== undefined) times[name].push(await slice());
    }
  return {
    small: percentile(times.small, 50),
    large: percentile(times.large, 50),
    rawSmall: percentile(times.rawSmall, 50),
    raw: percentile(times.raw, 50),
  };
}

/** How often `work` runs in a second. `work` gets the number of the repetition. */
export async function ratePerSecond(
  milliseconds: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < milliseconds) await work(count++);
  return (count / (performance.now() - start)) * 1000;
}

/** The same for synchronous work of a few microseconds. It reads the clock only from time to time. */
export function ratePerSecondSync(milliseconds: number, work: (index: number) => void): number {
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < milliseconds) for (let i = 0; i < 100; i++) work(count++);
  return (count / (performance.now() - start)) * 1000;
}

/** The median time of one repetition, in milliseconds. */
export async function medianMilliseconds(
  repetitions: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < repetitions; index++) {
    const start = performance.now();
    await work(index);
    times.push(performance.now() - start);
  }
  return percentile(times, 50);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** The CPU time of all processes of the machine from now on, in percent of all cores. */
export function watchCores(): () => number {
  const used = (): number =>
    cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  const [from, before] = [performance.now(), used()];
  return () => ((used() - before) / (performance.now() - from) / cpus().length) * 100;
}

/** Pseudo-random numbers that are the same in every run. */
export function sequence(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * below);
  };
}
