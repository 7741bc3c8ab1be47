import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { terminateAgent, updateAgent } from "../contract/agents.ts";
import * as approvals from "../contract/approvals.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { createGoal, setGoalBudget } from "../contract/goals.ts";
import { createAgent, hireAgent } from "../contract/hiring.ts";
import { readInbox } from "../contract/mail.ts";
import { closeOutcome, createOutcome, updateOutcome, viewOutcome } from "../contract/outcomes.ts";
import { applyReorganization, planReorganization } from "../contract/reorganization.ts";
import { bothStores, sharedOrganization, type TestCaller } from "../testing/organization.ts";

for (const kind of bothStores)
  describe(`the history of outcomes on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind, { approvals: true });
    const { companyId, rootId, board } = org;
    const history = async (id: string, by: TestCaller = board) => (await by(viewOutcome, { id })).history;
    const actions = async (id: string) => (await history(id)).map(({ action }) => action).toReversed();
    const mailOf = async (by: TestCaller) =>
      (await by(readInbox, { limit: 100 })).messages.map(({ body }) => body ?? "").join("\n");

    // covers OUT-12, OUT-13
    test("the root outcome and mandates have a history from the start, with authors and values before and after", async () => {
      assert.deepEqual(await actions(rootId), ["outcome.create"]);
      const { description: before } = await board(viewOutcome, { id: rootId });
      await board(updateOutcome, { id: rootId, description: "Bake bread for the town." });
      const [changed, created] = await history(rootId);
      const people = new Set([changed?.by.personId, created?.by.personId]);
      assert.equal(people.size, 1);
      assert.ok([...people].every((id) => typeof id === "string"));
      assert.ok(changed !== undefined && changed.who === created?.who && changed.who !== "the board");
      assert.deepEqual(changed.changes, {
        description: { before, after: "Bake bread for the town." },
      });
      assert.equal((await history(rootId, org.root))[0]?.who, "the board");

      const ann = await board(createAgent, { companyId, name: "Ann", role: "Baker", mandate: "Bake." });
      await board(updateAgent, { id: ann.id, mandate: "Bake rye.", model: "large" });
      const [edit, made] = await history(ann.mandateId);
      assert.deepEqual(edit?.changes, { description: { before: "Bake.", after: "Bake rye." } });
      assert.deepEqual([made?.action, made?.changes], ["outcome.create", {}]);
      await board(terminateAgent, { id: ann.id, reason: "closed for good" });
      assert.deepEqual(
        [(await history(ann.mandateId))[0]?.action, (await history(ann.mandateId))[0]?.why],
        ["outcome.close", "closed for good"],
      );
    });

    test("an agent is told of a change of its mandate", async () => {
      const ben = await org.agent("Ben");
      await board(updateAgent, { id: ben.id, mandate: "Sweep the floor." });
      assert.match(
        await mailOf(ben.call),
        /changed "Ben: worker"[\s\S]*description, now:\n> Sweep the floor\./,
      );
    });

    test("the history contains a revised hire and a move of its manager", async () => {
      const lead = await org.agent("Lead");
      await board(grantPermission, { companyId, to: lead.id, resource: "org:hire" });
      const { agent, approval } = await lead.call(hireAgent, {
        name: "Cid",
        role: "Clerk",
        mandate: "Count.",
      });
      const id = approval?.id ?? "";
      await board(approvals.requestRevision, { id, decisionNote: "say what" });
      await lead.call(approvals.resubmit, { id, payload: { mandate: "Count loaves." } });
      const [revised] = await history(agent.mandateId);
      assert.deepEqual(revised?.changes, { description: { before: "Count.", after: "Count loaves." } });
      assert.deepEqual(
        [revised.why, revised.who, revised.by.agentId],
        ["the hire was revised", "Lead", lead.id],
      );
      await board(approvals.approve, { id });
      const change = { kind: "move_report", agent: agent.id, to: rootId } as const;
      const { hash } = await board(planReorganization, { companyId, change });
      await board(applyReorganization, { companyId, change, hash });
      const [moved] = await history(agent.mandateId);
      assert.deepEqual(moved?.changes, { parents: { before: [lead.id], after: [rootId] } });
      assert.match(moved.why ?? "", /Cid reports to Root now/);
    });

    test("the history has the changed fields of each update, even by the program, and no entry for an update without changes", async () => {
      const goal = await board(createGoal, { companyId, title: "Open the shop", budget: { usd: 5 } });
      await board(setGoalBudget, { id: goal.id, budget: { usd: 7 } });
      assert.deepEqual((await history(goal.id))[0]?.changes, {
        budget: { before: { usd: 5 }, after: { usd: 7 } },
      });
      assert.match(await mailOf(org.root), /changed "Open the shop"[\s\S]*budget, now:\n> \{"usd":7\}/);
      const before = (await history(goal.id)).length;
      await board(setGoalBudget, { id: goal.id, budget: { usd: 7 } });
      assert.equal((await history(goal.id)).length, before);
      const [one, two] = [
        await org.root(createOutcome, { title: "one", parents: [goal.id] }),
        await org.root(createOutcome, { title: "two", parents: [goal.id] }),
      ];
      await org.root(updateOutcome, { id: two.id, dependsOn: [one.id], urgent: true });
      assert.deepEqual((await history(two.id))[0]?.changes, {
        urgent: { before: false, after: true },
        dependsOn: { before: [], after: [one.id] },
      });
      await org.root(closeOutcome, { id: one.id, rationale: "not needed" });
    });
  });
