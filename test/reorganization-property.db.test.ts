// Organizations that grow, work and are reorganized at random (src/testing/reorganization-play.ts).
//   AGENCY_TEST_SEED=17  plays only that seed;  AGENCY_TEST_LONG=1  many more
import assert from "node:assert/strict";
import { test } from "node:test";
import { storeKinds } from "../src/testing/organization.ts";
import { playReorganizations } from "../src/testing/reorganization-play.ts";

const isLong = process.env["AGENCY_TEST_LONG"] === "1";
const only = process.env["AGENCY_TEST_SEED"];
const seedsOn = { sqlite: isLong ? 2000 : storeKinds.length === 1 ? 8 : 30, postgres: isLong ? 100 : 3 };

for (const kind of storeKinds)
  test(`whatever is moved and put back on ${kind}, nothing is stranded and nobody may do more`, async (t) => {
    const sum = { applied: 0, undone: 0, refused: 0 };
    const seeds = only === undefined ? seedsOn[kind] : 1;
    for (let n = 1; n <= seeds; n++) {
      const played = await playReorganizations(kind, only === undefined ? n : Number(only), 120);
      sum.applied += played.applied;
      sum.undone += played.undone;
      sum.refused += played.refused;
    }
    t.diagnostic(JSON.stringify(sum));
    assert.ok(sum.applied > seeds * 5 && sum.undone > seeds && sum.refused > seeds, JSON.stringify(sum));
  });
