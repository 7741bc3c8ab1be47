// The seeds of tests that play by chance. Every run plays fresh seeds, from a base seed that the runner prints, and the suite's
// seeds in test/corpus.txt.
// AGENCY_TEST_SEED=17   the base seed: repeats a run
// AGENCY_TEST_ONLY=17   only that seed, in the files that were named
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { runLength } from "./run-length.ts";

export type Suite = "core" | "reorganization" | "simulator" | "calm" | "worlds";

export const baseSeed = Number(process.env["AGENCY_TEST_SEED"] ?? randomInt(2 ** 31));

const only = process.env["AGENCY_TEST_ONLY"];

/**
 * The seeds for part `part` (from 1) of a suite that is split into `parts` files. All files together have `count` fresh seeds.
 */
export function seedsOf(suite: Suite, count: number, { part, parts } = { part: 1, parts: 1 }): number[] {
  if (only !== undefined) return [Number(only)];
  const fresh = Array.from({ length: count }, (_, number) => baseSeed + number);
  return [...corpusOf(suite), ...fresh].filter((_, index) => index % parts === part - 1);
}

/** A sample of `count` items in their order. It changes with the base seed. A long run gets all items. */
export function sampleOf<T>(all: readonly T[], count: number): T[] {
  if (runLength === "long") return [...all];
  const numbered = all.map((item, index) => ({ item, index, rank: mixed(baseSeed + index) }));
  return numbered
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, count)
    .toSorted((a, b) => a.index - b.index)
    .map(({ item }) => item);
}

/** In a quick run of all files, a third, which changes with the base seed. Longer runs, and runs of named files, play all. */
export function thirdOf<T>(all: readonly T[]): T[] {
  const isDrawn = process.env["AGENCY_TEST_DRAWS"] === "1";
  return isDrawn ? sampleOf(all, Math.ceil(all.length / 3)) : [...all];
}

/** The command that plays one seed again, for the message of a failed test. */
export function replay(seed: number, file: string): string {
  return `Play it again: AGENCY_TEST_ONLY=${seed} npm test -- ${file}`;
}

/** Seeds that once failed, or that find a bug few seeds find. One per line: `suite seed: reason`. */
export function corpusOf(suite: Suite): number[] {
  const lines = readFileSync(new URL("../../test/corpus.txt", import.meta.url), "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, name, seed] = /^(\w+) (\d+): \S/.exec(line) ?? [];
    if (name === undefined && line !== "" && !line.startsWith("#"))
      throw new Error(`test/corpus.txt: not "suite seed: reason": ${line}`);
    return name === suite ? [Number(seed)] : [];
  });
}

/** The finalizer of MurmurHash3, which spreads neighbouring values far apart. */
function mixed(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
