import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../src/client/client.ts";
import { exportEvents, listEvents, removeEvents, verifyLedger } from "../src/contract/ledger.ts";
import { exportMonth, removeMonth, verifyFile } from "../src/daemon/ledger-file.ts";
import { append, system } from "../src/events/ledger.ts";
import { openPostgres } from "../src/store/postgres.ts";
import { openSqlite } from "../src/store/sqlite.ts";
import { ageEvents } from "../src/testing/old-events.ts";
import { bothStores } from "../src/testing/organization.ts";
import { testDatabase } from "../src/testing/postgres.ts";
import { baseSeed } from "../src/testing/seeds.ts";
import { agency, type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { Random } from "./support/random.ts";

/** Enough events for three stretches and a half. */
const count = 7000;

for (const kind of bothStores)
  test(`kill -9 while a month is exported and removed leaves a record that verifies, and the next run completes the removal (${kind})`, async (t) => {
    const folder = temporaryFolder("months");
    const database = kind === "postgres" ? await testDatabase() : undefined;
    const random = new Random(baseSeed);
    const home = join(folder.path, "home");
    const options = { home, databaseUrl: database?.url, env: { AGENCY_AGENTS: "off" } };
    let target: Awaited<ReturnType<typeof testDatabase>> | undefined;
    let daemon: BuiltDaemon | undefined;
    try {
      daemon = await startDaemon(options).ready;
      const { companyId } = daemon;
      await daemon.stop();
      const key = readFileSync(join(home, "audit-key"), "utf8").trim();
      const store =
        database === undefined
          ? openSqlite({ path: join(home, "agency.db"), clock: Date.now, key })
          : await openPostgres({ url: database.url, key });
      await store.write(async (tx) => {
        for (let n = 0; n < count; n++)
          append(tx, { companyId, actor: system, operation: "knowledge.read", subject: null, data: { n } });
      });
      await ageEvents(store, companyId);
      await store.close();
      rmSync(join(home, "audit-anchor.log"), { force: true });

      const of = { companyId, month: "2020-01" };
      const file = join(folder.path, "2020-01.ledger");
      daemon = await startDaemon(options).ready;
      const total = (await daemon.board.call(exportEvents, of)).last;
      const found = { left: total, kills: 0 };
      /** Kills the daemon at a random moment during the call with this number. */
      const killing = (which: number): Client => {
        let calls = 0;
        const { board } = daemon ?? assert.fail();
        return {
          ...board,
          call: async (operation, input) => {
            const answer = board.call(operation, input);
            answer.catch(() => undefined);
            if (++calls === which) {
              await sleep(random.between(0, 40));
              await daemon?.kill();
              found.kills++;
            }
            return answer;
          },
        };
      };
      /** Checks that the database and the removed months together are complete, even after a crash. */
      const isWhole = async (): Promise<void> => {
        const { board } = daemon ?? assert.fail();
        for (let cursor: string | undefined; ;) {
          const part = await board.call(verifyLedger, { deep: true, ...(cursor && { cursor }) });
          assert.deepEqual(part.problems, []);
          if (part.nextCursor === null) break;
          cursor = part.nextCursor;
        }
        const { events } = await board.call(listEvents, { companyId, operation: "knowledge.read", limit: 1 });
        const first = events[0]?.seq ?? total + 1;
        assert.ok(first === 1 || (first - 1) % 2000 === 0 || first > total, `the first event is ${first}`);
        assert.ok(total - first + 1 <= found.left, "a removed event is there again");
        found.left = total - first + 1;
      };
      const crashing = async (work: (client: Client) => Promise<unknown>, which: number): Promise<void> => {
        // The killed call may have been answered, and a later call may not be reached.
        await work(killing(which)).catch(() => undefined);
        await daemon?.kill();
        daemon = await startDaemon(options).ready;
        await isWhole();
      };
      for (const which of [1, 2, 3]) {
        await crashing((client) => exportMonth(client, of, file), which);
        assert.equal(existsSync(file), false);
      }
      await exportMonth(daemon.board, of, file);
      for (const which of [1, 2, 3, 4]) await crashing((client) => removeMonth(client, of, file), which);
      await removeMonth(daemon.board, of, file);
      await isWhole();
      t.diagnostic(`${found.kills} kills, ${total} events, ${found.left} left`);
      const { removed } = await daemon.board.call(listEvents, { companyId });
      assert.deepEqual(
        removed.map(({ file: name }) => name),
        ["2020-01.ledger"],
      );
      assert.equal((await verifyFile(file, [key])).events, total);
      const again = { ...of, until: total, digest: "0".repeat(64), fileName: "x" };
      assert.deepEqual(await daemon.board.call(removeEvents, again), { removed: 0, kept: 0 });

      // A backup of the remaining events restores and verifies.
      const backup = join(folder.path, "all.backup");
      assert.equal((await agency(["backup", backup], options)).code, 0);
      await daemon.stop();
      const copy = { home: join(folder.path, "copy"), env: options.env };
      const restored = await agency(["restore", backup], copy);
      assert.equal(restored.code, 0, restored.err);
      daemon = await startDaemon(copy).ready;
      await isWhole();
      assert.equal((await daemon.board.call(listEvents, { companyId })).removed.length, 1);

      // A move to the other store works too.
      await daemon.stop();
      target = await testDatabase();
      const moved = await agency(["migrate", "--to", target.url], copy);
      assert.equal(moved.code, 0, moved.err);
      daemon = await startDaemon(copy).ready;
      await isWhole();
    } finally {
      await daemon?.kill();
      folder.remove();
      await database?.drop();
      await target?.drop();
    }
  });
