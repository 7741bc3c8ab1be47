import assert from "node:assert/strict";
import { test } from "node:test";
import { bothStores } from "../src/testing/organization.ts";
import { campaign } from "../src/testing/run-length.ts";
import { replay, seedsOf } from "../src/testing/seeds.ts";
import { reading } from "./two-worlds/arguments.ts";
import { compareWorlds } from "./two-worlds/play.ts";

const countOn = {
  sqlite: campaign({ quick: 2, whole: 4, long: 200 }),
  postgres: campaign({ quick: 0, whole: 1, long: 200 }),
};

/** Every operation that reads is called several times in each pair of worlds. */
const calls = 8 * reading.length;

/** The first pair of a run is compared at the doors. */
for (const kind of bothStores)
  test(`no answer depends on what the caller can't read (${kind})`, async (t) => {
    const sum = { pairs: 0, answers: 0, readable: 0 };
    for (const seed of seedsOf("worlds", countOn[kind])) {
      const place = sum.pairs === 0 ? "doors" : "dispatch";
      const { difference, answers, readable } = await compareWorlds(kind, seed, calls, place);
      assert.equal(difference, undefined, `${difference}\n${replay(seed, "two-worlds")}`);
      sum.pairs++;
      sum.answers += answers;
      sum.readable += readable;
    }
    t.diagnostic(JSON.stringify(sum));
    assert.ok(sum.readable >= sum.answers / 5, `most calls were refused: ${JSON.stringify(sum)}`);
  });
