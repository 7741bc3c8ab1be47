// A session ends when its agent's budget is used up, and no other session starts before the budget is raised.
import assert from "node:assert/strict";
import { test } from "node:test";
import { approve, listApprovals } from "../../../src/contract/approvals.ts";
import { viewAgent } from "../../../src/contract/agents.ts";
import { setBudget } from "../../../src/contract/budgets.ts";
import { why } from "../../../src/contract/why.ts";
import { always, use } from "../../../src/testing/fake-model/script.ts";
import type { Adapter } from "./adapters.ts";
import { finish, onBrain } from "./stage.ts";

/** The tokens that each answer uses. */
const each = 100_000;
const cases = [
  { limit: 3 * each, says: "is used up" },
  // No call fits into the rest of the budget. Most budgets end like this.
  { limit: 3 * each + 100, says: "has too little left for a call of its model" },
];

export function testBudgetEnd(adapter: Adapter): void {
  for (const { limit, says } of cases)
    test(`a session whose budget ${says} ends within one call, and none starts before there is more`, () => {
      let isRaised = false;
      const usage = { input: each - 50, output: 50 };
      const script = always((conversation) => {
        const did = conversation.entries.some((entry) => entry.kind === "call");
        if (did && isRaised) return { ...finish(conversation), usage: { input: 50, output: 50 } };
        return { ...use(did ? "list_permissions" : "read_inbox")(conversation), usage };
      });
      return onBrain(adapter, script, async (stage) => {
        const { board, companyId } = stage.daemon();
        const id = stage.agentId;
        await board.call(setBudget, { id, tokens: limit });
        await stage.tell("Hello.");
        const session = await stage.ended(1, 120);
        const { inputTokens, outputTokens } = session.usage;
        const spent = inputTokens + outputTokens;
        assert.ok(spent > limit - 2 * each && spent < limit + each, `${spent} tokens are spent`);
        assert.match(session.endReason ?? "", new RegExp(`^The token budget of Ada ${says}$`));
        const agent = await board.call(viewAgent, { id });
        assert.equal(agent.status, "paused");
        const trail = await board.call(why, { id });
        assert.match(
          trail.says,
          new RegExp(`the token budget of Ada ${says}.*the board is asked to raise it`),
        );
        const { approvals } = await board.call(listApprovals, { companyId, status: "pending" });
        assert.deepEqual(
          approvals.map(({ type }) => type),
          ["budget_override"],
        );
        // A message would start a session, if there were a budget for it.
        const asked = stage.model.calls.length;
        await stage.tell("Are you there?");
        assert.equal((await board.call(viewAgent, { id })).status, "paused");
        assert.deepEqual([(await stage.sessions()).length, stage.model.calls.length], [1, asked]);
        isRaised = true;
        await board.call(approve, { id: approvals[0]?.id ?? "" });
        const next = await stage.ended(2, 120);
        assert.deepEqual([next.exitCode, next.summarized], [0, true], JSON.stringify(next));
      });
    });
}
