import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { StoreKind } from "../../src/testing/organization.ts";
import { Arena } from "./arena.ts";
import { onNewHome } from "./home.ts";
import { runLiving } from "./living-campaign.ts";
import { Random, seedOfThisRun } from "./random.ts";

export interface Kills {
  readonly kills: number;
  readonly sandbox: "off" | "on";
  readonly store: StoreKind;
}

const half =
  process.env["AGENCY_TEST_LONG"] === "1" ? { sqlite: 500, postgres: 200 } : { sqlite: 50, postgres: 50 };

/** Half of a hundred kills; the other half is in the file beside the calling one, so that both run side by side. */
export function testHalfOfTheKills(store: StoreKind): void {
  test(`kill -9 on ${store} while agents work: one accepted session each, no orphan, no stale write, nothing lost or doubled`, (t) =>
    killWhileAgentsWork(t, { kills: half[store], sandbox: "off", store }));
}

/** An organization of wild actors on a home of its own, whose daemon is killed this often, and what must hold of it. */
export async function killWhileAgentsWork(t: TestContext, how: Kills): Promise<void> {
  const seed = seedOfThisRun();
  t.diagnostic(`AGENCY_TEST_SEED=${seed} repeats the plan of this run`);
  const { kills, sandbox, store } = how;
  await onNewHome(store, async (options, folder) => {
    const arena = new Arena({ ...options, env: { ...options.env, AGENCY_SANDBOX: sandbox } });
    try {
      const { problems, says, killedWithSessions, accepted } = await runLiving({
        arena,
        random: new Random(seed),
        folder,
        kills,
        checkEvery: 25,
        takesNotes: sandbox === "off",
      });
      t.diagnostic(says);
      assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
      assert.deepEqual(arena.failures, []);
      assert.ok(killedWithSessions > kills / 3 && accepted > kills, "there was something to go wrong");
      await arena.stop();
    } finally {
      await arena.end();
    }
  });
}
