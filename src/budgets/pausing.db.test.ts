import assert from "node:assert/strict";
import { describe } from "node:test";
import { approve, viewApproval } from "../contract/approvals.ts";
import { listCosts, setBudget } from "../contract/budgets.ts";
import { agentInbox } from "../contract/mail.ts";
import { pauseAgent, resumeAgent, updateAgent, viewAgent } from "../contract/agents.ts";
import { why } from "../contract/why.ts";
import { type Organization, refusal, storeKinds } from "../testing/organization.ts";
import {
  budgetLineOf,
  stagedOnBudget,
  overrides,
  tokenUse,
  uses,
  givenWork,
  spending,
  limitTokens,
  reportsTokens,
} from "../testing/spenders.ts";

for (const kind of storeKinds)
  describe(`agents that a budget pauses on ${kind}`, () => {
    const staged = stagedOnBudget(kind);
    const statusOf = async ({ board }: Organization, id: string) => (await board(viewAgent, { id })).status;

    staged(
      "an agent without sessions left is paused when it gets work; approval starts it",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann Lee");
        await org.board(setBudget, { id: ann.id, sessions: 2 });
        // Each session makes some progress and leaves the job open.
        runner.otherwise(async (session) => reportsTokens(session, runner.started.length));
        await givenWork(org, ann.id);
        await stage.rest();
        assert.equal(runner.started.length, 2, "as many as it may");
        assert.equal(await statusOf(org, ann.id), "paused");
        const [asked, ...more] = await overrides(org);
        assert.deepEqual([asked?.status, asked?.payload["measure"], more.length], ["pending", "sessions", 0]);
        const { says: reason, references } = await org.board(why, { id: ann.id });
        assert.match(reason, /is paused: the session budget of Ann Lee is used up/);
        assert.ok(references.some(({ id }) => id === asked?.id));
        await org.board(approve, { id: asked?.id ?? "" });
        await stage.rest();
        assert.equal(runner.started.length, 3);
      },
    );

    staged("one approval is enough, however far the last report exceeded the limit", async (stage) => {
      const { org, runner } = stage;
      await limitTokens(org, 100, 10);
      const ann = await org.agent("Ann");
      const gate = await spending(stage, ann.id, 5000);
      assert.equal(await statusOf(org, ann.id), "paused");
      assert.equal((await budgetLineOf(org, "tokens")).left, -4900);
      const again = Promise.withResolvers<void>();
      runner.plan(ann.id, uses(again.promise, 1));
      const [asked] = await overrides(org);
      await org.board(approve, { id: asked?.id ?? "" });
      await stage.rest();
      assert.equal(await statusOf(org, ann.id), "running");
      assert.equal((await budgetLineOf(org, "tokens")).limit, 100 + 4900 + 50);
      gate.resolve();
      again.resolve();
      runner.otherwise(async () => undefined);
    });

    staged(
      "an agent that is paused by a call, too, stays paused when the budget is raised",
      async (stage) => {
        const { org } = stage;
        const ann = await org.agent("Ann");
        await org.board(setBudget, { id: ann.id, tokens: 100 });
        const gate = await spending(stage, ann.id, 100);
        assert.equal(await statusOf(org, ann.id), "paused");
        await org.board(pauseAgent, { id: ann.id, reason: "It wastes money." });
        await org.board(setBudget, { id: ann.id, tokens: 1000 });
        assert.equal(await statusOf(org, ann.id), "paused");
        await org.board(resumeAgent, { id: ann.id });
        assert.equal(await statusOf(org, ann.id), "idle");
        gate.resolve();
      },
    );

    staged("a raise that does not fit the budget above says so before the decision", async (stage) => {
      const { org, runner } = stage;
      const lead = await org.agent("Lead");
      const ann = await org.agent("Ann", lead.id);
      await org.board(updateAgent, { id: lead.id, adapterType: "human" });
      await org.board(setBudget, { id: lead.id, tokens: 100 });
      await org.board(setBudget, { id: ann.id, tokens: 100 });
      const gate = await spending(stage, ann.id, 100);
      const id = (await overrides(org))[0]?.id ?? "";
      const view = async () => (await org.board(viewApproval, { id })).changes;
      assert.match(
        (await view()).obstacles.join(),
        /^Not possible yet: .*the token budget of Lead has 0 tokens left.*raise/,
      );
      await refusal(org.board(approve, { id }), "refused");
      await org.board(setBudget, { id: lead.id, tokens: 2_000_000 });
      assert.deepEqual((await view()).obstacles, []);
      assert.match((await view()).summary.at(-1) ?? "", /^Will work again: Ann/);
      await org.board(approve, { id });
      assert.equal(await statusOf(org, ann.id), "idle");
      gate.resolve();
      runner.otherwise(async () => undefined);
    });

    staged(
      "an amount that no session can have used isn't counted: its agent is paused, and no other agent pays",
      async ({ org, runner, ...stage }) => {
        const { companyId } = org;
        const ann = await org.agent("Ann");
        await org.board(setBudget, { id: ann.id, tokens: 1000 });
        const gate = Promise.withResolvers<void>();
        for (const [round, nonsense] of [
          { ...tokenUse(0), costUsd: Number.POSITIVE_INFINITY },
          tokenUse(1e15),
          { inputTokens: 0, outputTokens: 1e300, costUsd: 0 },
        ].entries()) {
          await givenWork(org, ann.id);
          runner.plan(ann.id, uses(gate.promise, 30));
          await stage.rest();
          runner.started[round]?.onUsage(nonsense);
          await stage.rest();
          assert.equal(await statusOf(org, ann.id), "paused");
          const { total, budget } = await org.board(listCosts, { companyId });
          assert.deepEqual([total.inputTokens, total.outputTokens, total.costUsd], [30 * (round + 1), 0, 0]);
          for (const { spent, measure } of budget)
            assert.equal(spent, measure === "sessions" ? round + 1 : 0);
          const told = (await org.board(agentInbox, { id: org.rootId })).messages;
          const about = told.filter(
            ({ body }) => body?.includes("Ann is paused: it reported more usage") === true,
          );
          assert.equal(about.length, round + 1);
          await org.board(resumeAgent, { id: ann.id });
        }
        assert.deepEqual(await overrides(org), [], "no budget is short");
        gate.resolve();
        runner.otherwise(async () => undefined);
      },
    );
  });
