import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { approve } from "../contract/approvals.ts";
import { setBudget } from "../contract/budgets.ts";
import { updateCompany } from "../contract/companies.ts";
import { hireAgent } from "../contract/hiring.ts";
import { createOrganization, openTestStore, type TestStore } from "../testing/organization.ts";
import { testStores } from "../testing/postgres.ts";
import { watchStatements } from "../testing/statements.ts";

const count = 16;

if (testStores.has("postgres"))
  describe("hires that are approved at once", () => {
    let opened: TestStore;
    before(async () => (opened = await openTestStore("postgres", { fast: true })));
    after(() => opened.close());

    for (const [what, limits] of [
      ["no budget", {}],
      ["a budget of the company", { monthlyBudget: { usd: 100, tokens: 1_000_000, sessions: 100 } }],
    ] as const)
      test(`with ${what} they share a transaction, and none runs again because of another`, async () => {
        const org = await createOrganization(opened.store, { approvals: true });
        const boss = await org.agent("Chief");
        await org.board(updateCompany, { companyId: org.companyId, ...limits });
        if ("monthlyBudget" in limits) await org.board(setBudget, { id: boss.id, usd: 50 });
        const approveAll = async (): Promise<void> => {
          const hires = await Promise.all(
            Array.from({ length: count }, () =>
              org.board(hireAgent, {
                companyId: org.companyId,
                name: `N ${(names += 1)}`,
                role: "worker",
                reportsTo: boss.id,
              }),
            ),
          );
          const watched = watchStatements();
          try {
            await Promise.all(hires.map(({ approval }) => org.board(approve, { id: approval?.id ?? "" })));
            const begun = watched.transactions.filter((texts) => texts.some((text) => text.includes("lock")));
            statements = begun.flat().length;
            transactions = begun.length;
          } finally {
            watched.stop();
          }
        };
        let [names, statements, transactions] = [0, 0, 0];
        // The first approvals of a company may find fewer rows to read than later ones.
        for (let round = 0; round < 3; round++) await approveAll();
        assert.ok(statements < count * 14, `${statements} statements in ${transactions} transactions`);
      });
  });
// SQLite has no batches.
else test("needs PostgreSQL", () => undefined);
