import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { allowed } from "./allowed.ts";
import pg from "pg";
import { createDatabase, startPostgres, testDatabase, testStores } from "./postgres.ts";

if (testStores.has("postgres")) {
  test("a server starts, answers, and leaves no process and no folder when it is stopped", async () => {
    const server = await startPostgres();
    const { version, fsync, data } = await ask<{ version: string; fsync: string; data: string }>(
      server.url,
      "select version(), current_setting('fsync') as fsync, current_setting('data_directory') as data",
    );
    assert.match(version, /^PostgreSQL 18\./);
    assert.equal(fsync, "on");
    const pid = Number.parseInt(readFileSync(join(data, "postmaster.pid"), "utf8"), 10);
    assert.ok(isAlive(pid));

    await server.stop();
    await server.stop();

    assert.equal(isAlive(pid), false);
    assert.equal(existsSync(dirname(data)), false);
  });

  test("a server ends when the process that started it is killed, whether ready or still starting", async () => {
    const temporary = mkdtempSync("/tmp/agency-test-");
    chmodSync(temporary, 0o1777);
    try {
      for (const moment of ["ready", "starting"]) {
        const starter = startElsewhere(temporary);
        await until(() => isServerIn(temporary, moment));
        starter.kill("SIGKILL");
        // The shell deletes the server's folder last, after the processes have ended.
        await until(() => readdirSync(temporary).length === 0);
      }
    } finally {
      rmSync(temporary, { recursive: true });
    }
  });

  test("databases are separate, and a new one can be a copy of a template", async () => {
    const server = await startPostgres({ durable: false });
    try {
      const model = await createDatabase(server.url);
      await ask(model.url, "create table note as select 'kept' as words");
      const template = new URL(model.url).pathname.slice(1);
      const copies = await Promise.all([1, 2].map(() => createDatabase(server.url, { template })));
      for (const copy of copies) {
        assert.deepEqual(await ask(copy.url, "select words from note"), { words: "kept" });
        await ask(copy.url, "drop table note");
      }
      assert.deepEqual(await ask(model.url, "select words from note"), { words: "kept" });
      await model.drop();
      await assert.rejects(ask(model.url, "select 1"), /does not exist/);
    } finally {
      await server.stop();
    }
  });

  test("a test gets a database and can drop it while a client is connected", async () => {
    const database = await testDatabase();
    const client = new pg.Client({ connectionString: database.url });
    client.on("error", () => undefined);
    await client.connect();
    await database.drop();
    await assert.rejects(client.query("select 1"));
  });
}

function startElsewhere(temporary: string): ChildProcess {
  const script = `
    import { startPostgres } from ${JSON.stringify(import.meta.resolve("./postgres.ts"))};
    await startPostgres({ durable: false });
    setInterval(() => {}, 1000);
  `;
  return spawn(process.execPath, ["--input-type=module", "--eval", script], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: "inherit",
  });
}

function isServerIn(temporary: string, moment: string): boolean {
  const [home] = readdirSync(temporary);
  if (home === undefined || moment === "starting") return home !== undefined;
  const status = join(temporary, home, "data", "postmaster.pid");
  try {
    return /^ready/m.test(readFileSync(status, "utf8"));
  } catch {
    // The file does not exist yet, or postgres is rewriting it.
    return false;
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (const begun = performance.now(); performance.now() - begun < allowed(30_000); await sleep(20))
    if (holds()) return;
  assert.fail("did not happen within 30 seconds");
}

async function ask<Row>(url: string, sql: string): Promise<Row> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows[0];
  } finally {
    await client.end();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
