import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readFile, viewLinks } from "../contract/knowledge.ts";
import { verifyLedger } from "../contract/ledger.ts";
import { acknowledgeMessage, boardInbox, sendMessage } from "../contract/mail.ts";
import { listAgents, viewAgent } from "../contract/organization.ts";
import { listOutcomes, viewSubtree } from "../contract/outcomes.ts";
import { operations } from "../contract/operations.ts";
import { listSessions, why } from "../contract/sessions.ts";
import { storeKinds } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { onStage } from "../testing/stage.ts";
import { play } from "./rehearsal/player.ts";

/** The player as it is, its tools called through dispatch instead of over MCP. */
const rehearse: Script = async ({ call }) => {
  await play(async (server, tool, args) => {
    const operation = operations.find(({ mcp }) => mcp?.server === server && mcp.tool === tool);
    assert.ok(operation !== undefined, `there is no tool ${server} ${tool}`);
    return { ...Object(await call(operation, args)) };
  });
};

for (const kind of storeKinds)
  describe(`the rehearsal on ${kind}`, () => {
    // covers ROOT-07, SES-05, END-01, CAP-13, UNI-02
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
        assert.match((await board(readFile, { id: result })).content, /Put together from:/);
        assert.ok((await board(viewLinks, { id: result })).links.every(({ state }) => state === "live"));

        // Three were hired for it, on two levels, and retired when it was done.
        const { agents } = await board(listAgents, { companyId });
        assert.deepEqual(
          agents.map(({ role, status }) => [role, status]),
          [
            ["CEO", "idle"],
            ["Coordinator", "terminated"],
            ["Writer", "terminated"],
            ["Checker", "terminated"],
          ],
        );
        assert.deepEqual(
          agents.slice(1).map(({ boss }) => boss?.name),
          ["Root", "Coordinator", "Coordinator"],
        );
        const open = (await board(listOutcomes, { companyId, status: "open", limit: 1000 })).outcomes;
        assert.deepEqual(
          open.map((outcome) => outcome.kind),
          ["perpetual"],
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
        const { outcomes } = await board(viewSubtree, { id: org.rootId, limit: 1000 });
        assert.ok(
          outcomes.filter((outcome) => outcome.kind === "work").every(({ status }) => status === "completed"),
        );
      }));
  });
