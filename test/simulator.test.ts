// Checks that the simulator is deterministic. A test in simulator.ts checks that every kind of event happens.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { simulate } from "../src/simulator/simulate.ts";
import { byLength } from "../src/testing/run-length.ts";
import { baseSeed } from "../src/testing/seeds.ts";

describe("the simulator", () => {
  test("repeats a seed exactly, to the last line", async () => {
    for (let seed = baseSeed; seed < baseSeed + byLength({ quick: 1, whole: 5, long: 10 }); seed++) {
      const [first, second] = [await simulate(seed, 200), await simulate(seed, 200)];
      assert.equal(second.hash, first.hash, `seed ${seed}`);
      assert.deepEqual(second.counts, first.counts);
    }
  });

  test("does something different for another seed", async () => {
    const runs = [];
    for (let seed = 1; seed <= 5; seed++) runs.push(await simulate(seed, 50));
    assert.equal(new Set(runs.map(({ hash }) => hash)).size, 5);
  });

  test("reports at which step a rule broke, and how to repeat the run", async () => {
    // Nothing breaks here. A run without steps only creates the company and comes to rest.
    const run = await simulate(7, 0);
    assert.equal(run.failure, null);
    assert.match(run.hash, /^[0-9a-f]{64}$/);
    assert.ok(run.lines > 0);
  });
});
