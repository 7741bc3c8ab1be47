import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { StoreKind } from "../../src/testing/organization.ts";
import { byLength, campaign } from "../../src/testing/run-length.ts";
import { baseSeed } from "../../src/testing/seeds.ts";
import { Arena } from "./arena.ts";
import { onNewHome } from "./home.ts";
import { runLiving } from "./living-campaign.ts";
import { Random } from "./random.ts";

export interface Kills {
  readonly kills: number;
  readonly sandbox: "off" | "on";
  readonly store: StoreKind;
  readonly seed: number;
}

const homes = campaign({ quick: 1, whole: 1, long: 2 });
const killsPerHome = byLength({ quick: 8, whole: 8, long: 20 });

export function testKills(store: StoreKind): void {
  for (let home = 1; home <= homes; home++)
    test(`kill -9 on ${store} while agents work: one accepted session each, no orphan, no stale write, nothing lost or doubled, home ${home}`, (t) =>
      killWhileAgentsWork(t, { kills: killsPerHome, sandbox: "off", store, seed: baseSeed + home }));
}

/** Runs an organization of wild actors on a separate home, kills its daemon this often, and checks what must hold. */
export async function killWhileAgentsWork(t: TestContext, how: Kills): Promise<void> {
  const { kills, sandbox, store, seed } = how;
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
