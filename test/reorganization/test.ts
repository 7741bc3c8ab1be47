import assert from "node:assert/strict";
import { test } from "node:test";
import { bothStores } from "../../src/testing/organization.ts";
import { campaign } from "../../src/testing/run-length.ts";
import { replay, seedsOf } from "../../src/testing/seeds.ts";
import { playReorganizations } from "./play.ts";

const countOn = {
  sqlite: campaign({ quick: 4, whole: 10, long: 30 }),
  postgres: campaign({ quick: 0, whole: 2, long: 3 }),
};

/** Plays organizations that grow, work and are reorganized at random. Several files share the seeds and run in parallel. */
export function reorganizationPropertyTest(part: number, parts: number): void {
  for (const kind of bothStores)
    test(`moves and undos on ${kind} strand nothing and give no agent more rights, part ${part} of ${parts}`, async (t) => {
      const sum = { applied: 0, undone: 0, refused: 0 };
      const seeds = seedsOf("reorganization", countOn[kind], { part, parts });
      for (const seed of seeds) {
        const played = await playReorganizations(kind, seed, 120).catch((error: unknown) => {
          throw new Error(replay(seed, "reorganization-property-1"), { cause: error });
        });
        sum.applied += played.applied;
        sum.undone += played.undone;
        sum.refused += played.refused;
      }
      t.diagnostic(JSON.stringify(sum));
      const { length } = seeds;
      // Few seeds may be a little below the average of five.
      assert.ok(sum.applied >= length * 5 - 3 && sum.refused >= length, JSON.stringify(sum));
    });
}
