import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createClient } from "../client/client.ts";
import { createCompany } from "../contract/companies.ts";
import { anyCompany } from "../dispatch/company-settings.ts";
import { openPostgres } from "../store/postgres.ts";
import { storeDatabase, testStores } from "../testing/postgres.ts";
import { startTcpProxy } from "../testing/tcp-proxy.ts";
import { startDaemon } from "./daemon.ts";
import { databaseIsAway, databaseIsBack } from "./texts.ts";

if (testStores.has("postgres")) {
  test("while the database is silent, readiness says so at once, the log has two lines, and a stop is obeyed", async () => {
    const database = await storeDatabase();
    const proxy = await startTcpProxy(database.url);
    const { home, lines, log, remove } = scene();
    const other = await openPostgres({ url: proxy.url });
    const says = (text: string) => lines.filter((line) => line["says"] === text).length;
    /** An ordinary read, which the store gives up after 16 seconds. */
    const usual = () => other.read(anyCompany).catch(() => "given up");
    try {
      const daemon = await startDaemon({ home, port: 0, databaseUrl: proxy.url, sandbox: false, log });
      await createClient(daemon).call(createCompany, { name: "Bakery" });
      const health = () => fetch(`${daemon.url}/api/health`).then(({ status }) => status);
      assert.equal(await health(), 200);

      proxy.swallow(true);
      assert.equal(await Promise.race([usual(), health()]), 503, "readiness waits as long as a usual read");
      while (says(databaseIsAway) === 0) await sleep(20);
      proxy.heal();
      while (says(databaseIsBack) === 0) await sleep(20);

      proxy.swallow(true);
      while (says(databaseIsAway) === 1) await sleep(20);
      const stopping = daemon.stop(30_000).then(() => "stopped");
      assert.equal(await Promise.race([usual(), stopping]), "stopped", "the stop waits for the database");
      assert.equal(says(databaseIsAway), 2);
      const bugs = lines.filter(({ error }) => error !== undefined);
      assert.deepEqual(bugs, [], "an outage is no bug");
    } finally {
      await other.close();
      await proxy.stop();
      await database.drop();
      remove();
    }
  });

  test("a company whose lock is held elsewhere does not hold up the start of a node", async () => {
    const database = await storeDatabase();
    const { home, lines, log, remove } = scene();
    const start = () => startDaemon({ home, port: 0, databaseUrl: database.url, sandbox: false, log });
    const first = await start();
    const { id } = await createClient(first).call(createCompany, { name: "Bakery" });
    await first.stop();
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query("select pg_advisory_lock(hashtextextended($1, 0))", [id]);
    try {
      const daemon = await start();
      assert.equal((await fetch(`${daemon.url}/api/health`)).status, 200);
      // The sweep gives up after half a minute.
      assert.deepEqual(
        lines.filter(({ about }) => about === "sweep"),
        [],
      );
      await holder.end();
      await daemon.stop();
    } finally {
      await holder.end();
      await database.drop();
      remove();
    }
  });
} else test("needs PostgreSQL", () => undefined);

function scene() {
  const folder = mkdtempSync(join(tmpdir(), "agency-outage-"));
  const lines: Record<string, unknown>[] = [];
  return {
    home: join(folder, "home"),
    lines,
    log: (line: Record<string, unknown>) => void lines.push(line),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
