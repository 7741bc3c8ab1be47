import assert from "node:assert/strict";
import { describe } from "node:test";
import { approve, requestRevision, resubmit } from "../contract/approvals.ts";
import { hireAgent, viewConfiguration, createAgent } from "../contract/hiring.ts";
import { listCosts, setBudget } from "../contract/budgets.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { updateCompany } from "../contract/companies.ts";
import { terminateAgent, updateAgent } from "../contract/agents.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import { applyReorganization, type Change } from "../contract/reorganization.ts";
import { type Organization, organizedOn, refusal, storeKinds } from "../testing/organization.ts";
import { demandConserved } from "../testing/spenders.ts";
import { demandRoomFor } from "./carving.ts";
import { budgetsUnder, charge } from "./table.ts";

async function lineOf({ board, companyId }: Organization, agent?: string) {
  const { budget } = await board(listCosts, { companyId, ...(agent === undefined ? {} : { agent }) });
  const line = budget.find(({ measure }) => measure === "usd");
  return line === undefined ? null : [line.limit, line.spent, line.handedDown, line.left];
}

for (const kind of storeKinds)
  describe(`giving budgets on ${kind}`, () => {
    const organized = (
      name: string,
      play: (org: Organization) => Promise<void>,
      options: { approvals?: boolean } = {},
    ): void =>
      organizedOn(kind, { fast: true, ...options })(name, async (org) => {
        await org.board(updateCompany, { companyId: org.companyId, monthlyBudget: { usd: 100 } });
        await play(org);
        await demandConserved(org.core.store);
      });
    /** Books this amount, as if the agent's sessions had used it. */
    const spent = ({ core }: Organization, poolId: string, dollars: number) =>
      core.store.write((tx) => charge(tx, poolId, "usd", dollars * 1e6));

    organized(
      "a budget comes out of the one above, and what does not fit is refused with the figures",
      async (org) => {
        const { companyId, board } = org;
        const ann = await org.agent("Ann");
        await board(setBudget, { id: ann.id, usd: 60 });
        assert.deepEqual(await lineOf(org), [100, 0, 60, 40]);
        const ben = await board(createAgent, {
          companyId,
          name: "Ben",
          role: "worker",
          reportsTo: ann.id,
          budget: { usd: 50 },
        });
        assert.deepEqual(
          [await lineOf(org), await lineOf(org, ann.id)],
          [
            [100, 0, 60, 40],
            [60, 0, 50, 10],
          ],
        );
        for (const call of [
          () =>
            board(createAgent, {
              companyId,
              name: "Cid",
              role: "worker",
              reportsTo: ann.id,
              budget: { usd: 10.01 },
            }),
          () => board(setBudget, { id: ben.id, usd: 60.01 }),
          () => board(updateAgent, { id: ben.id, budget: { usd: 61 } }),
          () => ann.call(setBudget, { id: ben.id, usd: 60.01 }),
        ]) {
          const { message, hint } = await refusal(call(), "refused");
          assert.match(
            message,
            /the money budget of Ann has \$10\.00 left \(limit \$60\.00, spent \$0\.00, reserved \$0\.00, given to reports \$50\.00\)/,
          );
          assert.match(hint, /at most \$(10|60)\.00/);
        }
        const above = await refusal(board(setBudget, { id: ann.id, usd: 100.000_001 }), "refused");
        assert.match(above.message, /the money budget of the company has \$40\.00 left/);
        await board(setBudget, { id: ann.id, usd: 100 });
        // The budget can't be less than what is handed down below it.
        assert.match(
          (await refusal(board(setBudget, { id: ann.id, usd: 49 }), "refused")).message,
          /reports hold \$50\.00/,
        );
        assert.match(
          (await refusal(board(updateCompany, { companyId, monthlyBudget: { usd: 99 } }), "refused")).message,
          /hold budgets of \$100\.00/,
        );
        assert.deepEqual(await lineOf(org), [100, 0, 100, 0]);
      },
    );

    organized("what is spent counts: it can be neither handed down nor given twice", async (org) => {
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben", ann.id);
      await org.board(setBudget, { id: ann.id, usd: 60 });
      await spent(org, ann.id, 25);
      await refusal(ann.call(setBudget, { id: ben.id, usd: 36 }), "refused");
      await ann.call(setBudget, { id: ben.id, usd: 35 });
      // The new limit is below what Ben has spent. The company pays the difference.
      await spent(org, ben.id, 30);
      await ann.call(setBudget, { id: ben.id, usd: 10 });
      assert.deepEqual(await lineOf(org, ben.id), [10, 10, 0, 0]);
      assert.deepEqual(await lineOf(org, ann.id), [60, 45, 10, 5]);
    });

    organized(
      "a budget that is taken away, or whose agent leaves, returns, and what was spent of it stays spent",
      async (org) => {
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben", ann.id);
        const cid = await org.agent("Cid", ben.id);
        await org.board(setBudget, { id: ann.id, usd: 60 });
        await org.board(setBudget, { id: ben.id, usd: 40 });
        await org.board(setBudget, { id: cid.id, usd: 15 });
        await spent(org, ben.id, 5);
        await spent(org, cid.id, 7);
        await org.board(terminateAgent, { id: ben.id });
        assert.deepEqual(await lineOf(org, ann.id), [60, 5, 15, 40]);
        await org.board(updateAgent, { id: cid.id, budget: null });
        assert.deepEqual([await lineOf(org, cid.id), await lineOf(org, ann.id)], [null, [60, 12, 0, 48]]);
        await org.board(setBudget, { id: ann.id, usd: null });
        assert.deepEqual(await lineOf(org), [100, 12, 0, 88]);
      },
    );

    organized("a reclaimed agent and everybody below give back all of it", async (org) => {
      const { board, companyId } = org;
      const job = await org.outcome("a job");
      await board(delegateOutcome, { id: job, hire: { name: "Ann", role: "worker", budget: { usd: 50 } } });
      const ann =
        (await board(createOutcome, { companyId, title: "part", parents: [job] })).responsible?.id ?? "";
      const ben = await board(createAgent, {
        companyId,
        name: "Ben",
        role: "worker",
        reportsTo: ann,
        budget: { usd: 20 },
      });
      await spent(org, ann, 3);
      await spent(org, ben.id, 4);
      assert.deepEqual(await lineOf(org), [100, 0, 50, 50]);
      await board(reclaimOutcome, { id: job, reason: "changed our mind" });
      assert.deepEqual(await lineOf(org), [100, 7, 0, 93]);
    });

    organized(
      "a boss shares its own budget, the root the company's, and no agent a budget that others draw from too",
      async (org) => {
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben", ann.id);
        const cid = await org.agent("Cid", ben.id);
        assert.match(
          (await refusal(ann.call(setBudget, { id: ben.id, usd: 1 }), "refused")).message,
          /give away a budget in dollars/,
        );
        await org.board(grantPermission, { companyId: org.companyId, to: ann.id, resource: "org:hire" });
        await refusal(ann.call(hireAgent, { name: "Dan", role: "worker", budget: { usd: 1 } }), "refused");
        await org.root(setBudget, { id: ann.id, usd: 30 });
        await ann.call(setBudget, { id: ben.id, usd: 10 });
        await ann.call(hireAgent, { name: "Dan", role: "worker", budget: { usd: 1 } });
        await refusal(ann.call(setBudget, { id: cid.id, usd: 1 }), "forbidden");
        await refusal(ben.call(setBudget, { id: ben.id, usd: 1 }), "forbidden");
        assert.deepEqual(await lineOf(org, ann.id), [30, 0, 11, 19]);
      },
    );

    organized(
      "no agent takes from a budget that others draw from by moving a report that has a part of another",
      async (org) => {
        const { companyId, board } = org;
        const boss = await org.agent("Bea");
        const ann = await org.agent("Ann", boss.id);
        const ben = await org.agent("Ben", ann.id);
        const cid = await org.agent("Cid", boss.id);
        await board(grantPermission, { companyId, to: boss.id, resource: "org:hire" });
        await board(setBudget, { id: ann.id, usd: 60 });
        await ann.call(setBudget, { id: ben.id, usd: 30 });
        const move: Change = { kind: "move_report", agent: ben.id, to: cid.id };
        const split: Change = {
          kind: "split",
          agent: ann.id,
          into: [{ agent: { name: "Dan", role: "worker" }, reports: [ben.id] }],
        };
        for (const change of [move, split])
          assert.match(
            (await refusal(boss.call(applyReorganization, { change }), "refused")).message,
            /give away a budget in dollars/,
          );
        assert.deepEqual(await lineOf(org), [100, 0, 60, 40]);
        // Within its separate budget, an agent moves what it likes. The root and the board may take from the company's.
        await board(setBudget, { id: boss.id, usd: 90 });
        await boss.call(applyReorganization, { change: move });
        assert.deepEqual(
          [await lineOf(org), await lineOf(org, boss.id)],
          [
            [100, 0, 90, 10],
            [90, 0, 90, 0],
          ],
        );
        const back: Change = { ...move, to: org.rootId };
        await refusal(org.root(applyReorganization, { change: back }), "refused");
        await board(setBudget, { id: ben.id, usd: 10 });
        await org.root(applyReorganization, { change: back });
      },
    );

    organized(
      "a pending hire reserves no budget; its budget must fit when it is requested, resubmitted and approved",
      async (org) => {
        const { root, board } = org;
        const hire = (name: string, usd: number) =>
          root(hireAgent, { name, role: "worker", budget: { usd } });
        await refusal(hire("Ann", 101), "refused");
        const { approval: first, agent } = await hire("Ann", 80);
        const { approval: second } = await hire("Ben", 80);
        assert.deepEqual(await lineOf(org), [100, 0, 0, 100]);
        await board(approve, { id: first?.id ?? "" });
        assert.deepEqual(await lineOf(org), [100, 0, 80, 20]);
        assert.match(
          (await refusal(board(approve, { id: second?.id ?? "" }), "refused")).message,
          /has \$20\.00 left/,
        );
        await board(requestRevision, { id: second?.id ?? "" });
        await refusal(root(resubmit, { id: second?.id ?? "", payload: { budget: { usd: 21 } } }), "refused");
        await root(resubmit, { id: second?.id ?? "", payload: { budget: { usd: 20 } } });
        await board(approve, { id: second?.id ?? "" });
        assert.deepEqual(await lineOf(org), [100, 0, 100, 0]);
        // The request shows the present budget.
        await board(setBudget, { id: agent.id, usd: 70, sessions: 5 });
        const { configuration } = await board(viewConfiguration, { id: agent.id });
        assert.deepEqual(configuration["budget"], { usd: 70, sessions: 5 });
      },
      { approvals: true },
    );

    organized("an agent that gets a budget in the middle takes over the budgets below it", async (org) => {
      const ann = await org.agent("Ann");
      const ben = await org.agent("Ben", ann.id);
      await org.board(setBudget, { id: ben.id, usd: 90 });
      await refusal(org.board(setBudget, { id: ann.id, usd: 89 }), "refused");
      await org.board(setBudget, { id: ann.id, usd: 95 });
      assert.deepEqual(
        [await lineOf(org), await lineOf(org, ann.id)],
        [
          [100, 0, 95, 5],
          [95, 0, 90, 5],
        ],
      );
    });

    organized("what would move with an agent is known, and must fit where it goes", async (org) => {
      const { store } = org.core;
      const [ann, ben] = [await org.agent("Ann"), await org.agent("Ben")];
      const cid = await org.agent("Cid", ann.id);
      const dan = await org.agent("Dan", cid.id);
      await org.board(setBudget, { id: ann.id, usd: 60 });
      await org.board(setBudget, { id: dan.id, usd: 50, sessions: 9 });
      const under = await store.read((tx) => budgetsUnder(tx, cid.id));
      assert.deepEqual(under, [
        { agentId: dan.id, measure: "usd", amount: 50_000_000 },
        { agentId: dan.id, measure: "sessions", amount: 9 },
      ]);
      const moved = { id: cid.id, company_id: org.companyId, boss_id: ann.id };
      await org.board(setBudget, { id: ben.id, usd: 40 });
      const no = await refusal(
        store.read((tx) => demandRoomFor(tx, moved, ben.id)),
        "refused",
      );
      assert.match(
        no.message,
        /Budgets of \$50\.00 would move, but the money budget of Ben has only \$40\.00 left/,
      );
      await refusal(
        store.read((tx) => demandRoomFor(tx, moved, org.rootId)),
        "refused",
      );
      await org.board(setBudget, { id: dan.id, usd: 40 });
      await store.read((tx) => demandRoomFor(tx, moved, ben.id));
    });
  });
