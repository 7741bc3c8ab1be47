// The simulator as a test, in four files so that they run side by side: each takes a quarter of the seeds.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, simulate } from "../src/simulator/simulate.ts";

const isLong = process.env["AGENCY_TEST_LONG"] === "1";
const isQuick = process.env["AGENCY_TEST_STORES"] === "sqlite";
const quarter = isLong ? 1250 : isQuick ? 5 : 50;
const steps = isLong ? 2000 : 500;
const seedsPerTest = isLong ? 50 : Math.min(10, quarter);

export function testQuarter(number: 1 | 2 | 3 | 4): void {
  const first = (number - 1) * quarter + 1;
  describe(`the simulated organization, seeds ${first} to ${first + quarter - 1}`, () => {
    for (let from = first; from < first + quarter; from += seedsPerTest)
      test(`keeps every rule for ${steps} steps and comes to rest, from seed ${from}`, async () => {
        for (let seed = from; seed < from + seedsPerTest; seed++) {
          const { failure } = await simulate(seed, steps);
          assert.equal(failure, null, failure === null ? "" : describeFailure(failure, seed));
        }
      });
  });
}
