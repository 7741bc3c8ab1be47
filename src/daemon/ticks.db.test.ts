import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pauseAgent } from "../contract/agents.ts";
import { createScheduler, renewEvery } from "../runtime/scheduler.ts";
import { openPostgres } from "../store/postgres.ts";
import type { Store } from "../store/store.ts";
import { allowed } from "../testing/allowed.ts";
import { createOrganization, testKey } from "../testing/organization.ts";
import { storeDatabase, testStores } from "../testing/postgres.ts";
import { scriptedRunner } from "../testing/scripted-runner.ts";
import { watchStatements, type WatchedStatements } from "../testing/statements.ts";
import { runScheduler } from "./drive.ts";
import { newId, newSecret } from "./ids.ts";

const reportBug = (error: unknown): string => assert.fail(String(error));
/** Leases are not counted here. */
const pause = (milliseconds: number, signal: AbortSignal) =>
  sleep(milliseconds === renewEvery ? 600_000 : Math.max(milliseconds, 0), undefined, { signal }).catch(
    () => undefined,
  );

const until = async (isSo: () => boolean): Promise<void> => {
  for (const from = performance.now(); !isSo(); await sleep(5))
    assert.ok(performance.now() - from < allowed(20_000), "it did not happen");
};

const readsIn = ({ texts }: WatchedStatements) => texts.filter((text) => text.endsWith("read only")).length;
const isRead = ([begin]: readonly string[]): boolean => begin?.endsWith("read only") === true;
/** The statements of each look of a scheduler, without those that begin and end its transaction. */
const looksIn = ({ transactions }: WatchedStatements) =>
  transactions
    .filter((texts) => isRead(texts) && texts[1]?.startsWith("select 'chain'"))
    .map((texts) => texts.slice(1, -1));
const writesIn = ({ transactions }: WatchedStatements) =>
  transactions.filter((texts) => texts.some((text) => text.includes('insert into "outcomes"')));

if (testStores.has("postgres"))
  describe("what the scheduler costs on postgres", async () => {
    const database = await storeDatabase();
    const stores: Store[] = [];
    const open = async (): Promise<Store> => {
      const store = await openPostgres({ url: database.url, key: testKey });
      stores.push(store);
      return store;
    };
    after(async () => {
      for (const store of stores) await store.close();
      await database.drop();
    });
    const first = await open();
    const org = await createOrganization(first);
    // The new work starts no session.
    await org.board(pauseAgent, { id: org.rootId });
    for (let company = 0; company < 3; company++) await org.another();
    const node = (store: Store, nodeId: string) =>
      createScheduler({
        store,
        nodeId,
        runner: scriptedRunner(org.core.dispatch),
        newId,
        newSecret,
        reportBug,
        sweepEvery: Number.MAX_SAFE_INTEGER,
      });

    test("a tick that finds nothing is one statement", async () => {
      const scheduler = node(first, "alone");
      await scheduler.start();
      await scheduler.tick();
      const watched = watchStatements();
      try {
        await scheduler.tick();
        // The end of a read is not waited for.
        const begun = readsIn(watched);
        await until(() => watched.transactions.length >= begun);
        assert.deepEqual([begun, looksIn(watched).map((texts) => texts.length)], [1, [1]]);
      } finally {
        watched.stop();
      }
    });

    test("a creation costs each of three nodes one look, of four statements", async () => {
      const nodes = [first, await open(), await open()];
      const running = [];
      for (const [index, store] of nodes.entries())
        running.push(
          await runScheduler({ store, scheduler: node(store, `node-${index}`), sleep: pause, reportBug }),
        );
      await org.outcome("before");
      const watched = watchStatements();
      const withNews = () => looksIn(watched).filter((texts) => texts.length > 1);
      try {
        await org.outcome("one");
        const seen = (text: string) => text.startsWith('select * from "events"');
        await until(() => withNews().filter((texts) => texts.some(seen)).length >= nodes.length);
        for (const texts of withNews()) assert.equal(texts.length, 4, texts.join("\n"));
        const [write = []] = writesIn(watched);
        assert.ok(write.length > 10 && write.length <= 13, write.join("\n"));

        // Many creations share transactions and looks.
        await Promise.all(Array.from({ length: 16 }, (_, number) => org.outcome(`warm ${number}`)));
        const from = watched.texts.length;
        await Promise.all(Array.from({ length: 16 }, (_, number) => org.outcome(`many ${number}`)));
        const own = watched.texts.slice(from).length / 16;
        assert.ok(own <= 10, `${own} statements for each creation`);
        for (const each of running.splice(0)) await each.stop();
        await until(() => watched.transactions.filter(isRead).length >= readsIn(watched));
        // A scheduler only reads by looks, and once more when it stops.
        assert.equal(readsIn(watched), looksIn(watched).length + nodes.length);
      } finally {
        watched.stop();
        for (const each of running) await each.stop();
      }
    });
  });
