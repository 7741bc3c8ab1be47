// Two nodes that reach PostgreSQL through PgBouncer in transaction mode, with both addresses from files.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pgBouncer } from "../scripts/test-plan.ts";
import { createGoal } from "../src/contract/goals.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { createFile, readFile } from "../src/contract/knowledge.ts";
import { startPgBouncer } from "../src/testing/pgbouncer.ts";
import { createDatabase, startPostgres } from "../src/testing/postgres.ts";
import { agency, type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

const program = pgBouncer() ?? assert.fail("there is no PgBouncer on this machine (Debian: pgbouncer)");

test("two nodes behind PgBouncer work, doctor finds nothing, and a missing direct address is named", async () => {
  const server = await startPostgres();
  const database = await createDatabase(server.url);
  const pool = await startPgBouncer(program, database.url);
  const homes = [temporaryFolder("pool"), temporaryFolder("pool"), temporaryFolder("pool")] as const;
  const optionsOf = (home: string) => ({
    home,
    env: {
      AGENCY_AUDIT_KEY: "one key that seals the ledger on all nodes",
      DATABASE_URL_FILE: join(home, "pool"),
      DATABASE_DIRECT_URL_FILE: join(home, "direct"),
    },
  });
  const daemons: BuiltDaemon[] = [];
  try {
    for (const { path } of homes) {
      writeFileSync(join(path, "pool"), pool.url, { mode: 0o600 });
      writeFileSync(join(path, "direct"), database.url, { mode: 0o600 });
    }
    const [first, second, third] = homes;
    for (const { path } of [first, second]) daemons.push(await startDaemon(optionsOf(path)).ready);
    const [one, two] = daemons;
    assert.ok(one !== undefined && two !== undefined);
    const { companyId } = one;
    await one.board.call(createGoal, { companyId, title: "A guide to bread" });
    const written = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 === 0 ? one : two).board.call(createFile, {
          companyId,
          description: `Note ${index}`,
          content: `Content ${index}`,
        }),
      ),
    );
    for (const [index, { id }] of written.entries())
      assert.equal((await two.board.call(readFile, { id })).content, `Content ${index}`);
    // The rehearsal begins with the goal, on either node.
    while ((await two.board.call(listSessions, { companyId, limit: 1 })).sessions.length === 0)
      await sleep(100);
    const doctor = await agency(["doctor"], optionsOf(first.path));
    assert.match(doctor.out, /^ok +database +PostgreSQL at 127\.0\.0\.1:\d+, answers$/m);
    const audit = await agency(["audit", "verify"], optionsOf(second.path));
    assert.equal(audit.code, 0, audit.out + audit.err);

    const { home, env } = optionsOf(third.path);
    const { DATABASE_DIRECT_URL_FILE: _, ...without } = env;
    const refused = await agency(["up", "--port", "0"], { home, env: without });
    assert.equal(refused.code, 1);
    assert.match(refused.err, /leads to a pool of connections.*\n.*DATABASE_DIRECT_URL/);
    const told = await agency(["doctor"], { home, env: without });
    assert.match(told.out, /^fix +database +.*pool of connections.*DATABASE_DIRECT_URL/m);
  } finally {
    for (const daemon of daemons) await daemon.stop();
    await pool.stop();
    await server.stop();
    for (const home of homes) home.remove();
  }
});
