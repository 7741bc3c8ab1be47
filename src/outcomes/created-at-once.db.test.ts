import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { updateCompany } from "../contract/companies.ts";
import { closeOutcome, createOutcome, myOutcomes } from "../contract/outcomes.ts";
import { bothStores, createOrganization, openTestStore, type TestStore } from "../testing/organization.ts";
import { watchStatements } from "../testing/statements.ts";

const count = 16;

for (const kind of bothStores)
  describe(`outcomes that are created at once on ${kind}`, () => {
    let opened: TestStore;
    before(async () => (opened = await openTestStore(kind, { fast: true })));
    after(() => opened.close());

    const scene = async (maxOpenOutcomes: number, { store } = opened) => {
      const org = await createOrganization(store);
      const agents = [await org.agent("Ann"), await org.agent("Bob")] as const;
      await org.board(updateCompany, { companyId: org.companyId, maxOpenOutcomes });
      let number = 0;
      const create = ({ id, call }: (typeof agents)[number]) =>
        call(createOutcome, { title: `Outcome ${(number += 1)}`, parents: [id] });
      return { org, agents, create };
    };

    test("the writes share transactions, and none runs again because of another", async () => {
      const {
        agents: [agent],
        create,
      } = await scene(1000);
      const createAll = () => Promise.all(Array.from({ length: count }, () => create(agent)));
      // The numbers of each batch continue those before it.
      for (let round = 0; round < 3; round++) await createAll();
      const watched = watchStatements();
      try {
        await createAll();
        const { length } = watched.transactions.flat();
        assert.ok(length <= count * 3, `${length} statements for ${count} outcomes`);
      } finally {
        watched.stop();
      }
    });

    if (kind === "postgres")
      test("one alone takes few statements, although its file counts for the agent and the company", async () => {
        const {
          agents: [agent],
          create,
        } = await scene(1000);
        for (let round = 0; round < 3; round++) await create(agent);
        const watched = watchStatements();
        try {
          await create(agent);
          // After a slow write, those of the company have savepoints for a while.
          const texts = watched.transactions.flat().filter((text) => !text.startsWith("savepoint"));
          assert.ok(texts.length > 5 && texts.length <= 13, texts.join("\n"));
        } finally {
          watched.stop();
        }
      });

    // Without the other agent, the store at first has fewer outcomes than the limit. The shortcut for small stores runs then.
    for (const [most, early, isAlone] of [
      [10, 7, false],
      [60, 35, true],
    ] as const)
      test(`each agent gets exactly as many as it may have, ${most}, also after some have ended`, async () => {
        const own = await openTestStore(kind);
        try {
          const {
            agents: [ann, bob],
            create,
          } = await scene(most, own);
          const tryAll = async (many: number): Promise<string[]> => {
            const tried = Array.from({ length: many }, (_, index) =>
              !isAlone && index % 3 === 0 ? [create(ann), create(bob)] : [create(ann)],
            );
            const results = await Promise.allSettled(tried.flat());
            return results.flatMap((result) =>
              result.status === "fulfilled" && result.value.responsible?.id === ann.id
                ? [result.value.id]
                : [],
            );
          };
          const free = most - (await ann.call(myOutcomes, { limit: 100 })).outcomes.length;
          const first = await tryAll(early);
          const second = await tryAll(most + 10);
          assert.equal(first.length + second.length, free);
          for (const id of first.slice(0, 3)) await ann.call(closeOutcome, { id, rationale: "not needed" });
          assert.equal((await tryAll(20)).length, 3);
        } finally {
          await own.close();
        }
      });
  });
