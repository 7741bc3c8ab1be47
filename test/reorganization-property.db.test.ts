// Organizations that grow, work and are reorganized at random (test/reorganization/play.ts).
//   AGENCY_TEST_SEED=17  plays only that seed;  AGENCY_TEST_LONG=1  many more
import assert from "node:assert/strict";
import { test } from "node:test";
import { storeKinds } from "../src/testing/organization.ts";
import { withEverything } from "./reorganization/life.ts";
import { playReorganizations } from "./reorganization/play.ts";
import { byLength } from "../src/testing/run-length.ts";

const only = process.env["AGENCY_TEST_SEED"];
const seedsOn = {
  sqlite: byLength({ quick: 3, whole: 30, long: 2000 }),
  postgres: byLength({ quick: 0, whole: 3, long: 100 }),
};

for (const kind of storeKinds)
  test(`whatever is moved and put back on ${kind}, nothing is stranded and nobody may do more`, async (t) => {
    const sum = { applied: 0, undone: 0, refused: 0 };
    const seeds = only === undefined ? seedsOn[kind] : 1;
    for (let n = 1; n <= seeds; n++) {
      const seed = n % 3 === 0 ? withEverything + n : n;
      const played = await playReorganizations(kind, only === undefined ? seed : Number(only), 120);
      sum.applied += played.applied;
      sum.undone += played.undone;
      sum.refused += played.refused;
    }
    t.diagnostic(JSON.stringify(sum));
    assert.ok(sum.applied > seeds * 5 && sum.undone > seeds && sum.refused > seeds, JSON.stringify(sum));
  });
