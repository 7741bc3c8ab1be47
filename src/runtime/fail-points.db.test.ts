import assert from "node:assert/strict";
import { test } from "node:test";
import { append, system } from "../events/ledger.ts";
import { openTestStore, storeKinds } from "../testing/organization.ts";
import { failPoint } from "./fail-points.ts";

for (const kind of storeKinds)
  for (const when of ["before", "after"])
    test(`on ${kind} "${when} wanted#2" fires at the second record of the event, whichever write makes it`, async () => {
      const { store, close } = await openTestStore(kind);
      try {
        // The thrown error ends the write, so the store can be closed afterwards.
        const failing = failPoint(`${when} wanted#2`, () => assert.fail("dies here"));
        assert.ok(failing);
        const watched = failing.watch(store);
        const write = (operation: string) =>
          watched.write(async (tx) =>
            append(tx, { companyId: "", actor: system, operation, subject: null, data: {} }),
          );
        const others = ["other", "other", "other", "other"];
        // Twice: in the first round some writes have to connect, so they arrive at different times.
        await Promise.all([...others, ...others].map(write));
        await Promise.all([...others, "wanted", ...others].map(write));
        await assert.rejects(write("wanted"), /dies here/);
      } finally {
        await close();
      }
    });
