import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { updateCompany } from "../contract/companies.ts";
import { readFile, viewLinks } from "../contract/knowledge.ts";
import { listEvents, verifyLedger } from "../contract/ledger.ts";
import { acknowledgeMessage, boardInbox, sendMessage } from "../contract/mail.ts";
import { listAgents, terminateAgent, viewAgent } from "../contract/agents.ts";
import { listOutcomes, viewSubtree, why } from "../contract/outcomes.ts";
import { listSessions } from "../contract/sessions.ts";
import { storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { onStage } from "../testing/stage.ts";
import { play } from "./rehearsal/player.ts";

/** The player as it is, its tools called through dispatch instead of over MCP. */
const rehearse: Script = async ({ call }) => {
  const { words } = await play((operation, input) => {
    assert.ok(operation.mcp !== undefined, `${operation.name} is not a tool`);
    return call(operation, input);
  });
  return { output: words };
};

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

        // Three were hired for it, on two levels, and stay for what comes next.
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
        // One session's words hired and handed out; and the right to hire was asked for and given.
        const [hired] = by("agent.create", org.rootId);
        const [handed] = by("outcome.delegate", org.rootId);
        assert.ok(hired !== undefined && hired.actor.sessionId === handed?.actor.sessionId);
        assert.equal(by("permission.request", agents[1]?.id).length, 1);
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
        // Each session left its own summary, and no state document is stale.
        const { sessions } = await board(listSessions, { companyId });
        assert.ok(
          sessions.length >= 6 && sessions.every(({ summarized, exitCode }) => summarized && exitCode === 0),
        );
        const root = await board(viewAgent, { id: org.rootId });
        assert.match((await board(readFile, { id: root.logFileId ?? "" })).content, /took on "Write a haiku/);
        assert.equal((await board(verifyLedger, {})).ok, true);
        assert.match((await board(why, { id: org.rootId })).says, /nothing to do/);

        // It stays at rest, and takes the next goal.
        const before = runner.started.length;
        stage.advance(600_000);
        await stage.rest();
        assert.equal(runner.started.length, before);
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

    test("it does the work itself when no more agents may be hired", () =>
      onStage(kind, async (stage) => {
        const { org, runner } = stage;
        const { board, companyId } = org;
        await board(updateCompany, { companyId, maxAgents: 2 });
        runner.otherwise(rehearse);
        await board(sendMessage, { companyId, body: "Count the spoons" });
        await stage.rest();
        const { messages } = await board(boardInbox, { companyId });
        assert.ok(messages.some(({ body }) => body?.startsWith("Done: Count the spoons") === true));
        // The coordinator was hired, and did alone what it could not divide.
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
  });
