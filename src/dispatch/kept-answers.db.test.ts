import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { z } from "zod";
import { createKey, listAgents, pauseAgent, resumeAgent, revokeKey } from "../contract/agents.ts";
import { archiveCompany, freezeCompany, thawCompany, unarchiveCompany } from "../contract/companies.ts";
import { createAgent } from "../contract/hiring.ts";
import { createPerson, removePerson, type Role, signIn, updatePerson } from "../contract/people.ts";
import { listOutcomes, updateOutcome } from "../contract/outcomes.ts";
import { viewOrg } from "../contract/roster.ts";
import {
  bothStores,
  createOrganization,
  openTestStore,
  type Organization,
  refusal,
} from "../testing/organization.ts";
import { updating } from "../store/query.ts";
import type { Store } from "../store/store.ts";
import { createCore } from "../daemon/core.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { authenticate } from "./identity.ts";
import { KeptAnswers } from "./kept-answers.ts";

const own = updating("outcomes", ["responsible_id"], ["id"]);
const expire = updating("credentials", ["expires_at"], ["id"]);

/** A store that counts the queries of reads. Its readers can run ahead. */
function watched(store: Store) {
  let count = 0;
  let ahead = 0;
  const read: Store["read"] = (work) =>
    store.read((tx) =>
      work({
        ...tx,
        now: tx.now + ahead,
        all: (q, params) => {
          count++;
          return tx.all(q, params);
        },
        first: (q, params) => {
          count++;
          return tx.first(q, params);
        },
      }),
    );
  return {
    store: { ...store, read },
    queries: () => count,
    ahead: (milliseconds: number) => {
      ahead = milliseconds;
    },
  };
}

