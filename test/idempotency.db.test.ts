// A call that is repeated with its idempotency key takes effect once, and a secret is shown only once.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFile } from "../src/contract/knowledge.ts";
import { createKey } from "../src/contract/agents.ts";
import { createPerson } from "../src/contract/people.ts";
import { createOutcome } from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import { refusal, sharedOrganization, bothStores } from "../src/testing/organization.ts";
import { digestOf, everythingIn, unchanged } from "./digest.ts";

for (const kind of bothStores)
  describe(`idempotency keys on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind);
    const boss = await org.agent("Chief");

    test("a repeated idempotency key returns the first result and has one effect", async () => {
      const input = { description: "once", content: "c" };
      const first = await boss.call(createFile, input, { key: "k-1" });
      const digest = await digestOf(store);
      assert.deepEqual(await boss.call(createFile, input, { key: "k-1" }), first);
      assert.deepEqual(
        await boss.call(createFile, { content: "c", description: "once" }, { key: "k-1" }),
        first,
      );
      await refusal(boss.call(createFile, { ...input, content: "other" }, { key: "k-1" }), "conflict");
      const another = boss.call(createOutcome, { title: "other", parents: [boss.id] }, { key: "k-1" });
      await refusal(another, "conflict");
      assert.deepEqual(await digestOf(store), digest);
      // Each caller has separate keys.
      const caller = await org.agent("Another caller");
      assert.notEqual((await caller.call(createFile, input, { key: "k-1" })).id, first.id);
      const together = await Promise.all(
        Array.from({ length: 20 }, () => boss.call(createFile, input, { key: "k-2" })),
      );
      assert.equal(new Set(together.map(({ id }) => id)).size, 1);
    });

    test("a refused call does not use up its key, and a malformed key is refused", async () => {
      const work = await boss.call(createOutcome, { title: "keyed", parents: [boss.id] });
      const input = { id: work.id, to: "keyed-report" };
      await refusal(boss.call(delegateOutcome, input, { key: "k-3" }), "refused");
      await org.agent("Keyed report", boss.id);
      await boss.call(delegateOutcome, input, { key: "k-3" });
      await unchanged(store, async () => {
        for (const key of ["", " ", "a b", "é", "k".repeat(201), "tab\t", `k\u0000`]) {
          await refusal(boss.call(createFile, { description: "d", content: "c" }, { key }), "invalid");
          // A caller without a credential isn't told what a valid key looks like.
          await refusal(
            org.as("nobody")(createFile, { description: "d", content: "c" }, { key }),
            "unauthenticated",
          );
        }
      });
    });

    test("a repeated answer has the fields of the first, without its secrets", async () => {
      const input = { name: "Repeated person" };
      const made = await org.board(createPerson, input, { key: "k-5" });
      const { link, code, expiresAt } = createPerson.output.parse(
        await org.board(createPerson, input, { key: "k-5" }),
      ).signIn;
      assert.deepEqual([link, code, expiresAt], Array(3).fill("[shown once]"));
      assert.ok(!(await everythingIn(store)).includes(made.signIn.code));
    });

    test("a key's secret is shown once and stored nowhere", async () => {
      const made = await org.board(createKey, { id: boss.id }, { key: "k-4" });
      const again = await org.board(createKey, { id: boss.id }, { key: "k-4" });
      assert.deepEqual(again, { ...made, key: "[shown once]" });
      await org.as(made.key)(createFile, { description: "the key works", content: "c" });
      const everything = await everythingIn(store);
      assert.ok(everything.includes(made.id) && everything.includes("the key works"));
      for (const secret of [made.key, made.key.replace("agk_", ""), boss.token, org.boardToken])
        assert.ok(!everything.includes(secret));
    });
  });
