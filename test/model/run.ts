import { admitBoard, createCore } from "../../src/daemon/core.ts";
import { chanceFor } from "./chance.ts";
import type { World } from "./model.ts";
import { firstStep, nextStep, type Step } from "./generate.ts";
import { type Bench, newIdFrom, Play } from "./play.ts";
import { openTestStore, type StoreKind } from "../../src/testing/organization.ts";

/** Plays seeds. When one fails, finds the shortest run that still fails. */
export interface Run {
  readonly kind: StoreKind;
  readonly seeds: readonly number[];
  readonly steps: number;
  /** The number of steps between full comparisons. After the other steps, only a sample is compared. */
  readonly wholeEach: number;
}

export interface Failure {
  readonly seed: number;
  readonly message: string;
  /** The steps of the shortened run, one line each. */
  readonly trace: readonly string[];
}

/** Returns the first seed that fails, or undefined if all pass. */
export async function playSeeds(
  run: Run,
  { shrinkSeconds = 30 }: { shrinkSeconds?: number } = {},
): Promise<Failure | undefined> {
  // Several seeds share a store until it is so large that a new one is faster.
  for (let begin = 0; begin < run.seeds.length; begin += seedsPerStore) {
    const bench = await openBench(run.kind);
    try {
      for (const seed of run.seeds.slice(begin, begin + seedsPerStore)) {
        const trace: Numbered[] = [];
        const error = await playOne(bench, seed, run, generated(seed, run.steps), trace);
        if (error !== undefined) return await shrink(run, seed, trace, error, shrinkSeconds);
      }
    } finally {
      await bench.close();
    }
  }
  return undefined;
}

const seedsPerStore = 20;

interface Numbered {
  readonly step: Step;
  readonly index: number;
}
type Source = (world: World, position: number) => Numbered | undefined;

function generated(seed: number, steps: number): Source {
  return (world, index) => {
    const chance = chanceFor(seed, index);
    const step = firstStep(world, chance, seed, index) ?? nextStep(world, chance, seed, index);
    return index < steps ? { step, index } : undefined;
  };
}

async function playOne(
  bench: Bench,
  seed: number,
  run: Run,
  source: Source,
  trace: Numbered[],
): Promise<Error | undefined> {
  const play = new Play(bench, seed);
  try {
    await play.begin();
    for (let position = 0; ; position++) {
      const next = source(play.world, position);
      if (next === undefined) break;
      trace.push(next);
      await play.step(next.step, next.index);
      const isDue = next.index % run.wholeEach === run.wholeEach - 1 && next.index < run.steps - 1;
      if (isDue) await play.checkAll({ lists: next.index % (3 * run.wholeEach) < run.wholeEach });
    }
    await play.checkAll({ lists: true });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Leaves out smaller and smaller pieces of the trace, as long as the rest still fails. */
async function shrink(
  run: Run,
  seed: number,
  whole: readonly Numbered[],
  first: Error,
  seconds: number,
): Promise<Failure> {
  const deadline = Date.now() + seconds * 1000;
  let kept = whole;
  let error = first;
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = kept.length - size; start > -size; start -= size) {
      if (Date.now() > deadline) break;
      const left = kept.toSpliced(Math.max(0, start), size + Math.min(0, start));
      const trace: Numbered[] = [];
      const failed = await replay(run, seed, left, trace);
      if (failed === undefined) continue;
      kept = trace;
      error = failed;
      start = Math.min(start, kept.length);
    }
  }
  return { seed, message: error.message, trace: kept.map(lineOf) };
}

async function replay(
  run: Run,
  seed: number,
  steps: readonly Numbered[],
  trace: Numbered[],
): Promise<Error | undefined> {
  const bench = await openBench(run.kind);
  try {
    return await playOne(bench, seed, { ...run, wholeEach: 10 }, (_, position) => steps[position], trace);
  } finally {
    await bench.close();
  }
}

function lineOf({ step, index }: Numbered): string {
  const calls = step.calls.map(
    ({ actor, operation, input }) => `${actor} ${operation} ${JSON.stringify(input)}`,
  );
  return `${index}: ${calls.join("  AT ONCE WITH  ")}${step.thenFix ? "  THEN ITS FIX" : ""}`;
}

async function openBench(kind: StoreKind): Promise<Bench & { close: () => Promise<void> }> {
  const opened = await openTestStore(kind, { fast: true });
  const ids = { seed: 0, step: 0, count: 0 };
  const newId = newIdFrom(ids);
  const newSecret = (): string => `secret of ${newId()}`;
  const boardToken = "the board of the test";
  await admitBoard(opened.store, boardToken, newId);
  return {
    core: createCore({ store: opened.store, newId, newSecret }),
    boardToken,
    ids,
    close: opened.close,
  };
}
