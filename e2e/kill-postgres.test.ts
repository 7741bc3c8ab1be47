import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, startPostgres, testDatabase } from "../src/testing/postgres.ts";
import { campaign } from "../src/testing/run-length.ts";
import { baseSeed } from "../src/testing/seeds.ts";
import { Arena } from "./support/arena.ts";
import { runCampaign, startLoad } from "./support/campaign.ts";
import { check, checkRecent } from "./support/checker.ts";
import { isAlive, temporaryFolder } from "./support/daemon.ts";
import { History } from "./support/history.ts";
import { Random } from "./support/random.ts";
import { postgresTables } from "./support/tables.ts";
import { allowed } from "../src/testing/allowed.ts";

const daemonKills = campaign({ quick: 10, whole: 1, long: 30 });
const serverKills = campaign({ quick: 2, whole: 8, long: 20 });

test("after kill -9 of the daemon on PostgreSQL, no operation is lost, half done or done twice", async (t) => {
  const home = temporaryFolder("kill");
  const database = await testDatabase();
  const arena = new Arena({ home: home.path, databaseUrl: database.url, env: { AGENCY_AGENTS: "off" } });
  try {
    const { history, kills, problems } = await runCampaign({
      arena,
      random: new Random(baseSeed),
      kills: daemonKills,
      moments: ["starting", "load", "load"],
      writes: [0, 60],
      checkEvery: 25,
      openTables: () => postgresTables(database.url),
    });
    t.diagnostic(
      `${[...kills].map(([moment, count]) => `${count} ${moment}`).join(", ")}; ${history.acknowledged} writes ` +
        `acknowledged, ${history.lost} lost an answer, ${history.repeated} repeated under their key`,
    );
    assert.deepEqual(problems.slice(0, 20), [], `seed ${baseSeed}`);
    assert.deepEqual(arena.failures, []);
    await arena.stop();
  } finally {
    await arena.end();
    await database.drop();
    home.remove();
  }
});

test("kill -9 of PostgreSQL under load loses nothing, and the daemon recovers by itself", async (t) => {
  const home = temporaryFolder("kill");
  const server = await startPostgres();
  const random = new Random(baseSeed);
  const history = new History();
  try {
    const database = await createDatabase(server.url);
    const arena = new Arena({ home: home.path, databaseUrl: database.url, env: { AGENCY_AGENTS: "off" } });
    try {
      const daemon = await arena.start();
      const load = await startLoad(arena, random, history);
      const waits: number[] = [];
      for (let crash = 0; crash < serverKills; crash++) {
        await sleep(random.between(300, 900));
        await server.crash();
        const back = performance.now();
        const before = history.acknowledged;
        while (history.acknowledged < before + 20) {
          assert.ok(isAlive(daemon.pid), `the daemon ended with its database: ${daemon.log().slice(-2000)}`);
          assert.ok(performance.now() - back < allowed(30_000), "no writes were acknowledged in time");
          await sleep(20);
        }
        waits.push(Math.round(performance.now() - back));
        await arena.quiet();
        assert.deepEqual(await checkRecent(daemon, history.files.slice(-500)), [], `seed ${baseSeed}`);
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
      assert.deepEqual(problems.slice(0, 20), [], `seed ${baseSeed}`);
      await arena.stop();
    } finally {
      await arena.end();
    }
  } finally {
    await server.stop();
    home.remove();
  }
});
