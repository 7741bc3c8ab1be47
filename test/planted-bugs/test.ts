import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Suite } from "../../src/testing/seeds.ts";
import { found } from "./find.ts";
import type { Bug } from "./resolve.ts";

/** The suite finds each bug within a number of seeds, and finds nothing without a planted bug. */
export function finds(suite: Suite, bugs: readonly Bug[], seeds: number): void {
  describe(`the suite "${suite}"`, { concurrency: 1 }, () => {
    test("finds nothing when nothing is planted", async () => {
      assert.equal(await found(suite, [], 3), null);
    });
    for (const { name, edits } of bugs)
      test(`finds the bug: ${name}`, async (t) => {
        const broken = await found(suite, edits, seeds);
        assert.notEqual(broken, null, `not found in ${seeds} seeds`);
        t.diagnostic(`seed ${broken?.seed}: ${broken?.violation}`);
      });
  });
}
