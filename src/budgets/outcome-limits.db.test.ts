import assert from "node:assert/strict";
import { describe } from "node:test";
import { updateAgent } from "../contract/agents.ts";
import { viewAttention } from "../contract/attention.ts";
import { listCosts } from "../contract/budgets.ts";
import { updateCompany, viewCompany } from "../contract/companies.ts";
import { createGoal, setGoalBudget } from "../contract/goals.ts";
import { boardInbox, readInbox } from "../contract/mail.ts";
import { createOutcome, updateOutcome, viewOutcome } from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { why } from "../contract/why.ts";
import { refusal, storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { clearInbox } from "../testing/scripts.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";

const spends =
  (costUsd: number): Script =>
  async (session) => {
    session.onUsage({ inputTokens: 1, outputTokens: 1, costUsd });
    await session.hold(Promise.resolve());
  };

for (const kind of storeKinds)
  describe(`the cost limit of one outcome on ${kind}`, () => {
    const staged = stagedOn(kind);

    /** A goal with two parts below it and an outcome beside it, all delegated to Ann. The root agent is a person. */
    async function arrange(stage: Stage) {
      const { org } = stage;
      const { companyId } = org;
      await org.board(updateAgent, { id: org.rootId, adapterType: "human" });
      const ann = await org.agent("Ann");
      const goal = await org.board(createGoal, { companyId, title: "Goal" });
      const give = async (title: string, parent: string, dependsOn: string[] = []): Promise<string> => {
        const { id } = await org.root(createOutcome, { title, parents: [parent], dependsOn });
        await org.root(delegateOutcome, { id, to: ann.id });
        return id;
      };
      const first = await give("First", goal.id);
      const second = await give("Second", goal.id, [first]);
      const state = async (id: string): Promise<string> => {
        const { blocked, status } = await org.board(viewOutcome, { id });
        return blocked === null ? status : blocked.reason;
      };
      return { org, companyId, ann, goal: goal.id, give, first, second, state };
    }

    // covers NOTE-06
    staged(
      "there is no limit by default, the outcome and its subtree stop at a limit, and continue after a raise",
      async (stage) => {
        const { org, companyId, ann, goal, give, first, second, state } = await arrange(stage);
        const { runner } = stage;
        assert.equal((await org.board(viewCompany, { companyId })).settings.maxOutcomeUsd, null);
        runner.plan(ann.id, spends(0.6));
        await stage.rest();
        assert.equal(await state(first), "open");
        await org.board(updateCompany, { companyId, maxOutcomeUsd: 1 });
        runner.plan(ann.id, spends(0.5));
        stage.advance(60_000);
        await stage.rest();
        // The part itself has cost more than 1, and so has the goal that it serves.
        for (const id of [goal, first]) assert.match(await state(id), /has reached its cost limit/);
        const told = (await org.board(boardInbox, { companyId, limit: 100 })).messages.map(
          ({ body }) => body,
        );
        assert.equal(
          told.filter((body) => body?.includes("One outcome may cost $1.00")).length,
          1,
          told.join(),
        );
        const owned = (await org.root(readInbox, {})).messages.map(({ body }) => body ?? "");
        const isTold = owned.some(
          (body) => body.includes("have cost $1.10.") && body.includes("The board was told"),
        );
        assert.ok(isTold, owned.join());
        const { items } = await org.board(viewAttention, { companyId });
        assert.ok(items.length > 0);
        assert.equal((await org.board(why, { id: second })).moves, false);
        // Work beside the goal is not affected. Unblocking by hand helps only until the next start.
        const sessions = runner.started.length;
        await org.board(updateOutcome, { id: first, blocked: null });
        const beside = await give("Beside", org.rootId);
        runner.plan(ann.id, clearInbox, spends(0.1));
        stage.advance(3_600_000);
        await stage.rest();
        assert.equal(runner.started.length, sessions + 2);
        assert.equal(await state(beside), "open");
        assert.match(await state(first), /has reached its cost limit/);
        // If the limit is raised too little, nothing changes. If it is raised enough, everything continues.
        await org.board(updateCompany, { companyId, maxOutcomeUsd: 1.1 });
        assert.match(await state(first), /has reached its cost limit/);
        await org.board(updateCompany, { companyId, maxOutcomeUsd: 5 });
        for (const id of [goal, first, second]) assert.equal(await state(id), "open");
        await org.board(updateCompany, { companyId, maxOutcomeUsd: null });
      },
    );

    staged("a goal with its own budget has that budget instead", async (stage) => {
      const { org, companyId, ann, goal, first, second, state } = await arrange(stage);
      await org.board(setGoalBudget, { id: goal, budget: { usd: 10 } });
      await org.board(updateCompany, { companyId, maxOutcomeUsd: 1 });
      stage.runner.plan(ann.id, spends(2));
      await stage.rest();
      assert.match(await state(first), new RegExp(`^the outcome ${first} has reached its cost limit$`));
      assert.equal(await state(goal), "open");
      assert.equal(await state(second), "open");
      // The limit of the company has stopped the part. The goal is stopped by its own budget, once that is used up.
      const asked = async (id: string) => {
        const { items } = await org.board(viewAttention, { companyId, kind: "budget" });
        const [ability] = items.find(({ subject }) => subject.id === id)?.abilities ?? [];
        const { next } = await org.board(why, { id });
        assert.deepEqual(next[0], ability);
        return ability?.asks;
      };
      assert.deepEqual(await asked(first), ["maxOutcomeUsd"]);
      const { costs } = await org.board(listCosts, { companyId, by: "outcome" });
      assert.deepEqual(new Map(costs.map(({ id, budget }) => [id, budget])).get(goal), [
        { measure: "usd", limit: 10, spent: 2, left: 8, own: true },
      ]);
      assert.deepEqual(costs.find(({ id }) => id === first)?.budget, [
        { measure: "usd", limit: 1, spent: 2, left: 0, own: false },
      ]);
      assert.equal((await org.board(listCosts, { companyId })).costs[0]?.budget, undefined);
      await org.board(updateCompany, { companyId, maxOutcomeUsd: null });
      await org.board(setGoalBudget, { id: goal, budget: { sessions: 2 } });
      stage.runner.plan(ann.id, spends(0.1));
      stage.advance(60_000);
      await stage.rest();
      assert.match(await state(goal), /^the budget of the goal \S+ is used up$/);
      assert.deepEqual(await asked(goal), ["budget.sessions"]);
      await org.board(updateCompany, { companyId, maxOutcomeUsd: 1 });
      await refusal(org.board(updateCompany, { companyId, maxOutcomeUsd: -1 }), "invalid");
      await refusal(org.root(updateCompany, { companyId, maxOutcomeUsd: 100 }), "forbidden");
    });
  });
