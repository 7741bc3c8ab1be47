// A goal: the board sets it, the root agent divides and submits it, and the board accepts it or sends it back.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { updateAgent } from "../contract/agents.ts";
import { createGoal, listGoals, setGoalBudget } from "../contract/goals.ts";
import { createFile, readFile } from "../contract/knowledge.ts";
import { boardInbox } from "../contract/mail.ts";
import { listSessions } from "../contract/sessions.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  submitOutcome,
  viewOutcome,
  viewTimeline,
} from "../contract/outcomes.ts";
import { delegateOutcome, planWork, decideOutcome } from "../contract/delegation.ts";
import { refusal, sharedOrganization, storeKinds } from "../testing/organization.ts";
import { onStage } from "../testing/stage.ts";

for (const kind of storeKinds)
  describe(`goals on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    const { companyId, rootId } = org;

    test("a goal is work of depth 0 below the root's outcome, which the root agent owns and the board verifies", async () => {
      const goal = await org.board(createGoal, {
        companyId,
        title: "A guide is published",
        description: "For bakers.",
        acceptance: "- it has pictures",
      });
      assert.deepEqual(
        [goal.kind, goal.depth, goal.status, goal.responsible?.id, goal.parents[0]?.id, goal.acceptance],
        ["work", 0, "open", rootId, rootId, "- it has pictures"],
      );
      assert.equal((await org.board(listGoals, { companyId })).outcomes[0]?.id, goal.id);
      await refusal(org.root(createGoal, { companyId, title: "Mine" }), "forbidden");
      await refusal(org.root(completeOutcome, { id: goal.id }), "forbidden");
      const ada = await org.agent("Ada");
      const { tasks, integration } = await org.root(planWork, {
        outcome: goal.id,
        tasks: [{ title: "Write it", assignee: ada.id }],
      });
      const part = tasks[0]?.id ?? "";
      assert.equal((await org.root(viewOutcome, { id: part })).depth, 1);
      const file = await ada.call(createFile, { description: "The guide", content: "Bread" });
      await ada.call(submitOutcome, { id: part, files: [file.id] });
      await org.root(completeOutcome, { id: part });
      await org.root(completeOutcome, { id: integration, note: `It is kb://${file.id}` });
      const submitted = await org.board(viewOutcome, { id: goal.id });
      assert.equal(submitted.status, "submitted");
      assert.deepEqual(
        submitted.deliverables.map(({ id, description, version }) => ({ id, description, version })),
        [{ id: file.id, description: "The guide", version: 1 }],
      );
      const { messages } = await org.board(boardInbox, { companyId, limit: 1000 });
      assert.ok(
        messages.some(({ body }) => body?.includes("A guide is published") && body.includes(file.id)),
      );
      // The board sends it back with a note. The root agent submits it again, and its deliverables stay.
      await org.board(decideOutcome, { id: goal.id, verdict: "rework", note: "Add pictures." });
      assert.equal((await org.root(viewOutcome, { id: goal.id })).history[0]?.why, "Add pictures.");
      await org.root(submitOutcome, { id: goal.id, note: "Now with pictures." });
      await org.board(decideOutcome, { id: goal.id, verdict: "pass" });
      const done = await org.board(viewOutcome, { id: goal.id });
      assert.equal(done.status, "completed");
      assert.deepEqual(
        done.deliverables.map(({ id, accepted }) => ({ id, accepted })),
        [{ id: file.id, accepted: true }],
      );
      assert.equal((await org.root(readFile, { id: file.id })).pinned, true);
    });

    test("the board can close a goal, and only a goal has a budget of its kind", async () => {
      const { id } = await org.board(createGoal, { companyId, title: "Not any more", budget: { usd: 2 } });
      assert.deepEqual((await org.board(viewOutcome, { id })).budget, { usd: 2 });
      const changed = await org.board(setGoalBudget, { id, budget: { usd: null, sessions: 3 } });
      assert.deepEqual(changed.budget, { sessions: 3 });
      assert.equal((await org.board(closeOutcome, { id, rationale: "Changed plans." })).status, "closed");
      await refusal(
        org.board(setGoalBudget, { id: await org.outcome("Work"), budget: { usd: 1 } }),
        "refused",
      );
    });

    test("work on a goal stops when its budget is used up, and continues when it is raised", () =>
      onStage(kind, async ({ org: staged, runner, ...stage }) => {
        await staged.board(updateAgent, { id: staged.rootId, adapterType: "human" });
        const ann = await staged.agent("Ann");
        const goal = await staged.board(createGoal, {
          companyId: staged.companyId,
          title: "Cheap",
          budget: { tokens: 100 },
        });
        const give = async (title: string): Promise<string> => {
          const { id } = await staged.root(createOutcome, { title, parents: [goal.id] });
          await staged.root(delegateOutcome, { id, to: ann.id });
          return id;
        };
        const status = async (id: string) => {
          const { blocked, status: now } = await staged.board(viewOutcome, { id });
          return blocked === null ? now : blocked.reason;
        };
        const first = await give("First");
        runner.plan(ann.id, async (session) => {
          session.onUsage({ inputTokens: 120, outputTokens: 0, costUsd: 0 });
          await session.hold(Promise.resolve());
        });
        await stage.rest();
        assert.equal(runner.started.length, 1);
        // Its next session would start after a pause. It does not start.
        const second = await give("Second");
        stage.advance(3600_000);
        await stage.rest();
        for (const id of [first, second]) assert.match(await status(id), /budget of the goal .* is used up/);
        assert.equal(runner.started.length, 1);
        const { messages } = await staged.board(boardInbox, { companyId: staged.companyId });
        assert.ok(messages.some(({ body }) => body?.includes("its budget of 100 tokens is used up")));
        await staged.board(setGoalBudget, { id: goal.id, budget: { tokens: 1000 } });
        for (const id of [first, second]) assert.equal(await status(id), "open");
      }));

    test("the cost of a session that starts with mail is booked to the outcome it works on", () =>
      onStage(kind, async ({ org: staged, runner, ...stage }) => {
        await staged.board(updateAgent, { id: staged.rootId, adapterType: "human" });
        const ann = await staged.agent("Ann");
        const { companyId } = staged;
        const goal = await staged.board(createGoal, { companyId, title: "Goal", budget: { tokens: 100 } });
        const { id } = await staged.root(createOutcome, { title: "Part", parents: [goal.id] });
        await staged.root(delegateOutcome, { id, to: ann.id, message: "Please hurry." });
        runner.plan(ann.id, async (session) => {
          await session.call(createFile, { description: "Draft", content: "x" });
          session.onUsage({ inputTokens: 120, outputTokens: 0, costUsd: 0 });
          await session.hold(Promise.resolve());
        });
        await stage.rest();
        const { blocked } = await staged.board(viewOutcome, { id });
        assert.match(blocked?.reason ?? "", /budget of the goal .* is used up/);
        for (const about of [id, goal.id]) {
          const { cost } = await staged.board(viewTimeline, { id: about });
          assert.deepEqual([cost?.sessions, cost?.inputTokens], [1, 120]);
        }
        const { entries } = await staged.board(viewTimeline, { id });
        const operations = new Set(entries.map(({ operation }) => operation));
        for (const operation of ["session.start", "knowledge.create", "session.usage"])
          assert.ok(operations.has(operation), `${operation}: ${[...operations].join()}`);
        const { sessions, count } = await staged.board(listSessions, { companyId, outcome: id });
        assert.deepEqual([sessions[0]?.outcome?.title, count], ["Part", 1]);
      }));
  });
