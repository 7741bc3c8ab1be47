import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { storeDatabase, testStores } from "../testing/postgres.ts";
import { startTcpProxy } from "../testing/tcp-proxy.ts";
import { listen } from "./listening.ts";

if (testStores.has("postgres"))
  test("commits that come faster than the server answers are announced together, and none is left out", async () => {
    const database = await storeDatabase();
    const proxy = await startTcpProxy(database.url);
    let heard = 0;
    const far = await listen(database.url, () => heard++);
    const near = await listen(proxy.url, () => undefined);
    try {
      heard = 0;
      proxy.slow(200);
      for (let commit = 0; commit < 30; commit++) {
        near.tell();
        await sleep(25);
      }
      const during = heard;
      // Each direction takes 200 ms. One notification may be under way, and one more reports the last commits.
      while (heard === during) await sleep(20);
      await sleep(2000);
      assert.ok(heard <= during + 2, `${heard - during} notifications after the last commit`);
    } finally {
      await near.end();
      await far.end();
      await proxy.stop();
      await database.drop();
    }
  });
