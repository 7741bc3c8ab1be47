import type { Figure } from "./figures.ts";

/** The conditions that every entry gets. */
export interface Bench {
  readonly store: "sqlite" | "postgres";
  /** Uses small sizes and short slices. This proves that everything runs, but the figures say little. */
  readonly quick: boolean;
  /** A folder for the entry's files. It is deleted at the end. */
  readonly folder: string;
  /** The command whose daemon is measured. */
  readonly cli: string;
  /** Creates a new PostgreSQL database. Only available with that store. */
  readonly newDatabase: () => Promise<string>;
  readonly say: (line: string) => void;
}

export interface Entry {
  readonly name: string;
  readonly about: string;
  /** True if the entry runs only when named: it takes long, or needs the built pages and a browser. */
  readonly onlyIfNamed?: true;
  readonly run: (bench: Bench) => Promise<Omit<Figure, "store">[]>;
}

/** The numbers of rows in the smaller and the larger store that an entry measures. */
export function sizes(bench: Bench, large: number, quick: number): readonly [small: number, large: number] {
  const most = bench.quick ? quick : large;
  return [most / 10, most];
}

export function rounds(bench: Bench): number {
  return bench.quick ? 1 : 5;
}

export function sliceMilliseconds(bench: Bench): number {
  return bench.quick ? 20 : 1000;
}
