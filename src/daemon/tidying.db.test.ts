import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { verifyLedger } from "../contract/ledger.ts";
import { insertion } from "../store/inserts.ts";
import { selection } from "../store/query.ts";
import { createOrganization, openTestStore, storeKinds, type TestStore } from "../testing/organization.ts";
import { tidy } from "./tidying.ts";

const addSecret = insertion("secrets");
const secrets = selection("secrets", []);
const addKey = insertion("idempotency");
const keys = selection("idempotency", []);

for (const kind of storeKinds)
  describe(`tidying on ${kind}`, () => {
    let opened: TestStore;
    before(async () => (opened = await openTestStore(kind)));
    after(() => opened.close());

    test("it removes unused secrets of several companies and old idempotency keys, and records each removal", async () => {
      const { store } = opened;
      const org = await createOrganization(store);
      const other = await org.another();
      await store.write(async (tx) => {
        const made = { operation: "test", input_hash: "", output: "{}" };
        for (const [key, created_at] of [
          ["old", 0],
          ["new", tx.now],
        ] as const)
          await tx.run(addKey, { actor: "someone", key, ...made, created_at });
      });
      for (const company_id of [org.companyId, other.companyId])
        await store.write(async (tx) => {
          await tx.lock(company_id);
          for (const [name, generated, created_at] of [
            ["UNUSED-1", 1, 0],
            ["NEW-1", 1, tx.now],
            ["NAMED", 0, 0],
          ] as const)
            await tx.run(addSecret, { company_id, name, sealed: null, generated, created_at });
        });
      await tidy(store);
      const left = await store.read(async (tx) => ({
        keys: (await tx.all(keys, {})).map(({ key }) => key),
        secrets: (await tx.all(secrets, {})).map(({ name }) => name).toSorted(),
      }));
      assert.deepEqual(left, { keys: ["new"], secrets: ["NAMED", "NAMED", "NEW-1", "NEW-1"] });
      assert.equal((await org.board(verifyLedger, {})).ok, true);
    });
  });
