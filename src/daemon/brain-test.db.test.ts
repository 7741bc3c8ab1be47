import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { testBrain } from "../contract/hiring.ts";
import { listEvents } from "../contract/ledger.ts";
import type { Tx } from "../store/store.ts";
import { createOrganization, openTestStore, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`tests of brains on ${kind}`, () => {
    test("a trial runs once for a recorded test, however often the store repeats the write, and never without a record", async (t) => {
      const { store, close } = await openTestStore(kind);
      t.after(() => close());
      let runs = 0;
      const runTrial = async () => {
        runs++;
        const exit = { code: 0, reason: "it is done", output: "OK" };
        return { exit, calls: [], milliseconds: 1, isLate: false, isFrozen: false };
      };
      const { board, companyId } = await createOrganization(store, { runTrial });
      const asked = { companyId, type: "process", adapterConfig: { command: process.execPath } };
      const ended = async (test: string): Promise<string> => {
        for (;;) {
          const { status } = await board(testBrain, { companyId, type: "process", test });
          if (status !== "running") return status;
          await sleep(5);
        }
      };
      const onRecord = async () =>
        (await board(listEvents, { companyId, operation: "brain.test", limit: 100 })).events.length;
      const write = store.write.bind(store);
      class RolledBack extends Error {}
      const rolledBack = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
        write<T>(async (tx) => {
          await work(tx);
          throw new RolledBack();
        });
      /** Runs the work twice, as if the first commit had failed. */
      const runTwice = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
        const first = await rolledBack(work).catch((error: unknown) => error);
        if (!(first instanceof RolledBack)) throw first;
        return write(work);
      };
      const writing = mock.method(store, "write", write);
      for (let count = 1; count <= 6; count++) {
        writing.mock.mockImplementation(runTwice);
        const { test: id } = await board(testBrain, asked);
        writing.mock.mockImplementation(write);
        assert.equal(await ended(id), "works");
        assert.deepEqual([runs, await onRecord()], [count, count]);
      }
      // More tests than may run at once, and none of them takes a place.
      writing.mock.mockImplementation(rolledBack);
      for (let at = 0; at < 6; at++) await assert.rejects(board(testBrain, asked), RolledBack);
      writing.mock.mockImplementation(write);
      const { test: id } = await board(testBrain, asked);
      assert.equal(await ended(id), "works");
      assert.deepEqual([runs, await onRecord()], [7, 7]);
    });
  });
