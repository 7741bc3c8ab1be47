import assert from "node:assert/strict";
import { test } from "node:test";
import { playSeeds, type Run } from "./run.ts";
import { bothStores, type StoreKind } from "../../src/testing/organization.ts";
import { campaign } from "../../src/testing/run-length.ts";
import { replay, seedsOf } from "../../src/testing/seeds.ts";

/**
 * The property test is split over files, because a file has a time limit and two files run at once. Part `part` of `parts`
 * plays its share of the seeds on each store of this run.
 */
export function corePropertyTest(part: number, parts: number): void {
  for (const kind of bothStores)
    test(`the core agrees with the model on ${kind}, part ${part} of ${parts}`, async () => {
      const failure = await playSeeds(runFor(kind, part, parts));
      if (failure === undefined) return;
      const lines = [
        failure.message,
        "",
        "The shortest run found that fails (step: actor, operation, input):",
        ...failure.trace,
        "",
        replay(failure.seed, "core-property-1"),
      ];
      assert.fail(lines.join("\n"));
    });
}

function runFor(kind: StoreKind, part: number, parts: number): Run {
  // On PostgreSQL each check of a right takes several round trips, so full comparisons are rarer.
  const wholeEach = kind === "sqlite" ? 25 : 65;
  return { kind, steps: 200, wholeEach, seeds: seedsOf("core", countOn[kind], { part, parts }) };
}

const countOn = {
  sqlite: campaign({ quick: 24, whole: 72, long: 150 }),
  postgres: campaign({ quick: 0, whole: 4, long: 10 }),
};
