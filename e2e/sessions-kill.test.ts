import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fixedPort } from "./support/agents.ts";
import { Arena } from "./support/arena.ts";
import { temporaryFolder } from "./support/daemon.ts";
import { runLiving } from "./support/living-campaign.ts";
import { Random, seedOfThisRun } from "./support/random.ts";
import { sqliteTables } from "./support/tables.ts";

const isLong = process.env["AGENCY_TEST_LONG"] === "1";

test("kill -9 while agents work: one accepted session each, no orphan, no stale write, nothing lost or doubled", async (t) => {
  const seed = seedOfThisRun();
  t.diagnostic(`AGENCY_TEST_SEED=${seed} repeats the plan of this run`);
  // Two organizations side by side: most of a kill is waiting for processes to start.
  const kills = isLong ? 500 : 50;
  const both = await Promise.allSettled([
    killWhileAgentsWork(t, seed, kills),
    killWhileAgentsWork(t, seed + 1, kills),
  ]);
  for (const result of both) if (result.status === "rejected") throw result.reason;
});

async function killWhileAgentsWork(t: TestContext, seed: number, kills: number): Promise<void> {
  const home = temporaryFolder("living");
  const notes = temporaryFolder("notes");
  const port = await fixedPort();
  const arena = new Arena({ home: home.path, port, env: { AGENCY_SANDBOX: "off" } });
  try {
    const { problems, says, killedWithSessions, orphans, accepted } = await runLiving({
      arena,
      random: new Random(seed),
      folder: join(notes.path, "notes"),
      kills,
      checkEvery: 25,
      openTables: async () => sqliteTables(home.path),
    });
    t.diagnostic(says);
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    assert.deepEqual(arena.failures, []);
    assert.ok(killedWithSessions > kills / 2, "most kills came while sessions lived");
    assert.ok(orphans > 0 && accepted > kills, "there was something to go wrong");
    await arena.stop();
  } finally {
    await arena.end();
    home.remove();
    notes.remove();
  }
}
