import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, startPostgres, testDatabase } from "../src/testing/postgres.ts";
import { Arena } from "./support/arena.ts";
import { runCampaign, startLoad } from "./support/campaign.ts";
import { check, checkRecent } from "./support/checker.ts";
import { isAlive, temporaryFolder } from "./support/daemon.ts";
import { History } from "./support/history.ts";
import { Random, seedOfThisRun } from "./support/random.ts";
import { postgresTables } from "./support/tables.ts";

const isLong = process.env["AGENCY_TEST_LONG"] === "1";

test("kill -9 of the daemon with its store on PostgreSQL loses, halves and doubles nothing", async (t) => {
  const seed = seedOfThisRun();
  t.diagnostic(`AGENCY_TEST_SEED=${seed} repeats this run`);
  const home = temporaryFolder("kill");
  const database = await testDatabase();
  const arena = new Arena({ home: home.path, databaseUrl: database.url, env: { AGENCY_AGENTS: "off" } });
  try {
    const { history, kills, problems } = await runCampaign({
      arena,
      random: new Random(seed),
      kills: isLong ? 300 : 15,
      moments: ["starting", "load", "load"],
      writes: [0, 60],
      checkEvery: isLong ? 50 : 15,
      openTables: () => postgresTables(database.url),
    });
    t.diagnostic(
      `${[...kills].map(([moment, count]) => `${count} ${moment}`).join(", ")}; ${history.acknowledged} writes ` +
        `acknowledged, ${history.lost} lost an answer, ${history.repeated} repeated under their key`,
    );
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
    assert.deepEqual(arena.failures, []);
    await arena.stop();
  } finally {
    await arena.end();
    await database.drop();
    home.remove();
  }
});

test("kill -9 of PostgreSQL under load loses nothing, and the daemon goes on by itself", async (t) => {
  const seed = seedOfThisRun();
  t.diagnostic(`AGENCY_TEST_SEED=${seed} repeats this run`);
  const home = temporaryFolder("kill");
  const server = await startPostgres();
  const random = new Random(seed);
  const history = new History();
  try {
    const database = await createDatabase(server.url);
    const arena = new Arena({ home: home.path, databaseUrl: database.url, env: { AGENCY_AGENTS: "off" } });
    try {
      const daemon = await arena.start();
      const load = await startLoad(arena, random, history);
      const waits: number[] = [];
      for (let crash = 0; crash < (isLong ? 200 : 3); crash++) {
        await sleep(random.between(300, 900));
        await server.crash();
        const back = performance.now();
        const before = history.acknowledged;
        while (history.acknowledged < before + 20) {
          assert.ok(isAlive(daemon.pid), `the daemon ended with its database: ${daemon.log().slice(-2000)}`);
          assert.ok(performance.now() - back < 30_000, "no writes were acknowledged within 30 s");
          await sleep(20);
        }
        waits.push(Math.round(performance.now() - back));
        await arena.quiet();
        assert.deepEqual(await checkRecent(daemon, history.files.slice(-500)), [], `seed ${seed}`);
        arena.resume();
      }
      await load.stop();
      t.diagnostic(
        `${waits.length} crashes; 20 writes acknowledged ${waits.slice(0, 10).join(", ")} ms after the server was back; ` +
          `${history.acknowledged} acknowledged in all, ${history.lost} lost an answer, ${history.repeated} repeated`,
      );
      assert.ok(history.lost > 0, "no crash was noticed by a client");
      const tables = await postgresTables(database.url);
      const problems = await check(daemon, arena.options, tables, history);
      await tables.close();
      assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}`);
      await arena.stop();
    } finally {
      await arena.end();
    }
  } finally {
    await server.stop();
    home.remove();
  }
});
