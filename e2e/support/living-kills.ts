import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fixedPort } from "./agents.ts";
import { Arena } from "./arena.ts";
import { temporaryFolder } from "./daemon.ts";
import { runLiving } from "./living-campaign.ts";
import { Random, seedOfThisRun } from "./random.ts";
import { postgresTables, sqliteTables } from "./tables.ts";

export interface Kills {
  readonly kills: number;
  readonly sandbox: "off" | "on";
  readonly databaseUrl?: string;
}

/** An organization of wild actors on a home of its own, whose daemon is killed this often, and what must hold of it. */
export async function killWhileAgentsWork(t: TestContext, how: Kills): Promise<void> {
  const seed = seedOfThisRun();
  t.diagnostic(`AGENCY_TEST_SEED=${seed} repeats the plan of this run`);
  const { kills, databaseUrl } = how;
  const home = temporaryFolder("living");
  const notes = temporaryFolder("notes");
  const port = await fixedPort();
  const arena = new Arena({ home: home.path, port, databaseUrl, env: { AGENCY_SANDBOX: how.sandbox } });
  try {
    const { problems, says, killedWithSessions, accepted } = await runLiving({
      arena,
      random: new Random(seed),
      folder: join(notes.path, "notes"),
      kills,
      checkEvery: 25,
      takesNotes: how.sandbox === "off",
      openTables: async () =>
        databaseUrl === undefined ? sqliteTables(home.path) : postgresTables(databaseUrl),
    });
    t.diagnostic(says);
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    assert.deepEqual(arena.failures, []);
    assert.ok(killedWithSessions > kills / 3 && accepted > kills, "there was something to go wrong");
    await arena.stop();
  } finally {
    await arena.end();
    home.remove();
    notes.remove();
  }
}
