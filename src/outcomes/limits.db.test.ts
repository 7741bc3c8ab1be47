import assert from "node:assert/strict";
import { describe } from "node:test";
import { updateCompany } from "../contract/companies.ts";
import { createOutcome, myOutcomes } from "../contract/outcomes.ts";
import { planWork } from "../contract/delegation.ts";
import { organizedOn, refusal, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`the limit of open outcomes for one agent (${kind})`, () => {
    // Uses a separate store with few outcomes, most of which one agent has. The shortcut for small stores runs there.
    organizedOn(kind)(
      "exactly as many as the company allows, whether there are others or not",
      async (org) => {
        const { companyId, rootId } = org;
        const live = async () => (await org.root(myOutcomes, { limit: 1000 })).outcomes.length;
        const make = (title: string) => org.root(createOutcome, { title, parents: [rootId] });
        for (const most of [1, 2, 5, 9]) {
          await org.board(updateCompany, { companyId, maxOpenOutcomes: most });
          while ((await live()) < most) await make("one more");
          const no = await refusal(make("too many"), "limited");
          assert.match(
            no.message,
            new RegExp(`You would be responsible for ${most + 1} open outcomes. The limit is ${most} `),
          );
          assert.equal(await live(), most);
        }
        // Outcomes created together count together: two parts and their integration.
        const [, whole] = (await org.root(myOutcomes, { limit: 1000 })).outcomes;
        const tasks = ["a", "b"].map((title) => ({ title, assignee: "self" }));
        for (const [most, fits] of [
          [11, false],
          [12, true],
        ] as const) {
          await org.board(updateCompany, { companyId, maxOpenOutcomes: most });
          const planned = org.root(planWork, { outcome: whole?.id ?? "", tasks });
          if (fits) await planned;
          else await refusal(planned, "limited");
          assert.equal(await live(), fits ? 12 : 9);
        }
      },
    );
  });
