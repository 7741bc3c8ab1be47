import assert from "node:assert/strict";
import { test } from "node:test";
import { bothStores } from "../src/testing/organization.ts";
import { byLength, campaign } from "../src/testing/run-length.ts";
import { replay, seedsOf } from "../src/testing/seeds.ts";
import { compareWorlds } from "./two-worlds/play.ts";

/** Each world is built once and compared in several rounds. Before each round, something else happens out of sight. */
const worlds = {
  sqlite: campaign({ quick: 1, whole: 3, long: 16 }),
  postgres: campaign({ quick: 0, whole: 1, long: 6 }),
};
/** Building takes long on PostgreSQL, so in shorter runs its few worlds have more rounds. */
const rounds = { sqlite: 2, postgres: byLength({ quick: 4, whole: 4, long: 2 }) };
/** PostgreSQL computes in separate processes, so several worlds take little longer than one. */
const atOnce = { sqlite: 1, postgres: 4 };

/** Some worlds of a run, the first included, are compared at the doors. */
for (const kind of bothStores)
  test(`no answer depends on what the caller can't read (${kind})`, async (t) => {
    const sum = { pairs: 0, answers: 0, readable: 0, recalled: 0 };
    const waiting = seedsOf("worlds", worlds[kind]).entries();
    const playOn = async (): Promise<void> => {
      for (const [number, seed] of waiting) {
        const place = number % 8 === 0 ? "doors" : "dispatch";
        const { difference, ...compared } = await compareWorlds(kind, seed, rounds[kind], place);
        assert.equal(difference, undefined, `${difference}\n${replay(seed, "two-worlds")}`);
        for (const key of ["pairs", "answers", "readable", "recalled"] as const) sum[key] += compared[key];
      }
    };
    await Promise.all(Array.from({ length: atOnce[kind] }, playOn));
    t.diagnostic(JSON.stringify(sum));
    assert.ok(sum.readable >= sum.answers / 6, `most calls were refused: ${JSON.stringify(sum)}`);
  });
