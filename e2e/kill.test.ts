import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { byLength, campaign } from "../src/testing/run-length.ts";
import { baseSeed } from "../src/testing/seeds.ts";
import { Arena } from "./support/arena.ts";
import { runCampaign } from "./support/campaign.ts";
import { temporaryFolder } from "./support/daemon.ts";
import { Random } from "./support/random.ts";
import { sqliteTables } from "./support/tables.ts";

// A long run is many homes, two at a time, because a home that grows for hours says little about a home in use.
const homes = campaign({ quick: 1, whole: 1, long: 2 });
const killsPerHome = byLength({ quick: 30, whole: 30, long: 60 });

test("after repeated kill -9 under load, no acknowledged write is lost, incomplete or doubled", async (t) => {
  const seeds = Array.from({ length: homes }, (_, number) => baseSeed + number);
  const work = async (): Promise<void> => {
    for (let next = seeds.shift(); next !== undefined; next = seeds.shift()) await killOften(t, next);
  };
  await Promise.all([work(), work()]);
});

async function killOften(t: TestContext, seed: number): Promise<void> {
  const home = temporaryFolder("kill");
  const start = performance.now();
  const arena = new Arena({ home: home.path, env: { AGENCY_AGENTS: "off" } });
  try {
    const { history, kills, whileMoving, problems } = await runCampaign({
      arena,
      random: new Random(seed),
      kills: killsPerHome,
      moments: ["starting", "load", "load", "moving"],
      writes: [0, 60],
      checkEvery: 25,
      openTables: async () => sqliteTables(home.path),
    });
    t.diagnostic(
      `${[...kills].map(([moment, count]) => `${count} ${moment}`).join(", ")}; ${whileMoving} while content moved; ` +
        `${history.acknowledged} writes acknowledged, ${history.lost} lost an answer, ${history.repeated} repeated ` +
        `under their key, ${history.answeredAgain} keys answered again; ${seconds(start)} s`,
    );
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    assert.deepEqual(arena.failures, []);
    assert.ok(whileMoving > 0, "no kill came while content was moved");
    await arena.stop();
  } finally {
    await arena.end();
    home.remove();
  }
}

function seconds(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