for (const kind of bothStores)
  describe(`answers of lists on ${kind}`, async () => {
    const opened = await openTestStore(kind);
    after(() => opened.close());
    const { store, queries, ahead } = watched(opened.store);
    const org = await createOrganization(store);
    const { board, companyId } = org;
    const list = async () => (await board(listOutcomes, { companyId })).outcomes.map(({ title }) => title);
    const cost = async (work: () => Promise<unknown>): Promise<number> => {
      const before = queries();
      await work();
      return queries() - before;
    };

    test("cost no query on SQLite and one on PostgreSQL while the company has not changed", async () => {
      await org.outcome("one");
      assert.ok((await cost(list)) > 3);
      assert.equal(await cost(list), kind === "sqlite" ? 0 : 1);
      // A write in another company costs one look at the heads.
      const other = await org.another();
      await list();
      await other.outcome("elsewhere");
      assert.equal(await cost(list), 1);
    });

    test("are dropped when the daemon rests, and kept again after the next request", async () => {
      await list();
      assert.ok((await cost(list)) < 2);
      org.core.rest();
      assert.ok((await cost(list)) > 3);
      assert.ok((await cost(list)) < 2);
    });

    test("show every acknowledged write, of this node and of another", async () => {
      for (const title of ["two", "three", "four"]) {
        await list();
        await org.outcome(title);
        assert.equal((await list())[0], title);
      }
      if (kind === "sqlite") return;
      const second = createCore({ store: opened.store, newId, newSecret });
      const path = { operation: listOutcomes, token: org.boardToken, input: { companyId } };
      const asked = async () => listOutcomes.output.parse(await second.dispatch(path)).outcomes[0]?.title;
      await asked();
      await org.outcome("from the first node");
      assert.equal(await asked(), "from the first node");
    });

    test("belong to one credential and end with it", async () => {
      const worker = await org.agent("Worker");
      const baker = await org.agent("Baker");
      const org1 = await worker.call(viewOrg, { companyId });
      const org2 = await baker.call(viewOrg, { companyId });
      const seen = (view: typeof org1, id: string) => view.agents.find((agent) => agent.id === id)?.spentUsd;
      for (const [view, own, other] of [
        [org1, worker.id, baker.id],
        [org2, baker.id, worker.id],
        [await worker.call(viewOrg, { companyId }), worker.id, baker.id],
      ] as const) {
        assert.equal(seen(view, own), 0);
        assert.equal(seen(view, other), null);
      }
      const { id: keyId, key } = await board(createKey, { id: worker.id });
      const byKey = org.as(key);
      await byKey(listAgents, { companyId });
      await byKey(listAgents, { companyId });
      await board(revokeKey, { id: worker.id, keyId });
      await refusal(byKey(listAgents, { companyId }), "unauthenticated");
      await refusal(byKey(listOutcomes, { companyId }), "unauthenticated");
    });

    test("depend on the person's role, position and other companies", async () => {
      const person = async (name: string, role: Role) => {
        const { id, signIn: link } = await board(createPerson, { name, role });
        const input = { code: link.code, kind: "program" };
        const { token } = signIn.output.parse(
          await org.core.dispatch({ operation: signIn, token: undefined, input }),
        );
        const call = (as?: string) =>
          org.core.dispatch({ operation: listAgents, token, as, input: as ? {} : { companyId } });
        return { id, call, mine: () => org.core.dispatch({ operation: listAgents, token, input: {} }) };
      };
      const seat = (of: Organization, name: string, held: string) =>
        of.board(createAgent, {
          companyId: of.companyId,
          name,
          role: "lead",
          adapterType: "human",
          person: held,
        });
      const twice = async (call: () => Promise<unknown>) => assert.deepEqual(await call(), await call());

      const watching = await person("Vera", "viewer");
      await twice(watching.call);
      await board(updatePerson, { id: watching.id, role: "member" });
      await refusal(watching.call(), "forbidden");
      await board(updatePerson, { id: watching.id, role: "viewer" });
      await twice(watching.call);
      await board(removePerson, { id: watching.id });
      await refusal(watching.call(), "unauthenticated");

      const working = await person("Mona", "member");
      const other = await org.another();
      const { id: first } = await seat(org, "First seat", working.id);
      await twice(working.mine);
      await twice(() => working.call(first));
      const second = await seat(other, "Second seat", working.id);
      await refusal(working.mine(), "invalid");
      const inOther = z.object({ agents: z.array(z.object({ id: z.string() })) });
      const seen = inOther.parse(await working.call(second.id)).agents.map(({ id }) => id);
      assert.ok(seen.includes(second.id) && !seen.includes(first));
      await board(pauseAgent, { id: first });
      await refusal(working.call(first), "forbidden");
    });

    test("follow the state of the company and of the agent", async () => {
      const worker = await org.agent("Paused one");
      const stopped = async () => (await board(viewOrg, { companyId })).stopped;
      await worker.call(listAgents, { companyId });
      assert.equal(await stopped(), null);
      await board(freezeCompany, { companyId, reason: "looking" });
      assert.match((await stopped()) ?? "", /looking/);
      await board(thawCompany, { companyId });
      assert.equal(await stopped(), null);
      await board(pauseAgent, { id: worker.id });
      await refusal(worker.call(listAgents, { companyId }), "forbidden");
      await board(resumeAgent, { id: worker.id });
      await worker.call(listAgents, { companyId });
      const session = await org.session(worker.id);
      await session.call(listAgents, { companyId });
      // A new epoch ends the session.
      await org.session(worker.id);
      await refusal(session.call(listAgents, { companyId }), "unauthenticated");
    });

    test("name the only company only while there is one", async () => {
      const alone = await openTestStore("sqlite", { fast: true });
      const one = await createOrganization(alone.store);
      const unnamed = () => one.board(listAgents, {});
      const { companyId: other } = await one.another();
      await one.board(archiveCompany, { companyId: other });
      assert.deepEqual(await unnamed(), await unnamed());
      await one.board(unarchiveCompany, { companyId: other });
      await refusal(unnamed(), "invalid");
      await alone.close();
    });

    test("change without a write when a block or a credential ends, or a day begins", async () => {
      const worker = await org.agent("Waiter");
      const id = await org.outcome("blocked for an hour");
      await store.write(async (tx) => {
        await tx.lock(companyId);
        await tx.run(own, { id, responsible_id: worker.id });
      });
      const hour = 3600 * 1000;
      const until = new Date(Date.now() + hour).toISOString();
      await board(updateOutcome, { id, blocked: { reason: "rest", until } });
      const workableNow = async () =>
        (await board(viewOrg, { companyId })).agents.find((agent) => agent.id === worker.id)?.workable;
      const listed = async () =>
        (await board(listOutcomes, { companyId })).outcomes.find((outcome) => outcome.id === id)?.workable;
      assert.deepEqual([await workableNow(), await listed()], [0, false]);
      assert.ok((await cost(listed)) <= 1);
      ahead(2 * hour);
      assert.deepEqual([await workableNow(), await listed()], [1, true]);
      assert.ok((await cost(listed)) <= 1);
      ahead(30 * hour);
      assert.ok((await cost(listed)) > 3);

      ahead(0);
      const { id: keyId, key } = await board(createKey, { id: worker.id });
      await store.write(async (tx) => {
        await tx.lock(companyId);
        await tx.run(expire, { id: keyId, expires_at: tx.now + hour / 4 });
      });
      const byKey = () => org.as(key)(listAgents, { companyId });
      await byKey();
      assert.ok((await cost(byKey)) <= 1);
      ahead(hour / 2);
      await refusal(byKey(), "unauthenticated");
      ahead(0);
    });
  });

test("the memory for answers is bounded, and the newest stay", async () => {
  const { store, close } = await openTestStore("sqlite");
  const org = await createOrganization(store);
  const answers = new KeptAnswers(store);
  const caller = await store.read((tx) => authenticate(tx, org.boardToken));
  const { companyId } = org;
  let computed = 0;
  const ask = async (number: number, length: number) => {
    const before = computed;
    await answers.read(
      { operation: listOutcomes, token: org.boardToken },
      { companyId, cursor: String(number) },
      async () => {
        computed++;
        return { output: "x".repeat(length), caller, companyId };
      },
    );
    return computed === before ? "kept" : "computed";
  };
  for (let number = 0; number < 10; number++) await ask(number, 1024 * 1024);
  assert.deepEqual(
    [await ask(9, 1024 * 1024), await ask(3, 1024 * 1024), await ask(0, 1024 * 1024)],
    ["kept", "kept", "computed"],
  );
  // Answers that were asked for again stay longer.
  for (const number of [20, 21, 22, 23]) await ask(number, 1024 * 1024);
  assert.equal(await ask(3, 1024 * 1024), "kept");
  // Many short answers make room too. An answer that is too long is not kept.
  for (let number = 100; number < 10_000; number++) await ask(number, 1);
  assert.deepEqual(
    [await ask(9999, 1), await ask(3, 1), await ask(100, 1)],
    ["kept", "computed", "computed"],
  );
  await ask(-1, 4 * 1024 * 1024);
  assert.equal(await ask(-1, 4 * 1024 * 1024), "computed");
  await close();
});
