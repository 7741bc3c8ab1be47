import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { approve, listApprovals, reject, requestRevision, viewApproval } from "../contract/approvals.ts";
import { updateCompany } from "../contract/companies.ts";
import { createGoal } from "../contract/goals.ts";
import { createAgent } from "../contract/hiring.ts";
import { readFile, viewLinks } from "../contract/knowledge.ts";
import { listEvents, verifyLedger } from "../contract/ledger.ts";
import { acknowledgeMessage, boardInbox, sendMessage } from "../contract/mail.ts";
import { listAgents, terminateAgent, updateAgent, viewAgent } from "../contract/agents.ts";
import { completeOutcome, listOutcomes, myOutcomes, viewOutcome, viewSubtree } from "../contract/outcomes.ts";
import type { Output } from "../contract/operation.ts";
import { planWork, decideOutcome } from "../contract/delegation.ts";
import { why } from "../contract/why.ts";
import { listSessions } from "../contract/sessions.ts";
import { storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { onStage } from "../testing/stage.ts";
import { play } from "./rehearsal/player.ts";

/** The real player, whose tools are called through dispatch instead of over MCP. */
const rehearse: Script = async ({ call, briefing }) => {
  await play((operation, input) => {
    assert.ok(operation.mcp !== undefined, `${operation.name} is not a tool`);
    return call(operation, input);
  }, briefing.situation);
};

/** The work among these outcomes, each with the agent that does it. */
const whoDoes = (outcomes: Output<typeof viewSubtree>["outcomes"]): string[] =>
  outcomes.filter(({ kind }) => kind === "work").map((one) => `${one.title} > ${one.responsible?.name}`);

for (const kind of storeKinds)
  describe(`the rehearsal on ${kind}`, () => {
    // covers ROOT-07, SES-05, UNI-02, ORG-21, ORG-22
    test("a goal goes down the organization and comes back as a result, and everything comes to rest", () =>
      onStage(kind, async (stage) => {
        const { org, runner } = stage;
        const { board, companyId } = org;
        runner.otherwise(rehearse);
        await board(sendMessage, { companyId, body: "Write a haiku about rivers" });
        await stage.rest();

        const { messages } = await board(boardInbox, { companyId });
        const report = messages.find(({ body }) => body?.startsWith("Done: Write a haiku") === true);
        assert.equal(report?.from.id, org.rootId);
        const result = /kb:\/\/(\S+)/.exec(report?.body ?? "")?.[1] ?? "";
        assert.match((await board(readFile, { id: result })).content, /Combined from:/);
        assert.ok((await board(viewLinks, { id: result })).links.every(({ state }) => state === "live"));

        // Three agents were hired for the goal, on two levels. They stay for the next goal.
        const { agents } = await board(listAgents, { companyId });
        assert.deepEqual(
          agents.map(({ role, status }) => [role, status]),
          [
            ["CEO", "idle"],
            ["Coordinator", "idle"],
            ["Writer", "idle"],
            ["Checker", "idle"],
          ],
        );
        assert.deepEqual(
          agents.slice(1).map(({ boss }) => boss?.name),
          ["Root", "Coordinator", "Coordinator"],
        );
        const open = (await board(listOutcomes, { companyId, status: "open", limit: 1000 })).outcomes;
        assert.deepEqual(open.map((outcome) => outcome.kind).toSorted(), [
          "mandate",
          "mandate",
          "mandate",
          "perpetual",
        ]);
        const { events } = await board(listEvents, { companyId, limit: 1000 });
        const by = (operation: string, agentId: string | undefined) =>
          events.filter((event) => event.operation === operation && event.actor.agentId === agentId);
        // One session hired and delegated. The coordinator got the right to hire with its position.
        const [hired] = by("agent.create", org.rootId);
        const [handed] = by("outcome.delegate", org.rootId);
        assert.ok(hired !== undefined && hired.actor.sessionId === handed?.actor.sessionId);
        assert.equal(by("agent.create", agents[1]?.id).length, 2);
        assert.equal(by("org.plan_work", agents[1]?.id).length, 1);
        const all = (await board(listOutcomes, { companyId, limit: 1000 })).outcomes;
        assert.deepEqual(
          all
            .filter((outcome) => outcome.kind === "integration")
            .map(({ responsible, status }) => [responsible?.name, status]),
          [
            ["Coordinator", "completed"],
            ["Root", "completed"],
          ],
        );
        assert.equal((await board(listOutcomes, { companyId, status: "submitted" })).outcomes.length, 0);
        // Each session left its own summary, and no state document is out of date.
        const { sessions } = await board(listSessions, { companyId });
        assert.ok(
          sessions.length >= 6 && sessions.every(({ summarized, exitCode }) => summarized && exitCode === 0),
        );
        const root = await board(viewAgent, { id: org.rootId });
        assert.match((await board(readFile, { id: root.logFileId ?? "" })).content, /took on "Write a haiku/);
        assert.equal((await board(verifyLedger, {})).ok, true);
        assert.match((await board(why, { id: org.rootId })).says, /nothing to do/);

        // The organization stays at rest, and takes the next goal.
        const before = runner.started.length;
        stage.advance(600_000);
        await stage.rest();
        assert.equal(runner.started.length, before);
        // An answer of the board is not a goal.
        await board(sendMessage, { companyId, body: "Thank you!", inReplyTo: report.id });
        await stage.rest();
        const titles = (await board(listOutcomes, { companyId, limit: 1000 })).outcomes.map(
          ({ title }) => title,
        );
        assert.ok(!titles.includes("Thank you!"));
        for (const { id } of messages) await board(acknowledgeMessage, { id });
        await board(sendMessage, { companyId, body: "And one about mountains" });
        await stage.rest();
        const next = (await board(boardInbox, { companyId })).messages;
        assert.ok(next.some(({ body }) => body?.startsWith("Done: And one about mountains") === true));
        assert.equal((await board(listAgents, { companyId })).agents.length, 4, "an agent was hired twice");
        const { outcomes } = await board(viewSubtree, { id: org.rootId, limit: 1000 });
        assert.ok(
          outcomes.filter((outcome) => outcome.kind === "work").every(({ status }) => status === "completed"),
        );
      }));

    test("the rehearsal does the work itself when no more agents may be hired", () =>
      onStage(kind, async ({ org, runner, ...stage }) => {
        const { board, companyId } = org;
        await board(updateCompany, { companyId, maxAgents: 2 });
        runner.otherwise(rehearse);
        await board(sendMessage, { companyId, body: "Count the spoons" });
        await stage.rest();
        const { messages } = await board(boardInbox, { companyId });
        assert.ok(messages.some(({ body }) => body?.startsWith("Done: Count the spoons") === true));
        // The coordinator was hired. It did the work alone, because the work can't be divided.
        const { agents } = await board(listAgents, { companyId });
        assert.deepEqual(
          agents.map(({ role }) => role),
          ["CEO", "Coordinator"],
        );
        await board(updateCompany, { companyId, maxAgents: 1 });
        await board(terminateAgent, { id: agents[1]?.id ?? "" });
        await board(sendMessage, { companyId, body: "Count the forks" });
        await stage.rest();
        const later = (await board(boardInbox, { companyId })).messages;
        assert.ok(later.some(({ body }) => body?.startsWith("Done: Count the forks") === true));
        const { outcomes } = await board(viewSubtree, { id: org.rootId, limit: 1000 });
        assert.ok(
          outcomes.filter(({ kind: of }) => of === "work").every(({ status }) => status === "completed"),
        );
      }));

    test("the rehearsal divides a goal along its wording, and marks every file as a sample", () =>
      onStage(kind, async ({ org, runner, ...stage }) => {
        const { board, companyId } = org;
        runner.otherwise(rehearse);
        const goal = await board(createGoal, {
          companyId,
          title: "Open a bakery",
          description: "Write a menu, design a sign and plan the first day.",
        });
        await stage.rest();
        const { outcomes } = await board(viewSubtree, { id: goal.id });
        assert.deepEqual(whoDoes(outcomes), [
          "Open a bakery > Root",
          "Organize: Open a bakery > Coordinator",
          "Write a menu > Writer",
          "Design a sign > Designer",
          "Plan the first day > Planner",
          "Check: Open a bakery > Checker",
        ]);
        for (const { id, kind: of } of outcomes) {
          const { deliverables } = await board(viewOutcome, { id });
          assert.equal(deliverables.length, 1, of);
          assert.match((await board(readFile, { id: deliverables[0]?.id ?? "" })).content, sample);
        }
        // The board gets one file with all results.
        const { status, deliverables } = await board(viewOutcome, { id: goal.id });
        assert.equal(status, "submitted");
        const whole = await board(readFile, { id: deliverables[0]?.id ?? "" });
        for (const part of ["Write a menu", "Design a sign", "Plan the first day", "Check: Open a bakery"])
          assert.ok(whole.content.includes(`\n## ${part}\n`), part);
        assert.equal(whole.content.match(new RegExp(sample, "g"))?.length, 1, "the mark is repeated");
      }));

    test("the rehearsal uses the existing team on every level, and hires no other agent", () =>
      onStage(kind, async ({ org, runner, ...stage }) => {
        const { board, companyId } = org;
        runner.otherwise(rehearse);
        const hire = async (name: string, role: string, reportsTo?: string) =>
          (await board(createAgent, { companyId, name, role, reportsTo })).id;
        const ann = await hire("Ann", "Head of texts");
        await hire("Ben", "Graphic designer");
        await hire("Cy", "Copy writer", ann);
        await hire("Dee", "Proofreader", ann);
        const goal = await board(createGoal, {
          companyId,
          title: "Design a card and write the texts for it",
        });
        await stage.rest();
        const { outcomes } = await board(viewSubtree, { id: goal.id });
        assert.deepEqual(whoDoes(outcomes), [
          "Design a card and write the texts for it > Root",
          "Design a card > Ben",
          "Write the texts for it > Ann",
          "Check: Design a card and write the texts for it > Ann",
          "Draft: Write the texts for it > Cy",
          "Check: Write the texts for it > Dee",
        ]);
        assert.equal((await board(viewOutcome, { id: goal.id })).status, "submitted");
        assert.equal((await board(listAgents, { companyId })).agents.length, 5);
      }));

    test("the rehearsal revises work that is sent back, and decides about work that was sent back twice below it", () =>
      onStage(kind, async ({ org, runner, ...stage }) => {
        const { board, companyId } = org;
        runner.otherwise(rehearse);
        const max = await org.agent("Max");
        await board(updateAgent, { id: max.id, adapterType: "human" });
        const ann = await board(createAgent, { companyId, name: "Ann", role: "Writer", reportsTo: max.id });
        const goal = await board(createGoal, { companyId, title: "Write a poem" });
        await stage.rest();
        // Max, a person, gives the work to Ann and sends it back twice.
        const { outcomes } = await max.call(myOutcomes, { status: "open" });
        const work = outcomes.find(({ title }) => title === "Draft: Write a poem");
        const { tasks, integration } = await max.call(planWork, {
          outcome: work?.id ?? "",
          tasks: [{ title: "Write the poem", assignee: ann.id }],
        });
        const part = tasks[0]?.id ?? "";
        await stage.rest();
        const [first] = (await max.call(viewOutcome, { id: part })).deliverables;
        assert.equal(first?.version, 1);
        await max.call(decideOutcome, { id: part, verdict: "rework", note: "It must rhyme." });
        await stage.rest();
        const again = await max.call(viewOutcome, { id: part });
        const [second] = again.deliverables;
        assert.deepEqual([again.status, second?.id, second?.version], ["submitted", first.id, 2]);
        const { content } = await max.call(readFile, { id: first.id });
        assert.match(content, sample);
        assert.match(content, /## Changed on request\n\n> It must rhyme\./);
        assert.match(again.history[0]?.why ?? "", /Revised as you asked: "It must rhyme\."/);
        await max.call(decideOutcome, { id: part, verdict: "rework", note: "It still must rhyme." });
        // Its manager, the root agent, decides now.
        await stage.rest();
        assert.equal((await max.call(viewOutcome, { id: part })).status, "completed");
        await max.call(completeOutcome, { id: integration, note: `kb://${first.id}`, files: [first.id] });
        await stage.rest();

        // The board sends the goal back. The new result follows the request.
        const asked = "Add a title.\nAnd a second line.";
        await board(decideOutcome, { id: goal.id, verdict: "rework", note: asked });
        await stage.rest();
        const whole = await board(viewOutcome, { id: goal.id });
        assert.equal(whole.status, "submitted");
        const revised = await board(readFile, { id: whole.deliverables[0]?.id ?? "" });
        assert.match(revised.content, /> Add a title\.\n> And a second line\./);
        await board(decideOutcome, { id: goal.id, verdict: "pass" });
        stage.advance(60_000);
        await stage.rest();
        assert.match((await board(why, { id: org.rootId })).says, /nothing to do/);
      }));

    test("the rehearsal revises a hire as the board asks, and does the work itself if the hire is rejected", () =>
      onStage(kind, async ({ org, runner, ...stage }) => {
        const { board, companyId } = org;
        await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
        runner.otherwise(rehearse);
        const goal = await board(createGoal, { companyId, title: "Write a poem" });
        await stage.rest();
        const pending = async () => (await board(listApprovals, { companyId, status: "pending" })).approvals;
        const [hire] = await pending();
        assert.ok(hire !== undefined);
        const mandateOf = async (): Promise<string> =>
          JSON.stringify((await board(viewApproval, { id: hire.id })).payload);
        const before = await mandateOf();
        await board(requestRevision, { id: hire.id, decisionNote: "Only poems, please." });
        await stage.rest();
        assert.deepEqual(
          (await pending()).map(({ id, revision }) => [id, revision]),
          [[hire.id, 2]],
        );
        assert.match(before, /Divide the goals of the board/);
        assert.match(await mandateOf(), /Divide the goals of the board.*Only poems, please\./);
        await board(approve, { id: hire.id });
        await stage.rest();
        const [writer, checker, ...others] = await pending();
        assert.deepEqual([writer !== undefined, checker !== undefined, others], [true, true, []]);
        for (const one of [writer, checker]) await board(reject, { id: one?.id ?? "" });
        await stage.rest();
        stage.advance(60_000);
        await stage.rest();
        const { status, deliverables } = await board(viewOutcome, { id: goal.id });
        assert.equal(status, "submitted");
        assert.match((await board(readFile, { id: deliverables[0]?.id ?? "" })).content, sample);
      }));
  });

const sample = /This is a sample\. The rehearsal has no model/;
