import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setBudget } from "../contract/budgets.ts";
import { createAgent } from "../contract/hiring.ts";
import { createKey, viewAgent } from "../contract/agents.ts";
import { closeOutcome, createOutcome } from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import {
  applyReorganization,
  type Change,
  planReorganization,
  undoReorganization,
} from "../contract/reorganization.ts";
import { halt } from "../budgets/halting.ts";
import { bySystem } from "../dispatch/context.ts";
import { charge, budgetPlaceOf } from "../budgets/table.ts";
import { newId } from "../daemon/ids.ts";
import { organizedOn, refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`budgets in a reorganization on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind);

    const make = async (name: string, reportsTo: string, budget: object = {}) =>
      (await org.board(createAgent, { companyId: org.companyId, name, role: "worker", reportsTo, budget }))
        .id;
    const told = async (change: Change) => {
      const { moves, hash } = await org.board(planReorganization, { companyId: org.companyId, change });
      const lines = moves
        .filter((move) => move.kind === "budget")
        .map(({ id, what, from, to }) => [id, what, from, to]);
      return { hash, lines };
    };

    test("the plan shows budgets far below the moving agent, and the shared budgets of agents without one", async () => {
      const rich = await make("Rich", org.rootId, { tokens: 1000 });
      const middle = await make("Middle", rich);
      const low = await make("Low", middle, { tokens: 200 });
      const other = await make("Other", org.rootId, { tokens: 500 });
      const { lines } = await told({ kind: "move_report", agent: middle, to: other });
      assert.deepEqual(lines, [
        [low, "The budget of Low (200 tokens a month) is part of the budget of", "Rich", "Other"],
        [middle, "Middle and agents below it without a separate budget draw tokens from", "Rich", "Other"],
      ]);
      const fired = await told({ kind: "fire", agent: rich });
      assert.deepEqual(fired.lines, [
        [rich, "The budget of Rich (1k tokens a month) is part of the budget of", "the company", null],
        [rich, "What Rich has spent (tokens) is charged to", "Rich", "the company"],
        [low, "The budget of Low (200 tokens a month) is part of the budget of", "Rich", "the company"],
        [
          middle,
          "Middle and agents below it without a separate budget draw tokens from",
          "Rich",
          "the company",
        ],
      ]);
      // Spending in between does not change the plan.
      await store.write((tx) => charge(tx, rich, "tokens", 7));
      assert.equal((await told({ kind: "fire", agent: rich })).hash, fired.hash);
    });

    test("an agent that a freed budget resumes is told, and undoing the change pauses it again", async () => {
      const { companyId } = org;
      const lead = await make("Lead", org.rootId, { tokens: 100 });
      const poor = await make("Poor", lead, { tokens: 0 });
      const worker = await make("Worker", lead);
      await org.board(setBudget, { id: poor, tokens: 60 });
      await store.write(async (tx) => {
        await charge(tx, lead, "tokens", 40);
        const { pools } = await budgetPlaceOf(tx, { id: worker, company_id: companyId });
        await halt(bySystem(tx, companyId, newId), worker, pools.tokens);
      });
      const status = async () => (await org.board(viewAgent, { id: worker })).status;
      assert.equal(await status(), "paused");
      const change: Change = { kind: "fire", agent: poor };
      const { id, moves } = await org.board(applyReorganization, { companyId, change });
      assert.ok(moves.some((move) => move.id === worker && move.from === "paused" && move.to === "idle"));
      assert.equal(await status(), "idle");
      await org.board(undoReorganization, { id });
      assert.equal(await status(), "paused");
      // If the budget is large enough by then, no agent is stopped.
      const again = await org.board(applyReorganization, { companyId, change });
      assert.equal(await status(), "idle");
      await org.board(setBudget, { id: lead, tokens: 200 });
      await org.board(undoReorganization, { id: again.id });
      assert.equal(await status(), "idle");
    });
  });

for (const kind of storeKinds)
  organizedOn(kind)(
    `an agent does not close itself with work above its mandate that a reorganization gave it, on ${kind}`,
    async (org) => {
      const whole = await org.root(createOutcome, { title: "whole", parents: [org.rootId] });
      const part = await org.root(createOutcome, { title: "part", parents: [whole.id] });
      await org.root(delegateOutcome, { id: part.id, hire: { name: "Gus", role: "worker" } });
      const cy = await org.agent("Cy");
      await org.root(delegateOutcome, { id: whole.id, to: cy.id });
      const change: Change = { kind: "move_report", agent: cy.id, to: part.id };
      await org.board(applyReorganization, { companyId: org.companyId, change });
      const gus = org.as((await org.board(createKey, { id: part.id })).key);
      await gus(reclaimOutcome, { id: whole.id, reason: "I do it myself." });
      const told = await refusal(
        gus(closeOutcome, { id: whole.id, rationale: "It does not work." }),
        "refused",
      );
      assert.match(
        told.message,
        /"whole".* includes "part".* for which you were hired\. Closing the first would also terminate you/,
      );
      assert.equal((await org.board(viewAgent, { id: part.id })).status, "idle");
      await org.board(closeOutcome, { id: whole.id, rationale: "It does not work." });
      assert.equal((await org.board(viewAgent, { id: part.id })).status, "terminated");
    },
  );
