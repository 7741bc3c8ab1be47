import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { listEvents, readAuditLog, verifyLedger } from "../contract/ledger.ts";
import { createFile, readFile } from "../contract/knowledge.ts";
import { dynamic } from "../store/query.ts";
import { refusal, sharedOrganization, bothStores } from "../testing/organization.ts";
import type { Store } from "../store/store.ts";
import { follow } from "./follow.ts";
import { seenSoFar } from "./ledger.ts";

for (const kind of bothStores)
  describe(`the ledger on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind);

    const exec = (text: string) =>
      store.write(async (tx) => {
        await tx.run(
          dynamic((db) => ({ compile: () => sql.raw(text).compile(db) })),
          {},
        );
      });

    test("records mutations, readings and refusals, each with who did it", async () => {
      const ada = await org.agent("Ada");
      const session = await org.session(ada.id);
      const file = await session.call(createFile, { description: "notes", content: "a" });
      await session.call(readFile, { id: file.id });
      const bob = await org.agent("Bob");
      await refusal(bob.call(readFile, { id: file.id }), "not_found");
      const { events } = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });
      const about = events.filter(({ subject }) => subject === file.id);
      assert.deepEqual(
        about.map(({ operation }) => operation),
        ["knowledge.create", "knowledge.read"],
      );
      for (const event of about)
        assert.deepEqual(event.actor, {
          kind: "agent",
          agentId: ada.id,
          sessionId: session.id,
          personId: null,
        });
      const refused = events.filter(({ operation }) => operation === "access.refused");
      assert.equal(refused.length, 1);
      assert.equal(refused[0]?.actor.agentId, bob.id);
      assert.equal((await bob.call(readAuditLog, {})).events[0]?.operation, "access.refused");
    });

    test("a refused call leaves only its event", async () => {
      const carl = await org.agent("Carl");
      const before = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });
      await refusal(carl.call(createFile, { description: "both", content: "x", path: "y" }), "invalid");
      const afterwards = await org.board(listEvents, { companyId: org.companyId, limit: 1000 });
      assert.equal(afterwards.events.length, before.events.length);
    });

    test("a follower sees every event once and in order while many write", async () => {
      const start = await lastOf(store, org.companyId);
      const seen: number[] = [];
      const done = new AbortController();
      const following = follow(
        store,
        {
          companyId: org.companyId,
          after: start,
          signal: done.signal,
          sleep: () => new Promise(() => undefined),
        },
        async ({ seq }) => {
          seen.push(seq);
          if (seen.length === 60) done.abort();
        },
      );
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          org.board(createFile, { companyId: org.companyId, description: `f${index}`, content: "x" }),
        ),
      );
      await following;
      assert.deepEqual(
        seen,
        Array.from({ length: 60 }, (_, index) => start + 1 + index),
      );
    });

    test("every company counts from 1, and events of one company don't change the numbers of another", async () => {
      const other = await org.another();
      const before = await lastOf(store, org.companyId);
      for (const content of ["a", "b", "c"])
        await other.board(createFile, { companyId: other.companyId, description: "elsewhere", content });
      const { id } = await org.board(createFile, {
        companyId: org.companyId,
        description: "here",
        content: "x",
      });
      const { events } = await org.board(listEvents, { companyId: org.companyId, after: before });
      assert.deepEqual(
        events.map(({ seq, subject }) => [seq, subject]),
        [[before + 1, id]],
      );
      const first = await other.board(listEvents, { companyId: other.companyId, limit: 1 });
      assert.equal(first.events[0]?.seq, 1);
    });

    test("verification in parts gives the same result as verification at once", async () => {
      const whole = await org.board(verifyLedger, {});
      assert.equal(whole.ok, true);
      assert.equal(whole.nextCursor, null);
      let checked = 0;
      for (let cursor: string | undefined; ;) {
        const part = await org.board(verifyLedger, { cursor, limit: 7 });
        assert.equal(part.ok, true);
        checked += part.checked;
        if (part.nextCursor === null) break;
        cursor = part.nextCursor;
      }
      assert.equal(checked, whole.checked);
    });

    // These tests come last in this file: they restore the ledger only by force.
    const mine = `company_id = '${org.companyId}'`;
    for (const [what, tamper, restore, bad] of [
      ["editing a row", `update events set subject = 'x' where seq = 5 and ${mine}`, null, 5],
      ["editing its data", `update events set data = '{}' where seq = 4 and ${mine}`, null, 4],
      ["deleting a row", `delete from events where seq = 6 and ${mine}`, null, 6],
      [
        "swapping two rows",
        `update events set seq = case seq when 4 then -5 else -4 end where seq in (4, 5) and ${mine}`,
        "update events set seq = -seq where seq < 0",
        4,
      ],
      [
        "cutting off the end",
        `delete from events where seq > (select max(seq) - 3 from events where ${mine}) and ${mine}`,
        null,
        "end",
      ],
      ["emptying it", `delete from events where ${mine}`, null, 1],
    ] as const)
      test(`${what} is found at the first bad row`, async () => {
        await exec("create table saved as select * from events");
        const last = await lastOf(store, org.companyId);
        await exec(tamper);
        if (restore !== null) await exec(restore);
        const found = await org.board(verifyLedger, {});
        assert.deepEqual(
          found.problems.map(({ companyId, seq }) => [companyId, seq]),
          [[org.companyId, bad === "end" ? last - 2 : bad]],
        );
        await exec("delete from events");
        await exec("insert into events select * from saved");
        await exec("drop table saved");
        assert.equal((await org.board(verifyLedger, {})).ok, true);
      });
  });

const lastOf = (store: Store, companyId: string): Promise<number> =>
  store.read(async (tx) => (await seenSoFar(tx)).get(companyId) ?? 0);
