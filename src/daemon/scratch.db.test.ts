import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { entryPoint } from "../cli/where.ts";
import { testDatabase, testStores } from "../testing/postgres.ts";
import { isHealthy, openScratch } from "./scratch.ts";

const folder = mkdtempSync(join(tmpdir(), "agency-scratch-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
const place = (home: string, databaseUrl?: string) => ({
  home: join(folder, home),
  databaseUrl,
  cli: entryPoint(),
  path: process.env["PATH"],
});

/** Waits until the process has ended. If it still runs after a minute, it is killed. */
async function isGone(pid: number): Promise<boolean> {
  for (let tried = 0; tried < 3000; tried++)
    try {
      process.kill(pid, 0);
      await sleep(20);
    } catch {
      return true;
    }
  process.kill(pid, "SIGKILL");
  return false;
}

if (testStores.has("sqlite"))
  describe("a throw-away installation on sqlite", () => {
    test("is beside a home that does not exist, restarts on its data, and is removed", async () => {
      const scratch = await openScratch(place("none"));
      try {
        assert.equal(scratch.store, "sqlite");
        assert.ok((await scratch.start()) > 0);
        const { url, pid, companyId } = scratch.running();
        assert.ok(await isHealthy(url));
        await scratch.stop();
        assert.ok(await isGone(pid));
        await scratch.start();
        assert.equal(scratch.running().companyId, companyId);
      } finally {
        await scratch.close();
      }
      assert.deepEqual(readdirSync(folder), []);
    });

    test("its daemon ends when the process that measures is killed", async () => {
      const module = JSON.stringify(fileURLToPath(new URL("scratch.ts", import.meta.url)));
      const program = `
      const { openScratch } = await import(${module});
      const scratch = await openScratch(${JSON.stringify(place("killed"))});
      await scratch.start();
      console.log(scratch.running().pid);`;
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [pid]: unknown[] = await once(createInterface({ input: child.stdout }), "line");
      child.kill("SIGKILL");
      assert.ok(await isGone(Number(pid)));
    });
  });

if (testStores.has("postgres"))
  describe("a throw-away installation on postgres", () => {
    const names = async (client: pg.Client): Promise<unknown[]> =>
      (await client.query("select datname from pg_database where datname like 'agency_bench_%'")).rows;

    test("is a separate database, which is dropped in the end", async () => {
      const database = await testDatabase();
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      try {
        const scratch = await openScratch(place("postgres", database.url));
        try {
          await scratch.start();
          assert.equal(scratch.store, "postgres");
          assert.equal((await names(client)).length, 1);
          const { rows } = await client.query(
            "select 1 from information_schema.tables where table_schema = 'public'",
          );
          assert.deepEqual(rows, [], "the installation's own database stays as it is");
        } finally {
          await scratch.close();
        }
        assert.deepEqual(await names(client), []);
      } finally {
        await client.end();
        await database.drop();
      }
    });

    test("a user that may not create databases is told how to allow it", async () => {
      const database = await testDatabase();
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      const role = `plain_${process.pid}`;
      try {
        await client.query(`create role ${role} login password 'p'`);
        const url = new URL(database.url);
        [url.username, url.password] = [role, "p"];
        await assert.rejects(openScratch(place("plain", url.href)), {
          message: `The database user ${role} may not create the throw-away database that is measured.`,
        });
      } finally {
        await client.query(`drop role if exists ${role}`);
        await client.end();
        await database.drop();
      }
    });
  });
