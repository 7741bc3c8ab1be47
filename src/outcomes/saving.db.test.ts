import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createOutcome } from "../contract/outcomes.ts";
import { system } from "../events/ledger.ts";
import { createOrganization, openTestStore } from "../testing/organization.ts";
import { testStores } from "../testing/postgres.ts";
import { outcomeById, parentsOf, saveOutcome } from "./table.ts";

if (testStores.has("postgres"))
  describe("an outcome that is saved while another write waits for its turn", () => {
    for (const [changes, expected] of [
      [{ description: "new" }, { runs: 1, titles: ["Parent"] }],
      [{ title: "New" }, { runs: 2, titles: ["New"] }],
    ] as const)
      test(`makes it run ${expected.runs} times after a change of ${Object.keys(changes).join()}`, async () => {
        const opened = await openTestStore("postgres");
        try {
          const { store } = opened;
          const org = await createOrganization(store);
          const { id, call } = await org.agent("Ann");
          const parent = await call(createOutcome, { title: "Parent", parents: [id] });
          const child = await call(createOutcome, { title: "Child", parents: [parent.id] });
          const [hasTurn, hasRead] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
          const saving = store.write(async (tx) => {
            await tx.lock(org.companyId);
            await tx.turn();
            hasTurn.resolve();
            await hasRead.promise;
            await saveOutcome(tx, { ...(await outcomeById(tx, parent.id)), ...changes }, system);
          });
          await hasTurn.promise;
          let runs = 0;
          const titles = await store.write(async (tx) => {
            runs += 1;
            await tx.lock(org.companyId);
            const found = await parentsOf(tx, child.id);
            hasRead.resolve();
            await tx.turn();
            return found.map(({ title }) => title);
          });
          await saving;
          assert.deepEqual({ runs, titles }, expected);
        } finally {
          await opened.close();
        }
      });
  });
else test("needs PostgreSQL", () => undefined);
