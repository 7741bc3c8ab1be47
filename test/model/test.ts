import assert from "node:assert/strict";
import { test } from "node:test";
import { playSeeds, type Run } from "./run.ts";
import { storeKinds, type StoreKind } from "../../src/testing/organization.ts";
import { byLength } from "../../src/testing/run-length.ts";

/**
 * The property test is split over files, because a file has a time limit and two run at once. Part `part` of `parts`
 * plays its share of the seeds on each store of this run.
 *
 *   AGENCY_TEST_SEED=17      plays only that seed
 *   AGENCY_TEST_LONG=1       100,000 seeds instead of 2,000
 *   AGENCY_TEST_STORES=sqlite (the quick run)  40 seeds
 */
export function corePropertyTest(part: number, parts: number): void {
  for (const kind of storeKinds)
    test(`the core does on ${kind} what the model says, part ${part} of ${parts}`, async () => {
      const failure = await playSeeds(runFor(kind, part, parts));
      if (failure === undefined) return;
      const lines = [
        failure.message,
        "",
        "The shortest run found that fails (step: actor, operation, input):",
        ...failure.trace,
        "",
        `Play it again: AGENCY_TEST_SEED=${failure.seed} AGENCY_TEST_STORES=${kind} npm test -- core-property-1`,
      ];
      assert.fail(lines.join("\n"));
    });
}

const stepsPerSeed = 200;

function runFor(kind: StoreKind, part: number, parts: number): Run {
  const steps = stepsPerSeed;
  // On PostgreSQL each look at a right is several round trips, so everything is looked at less often.
  const wholeEach = kind === "sqlite" ? 25 : 65;
  const only = process.env["AGENCY_TEST_SEED"];
  if (only !== undefined) return { kind, steps, wholeEach, seeds: { from: Number(only), count: 1 } };
  const all = seedsOn(kind);
  const from = Math.floor((all * (part - 1)) / parts);
  return { kind, steps, wholeEach, seeds: { from, count: Math.floor((all * part) / parts) - from } };
}

function seedsOn(kind: StoreKind): number {
  return kind === "postgres"
    ? byLength({ quick: 0, whole: 56, long: 800 })
    : byLength({ quick: 40, whole: 2000, long: 100_000 });
}
