import type { Figure } from "./figures.ts";

/** What every entry is given. */
export interface Bench {
  readonly store: "sqlite" | "postgres";
  /** Small sizes and short slices: shows that everything runs, says little about speed. */
  readonly quick: boolean;
  /** For whatever an entry keeps on disk; deleted at the end. */
  readonly folder: string;
  /** The command whose daemon is measured. */
  readonly cli: string;
  /** A fresh PostgreSQL database; only with that store. */
  readonly newDatabase: () => Promise<string>;
  readonly say: (line: string) => void;
}

export interface Entry {
  readonly name: string;
  readonly about: string;
  readonly run: (bench: Bench) => Promise<Omit<Figure, "store">[]>;
}

/** The rows of the smaller and the larger of the two stores an entry measures. */
export function sizes(bench: Bench, large: number, quick: number): readonly [small: number, large: number] {
  const most = bench.quick ? quick : large;
  return [most / 10, most];
}

export function rounds(bench: Bench): number {
  return bench.quick ? 1 : 5;
}

export function sliceMilliseconds(bench: Bench): number {
  return bench.quick ? 150 : 1000;
}
