import assert from "node:assert/strict";
import { describe } from "node:test";
import { approve, reject, viewApproval } from "../contract/approvals.ts";
import { listCosts, setBudget } from "../contract/budgets.ts";
import { agentInbox } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { resumeAgent, terminateAgent, viewAgent } from "../contract/agents.ts";
import { listAgentSessions } from "../contract/sessions.ts";
import { why } from "../contract/why.ts";
import { storeKinds } from "../testing/organization.ts";
import {
  budgetLineOf,
  stagedOnBudget,
  overrides,
  tokenUse,
  uses,
  givenWork,
  spending,
  limitTokens,
} from "../testing/spenders.ts";

const day = 24 * 3600 * 1000;

for (const kind of storeKinds)
  describe(`budgets on ${kind}`, () => {
    const staged = stagedOnBudget(kind);

    staged(
      "a session has its share set aside before it starts, and gives back what it did not use",
      async (stage) => {
        const { org, runner } = stage;
        await limitTokens(org, 1000, 300);
        const ann = await org.agent("Ann");
        const gate = await spending(stage, ann.id, 100);
        assert.deepEqual(await budgetLineOf(org, "tokens"), {
          measure: "tokens",
          limit: 1000,
          spent: 100,
          reserved: 200,
          handedDown: 0,
          left: 700,
        });
        // A session that needs more than its share gets another share of the same size.
        const [{ onUsage } = { onUsage: () => undefined }] = runner.started;
        onUsage(tokenUse(350));
        await stage.rest();
        assert.deepEqual(
          [(await budgetLineOf(org, "tokens")).spent, (await budgetLineOf(org, "tokens")).reserved],
          [350, 300],
        );
        runner.plan(ann.id, async () => undefined);
        gate.resolve();
        await stage.rest();
        const after = await budgetLineOf(org, "tokens");
        assert.deepEqual([after.spent, after.reserved, after.left], [350, 0, 650]);
        assert.equal((await budgetLineOf(org, "sessions")).spent, runner.started.length);
        for (const id of runner.started.slice(1)) assert.equal(id.agent.id, ann.id);
      },
    );

    staged(
      "at the limit the session stops, its agent is paused and the board is asked once; approval resumes it",
      async ({ org, runner, ...stage }) => {
        const { companyId } = org;
        await org.board(updateCompany, { companyId, sessionBudget: { tokens: 60 } });
        const ann = await org.agent("Ann");
        await org.board(setBudget, { id: ann.id, tokens: 100 });
        const job = await givenWork(org, ann.id);
        const gate = Promise.withResolvers<void>();
        runner.plan(ann.id, uses(gate.promise, 50, 99));
        await stage.rest();
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
        const [started] = runner.started;
        assert.ok(started !== undefined);
        started.onUsage(tokenUse(100));
        await stage.rest();
        assert.ok(runner.killed.has(started.id));
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
        const [session] = (await org.board(listAgentSessions, { id: ann.id })).sessions;
        assert.match(session?.endReason ?? "", /The token budget of Ann is used up/);
        await givenWork(org, ann.id, "another job");
        await stage.rest();
        const [asked, more] = await overrides(org);
        assert.ok(asked !== undefined && more === undefined);
        assert.deepEqual(asked.payload["raiseBy"], 60);
        assert.equal(asked.requestedBy?.id, ann.id);
        const seen = await org.board(why, { id: job });
        assert.ok(seen.moves && seen.references.some(({ id }) => id === asked.id), seen.says);
        const { changes } = await org.board(viewApproval, { id: asked.id });
        assert.match(
          changes.summary.join("\n"),
          /100 tokens a month now, 160 tokens after[^]*Will work again: Ann/,
        );
        const end = Promise.withResolvers<void>();
        runner.plan(ann.id, uses(end.promise, 10));
        await org.board(approve, { id: asked.id });
        await stage.rest();
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
        // When the budget is used up again, the agent asks again.
        runner.started.at(-1)?.onUsage(tokenUse(75));
        await stage.rest();
        const all = await overrides(org);
        assert.deepEqual(
          all.map(({ status }) => status),
          ["pending", "approved"],
        );
        gate.resolve();
        end.resolve();
      },
    );

    staged(
      "a rejection leaves the agent paused, without another request, until the next month brings the same budget",
      async (stage) => {
        const { org, runner } = stage;
        const ann = await org.agent("Ann");
        await org.board(setBudget, { id: ann.id, tokens: 100 });
        const gate = await spending(stage, ann.id, 130);
        const [asked] = await overrides(org);
        await org.board(reject, { id: asked?.id ?? "", decisionNote: "not now" });
        await stage.rest();
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
        assert.match(
          (await org.board(why, { id: ann.id })).says,
          /was rejected \(not now\); the next month begins at 2030-02-01/,
        );
        // An agent that is resumed by hand is paused again, because its budget has nothing left.
        await org.board(resumeAgent, { id: ann.id });
        await stage.rest();
        assert.equal(runner.started.length, 1);
        assert.match(
          (await org.board(why, { id: ann.id })).says,
          /is paused: the token budget of Ann is used up.*was rejected \(not now\)/,
        );
        assert.equal((await overrides(org)).length, 1);
        stage.advance(31 * day);
        const next = Promise.withResolvers<void>();
        runner.plan(ann.id, uses(next.promise, 10));
        await stage.rest();
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
        const before = await org.board(listCosts, { companyId: org.companyId, month: "2030-01" });
        const now = await org.board(listCosts, { companyId: org.companyId });
        assert.deepEqual([before.total.inputTokens, now.total.inputTokens, now.month], [130, 10, "2030-02"]);
        next.resolve();
        gate.resolve();
      },
    );

    staged(
      "an agent that a budget paused, with its request undecided, resumes by itself in the next month",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        await org.board(setBudget, { id: ann.id, tokens: 100 });
        await givenWork(org, ann.id);
        const gate = Promise.withResolvers<void>();
        runner.plan(ann.id, uses(gate.promise, 100), uses(gate.promise, 1));
        await stage.rest();
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
        stage.advance(31 * day);
        await stage.rest();
        assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
        assert.deepEqual(
          (await overrides(org)).map(({ status }) => status),
          ["rejected"],
        );
        gate.resolve();
      },
    );

    staged(
      "all agents that use up a shared budget are paused, and one request is made for all of them",
      async ({ org, runner, ...stage }) => {
        const { companyId } = org;
        await limitTokens(org, 100, 50);
        const agents = [await org.agent("Ann"), await org.agent("Ben")];
        const gate = Promise.withResolvers<void>();
        for (const { id } of agents) {
          await givenWork(org, id);
          runner.plan(id, uses(gate.promise));
        }
        await stage.rest();
        for (const { onUsage } of runner.started) onUsage(tokenUse(49));
        await stage.rest();
        for (const { onUsage } of runner.started) onUsage(tokenUse(51));
        await stage.rest();
        for (const { id } of agents) assert.equal((await org.board(viewAgent, { id })).status, "paused");
        assert.equal((await overrides(org)).length, 1);
        assert.equal((await org.board(listCosts, { companyId })).total.inputTokens, 102);
        gate.resolve();
      },
    );

    staged(
      "at four fifths the owner and its boss are told, once in a month",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        await org.board(setBudget, { id: ann.id, tokens: 100 });
        await givenWork(org, ann.id);
        const gate = Promise.withResolvers<void>();
        runner.plan(ann.id, uses(gate.promise, 79));
        runner.otherwise(async ({ hold }) => hold(gate.promise));
        await stage.rest();
        const notices = async (agentId: string): Promise<number> => {
          const { messages } = await org.board(agentInbox, { id: agentId });
          return messages.filter(({ body }) => body?.includes("nearly used up") === true).length;
        };
        assert.deepEqual([await notices(ann.id), await notices(org.rootId)], [0, 0]);
        const [started] = runner.started;
        for (const amount of [80, 85, 90, 99]) {
          started?.onUsage(tokenUse(amount));
          await stage.rest();
        }
        assert.deepEqual([await notices(ann.id), await notices(org.rootId)], [1, 1]);
        gate.resolve();
      },
    );

    staged(
      "a budget of 0 allows nothing: no agent is started, and the board is asked once for all of them",
      async ({ org, runner, ...stage }) => {
        const { companyId } = org;
        for (const part of ["usd", "tokens", "sessions"] as const) {
          await org.board(updateCompany, { companyId, monthlyBudget: { [part]: 0 } });
          const agents = [await org.agent(`Ann ${part}`), await org.agent(`Ben ${part}`)];
          for (const { id } of agents) await givenWork(org, id);
          await stage.rest();
          assert.equal(runner.started.length, 0);
          const [asked, ...others] = (await overrides(org)).filter(({ status }) => status === "pending");
          assert.equal(others.length, 0);
          assert.deepEqual([asked?.payload["measure"], asked?.payload["limit"]], [part, 0]);
          const { says, moves, references } = await org.board(why, { id: agents[0]?.id ?? "" });
          assert.ok(moves && references.some(({ id }) => id === asked?.id), says);
          await org.board(updateCompany, { companyId, maxSessions: 0, monthlyBudget: { [part]: 1000 } });
          // No decision on the request is needed any more.
          assert.deepEqual(
            (await overrides(org)).filter(({ status }) => status === "pending"),
            [],
          );
          for (const { id } of agents) await org.board(terminateAgent, { id });
          await org.board(updateCompany, { companyId, maxSessions: 4 });
        }
      },
    );

    staged("the company has no limit only if the board says so", async (stage) => {
      const { org, runner } = stage;
      const { companyId } = org;
      for (const { limit } of (await org.board(listCosts, { companyId })).budget) assert.ok((limit ?? 0) > 0);
      await org.board(updateCompany, { companyId, monthlyBudget: { tokens: null } });
      assert.equal((await budgetLineOf(org, "tokens")).limit, null);
      assert.equal((await budgetLineOf(org, "usd")).limit, 1000);
      const ann = await org.agent("Ann");
      const gate = await spending(stage, ann.id, 5_000_000_000);
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "running");
      // Money has a limit, so a report of an impossible cost stops the agent.
      runner.started[0]?.onUsage({ inputTokens: 0, outputTokens: 0, costUsd: Number.POSITIVE_INFINITY });
      await stage.rest();
      assert.equal((await org.board(viewAgent, { id: ann.id })).status, "paused");
      gate.resolve();
    });
  });
