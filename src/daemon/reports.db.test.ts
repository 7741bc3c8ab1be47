import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pauseAgent, resumeAgent } from "../contract/agents.ts";
import { append, system } from "../events/ledger.ts";
import { allowed } from "../testing/allowed.ts";
import { createOrganization, openTestStore, storeKinds } from "../testing/organization.ts";
import { keepReports } from "./reports.ts";

for (const kind of storeKinds)
  describe(`reports to the person who runs the daemon (${kind})`, () => {
    test("an event after a thousand others is reported, with the number of omitted events", async () => {
      const { store, close } = await openTestStore(kind, { fast: true });
      const { core, boardToken, companyId, rootId, board } = await createOrganization(store);
      const told: string[] = [];
      // This test decides when each look happens.
      let look = Promise.withResolvers<void>();
      let waiting = Promise.withResolvers<void>();
      const reports = await keepReports({
        store,
        ask: async (operation, input) =>
          operation.output.parse(await core.dispatch({ operation, token: boardToken, input })),
        sleep: async (milliseconds, signal) => {
          if (milliseconds === 0) return;
          waiting.resolve();
          await Promise.race([look.promise, sleep(allowed(60_000), undefined, { signal, ref: false })]).catch(
            () => undefined,
          );
        },
        reportBug: (error) => assert.fail(String(error)),
        to: { tell: ({ says }) => told.push(says) },
      });
      const lookAgain = async (): Promise<void> => {
        const before = look;
        [look, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        before.resolve();
        await waiting.promise;
      };
      try {
        await waiting.promise;
        await store.write(async (tx) => {
          await tx.lock(companyId);
          for (let each = 0; each < 1200; each++)
            append(tx, { companyId, actor: system, operation: "knowledge.read", subject: null, data: {} });
        });
        await board(pauseAgent, { id: rootId });
        await lookAgain();
        assert.equal(told.length, 1, told.join("\n"));
        assert.match(told[0] ?? "", /paused/);

        told.length = 0;
        for (let each = 0; each < 13; each++) {
          await board(resumeAgent, { id: rootId });
          await board(pauseAgent, { id: rootId });
        }
        await lookAgain();
        assert.equal(told.length, 21);
        assert.equal(told.at(-1), "… and 6 more events: agency logs");
      } finally {
        look.resolve();
        await reports.stop();
        await close();
      }
    });
  });
