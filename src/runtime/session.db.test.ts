import assert from "node:assert/strict";
import { describe } from "node:test";
import { pauseAgent, resumeAgent } from "../contract/agents.ts";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import { createFile } from "../contract/knowledge.ts";
import { listAgentEvents } from "../contract/ledger.ts";
import { readInbox, sendMessage } from "../contract/mail.ts";
import { putMcpServer } from "../contract/servers.ts";
import { listAgentSessions, submitSummary, viewSession } from "../contract/sessions.ts";
import { refusal, bothStores } from "../testing/organization.ts";
import type { Script } from "../testing/scripted-runner.ts";
import { clearInbox, hang } from "../testing/scripts.ts";
import { promptVersion } from "./prompt.ts";
import { stagedOn } from "../testing/stage.ts";

for (const kind of bothStores)
  describe(`a session on ${kind}`, () => {
    const staged = stagedOn(kind);

    // covers CAP-18, CAP-19, CAP-20, CAP-21, CAP-22
    staged(
      "a granted MCP server comes with the next session, and the agent is told to end this one",
      async ({ org, runner, ...stage }) => {
        const { companyId } = org;
        const ann = await org.agent("Ann");
        const config = { type: "http" as const, url: "https://chat.example/mcp" };
        await org.board(putMcpServer, { companyId, name: "chat", config });
        await org.board(grantPermission, { companyId, to: org.rootId, resource: "mcp:chat" });
        const told = Promise.withResolvers<void>();
        const letters: (string | null)[] = [];
        runner.plan(org.rootId, clearInbox);
        runner.plan(
          ann.id,
          async (session) => {
            assert.deepEqual(session.briefing.mcpServers, []);
            await clearInbox(session);
            await session.hold(told.promise);
            letters.push(...(await session.call(readInbox, {})).messages.map(({ body }) => body));
            // The session saves its state and ends. The next one gets the message.
          },
          async (session) => {
            assert.deepEqual(session.briefing.mcpServers, ["chat"]);
            await clearInbox(session);
          },
          async (session) => {
            assert.deepEqual(session.briefing.mcpServers, []);
            await clearInbox(session);
          },
        );
        await org.root(sendMessage, { to: ann.id, body: "begin" });
        await stage.rest();
        const grant = await org.root(grantPermission, { to: ann.id, resource: "mcp:chat" });
        told.resolve();
        await stage.rest();
        assert.match(
          letters[0] ?? "",
          /You may now use the MCP server chat\. .*save your state and end this one/,
        );
        assert.equal(runner.started.filter(({ agent }) => agent.id === ann.id).length, 2);
        await org.root(revokePermission, { id: grant.id });
        await stage.rest();
        assert.equal(runner.started.filter(({ agent }) => agent.id === ann.id).length, 3);
      },
    );

    // covers SES-01, CAP-03
    staged(
      "a session is recorded with its epoch, briefing, prompt version and usage",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        runner.plan(ann.id, async (session) => {
          await clearInbox(session);
          await session.call(createFile, { description: "by the session", content: "x" });
          return { usage: { inputTokens: 1200, outputTokens: 80, costUsd: 0.02 } };
        });
        await org.root(sendMessage, { to: ann.id, body: "x" });
        await stage.rest();
        const [session] = (await org.board(listAgentSessions, { id: ann.id })).sessions;
        assert.deepEqual(session?.usage, { inputTokens: 1200, outputTokens: 80, costUsd: 0.02 });
        assert.equal(session?.promptVersion, promptVersion);
        assert.equal(session?.epoch, 1);
        const seen = await org.board(viewSession, { id: session?.id ?? "" });
        assert.equal(seen.briefing, runner.started[0]?.briefing.text);
        // The agent and its manager can see the session, another agent can't.
        assert.equal((await ann.call(viewSession, { id: seen.id })).id, seen.id);
        const ben = await org.agent("Ben");
        await refusal(ben.call(viewSession, { id: seen.id }), "not_found");
        // The events of the session name the agent and the session.
        const { events } = await org.board(listAgentEvents, { id: ann.id });
        const made = events.find(({ operation }) => operation === "knowledge.create");
        assert.deepEqual(made?.actor, { kind: "agent", agentId: ann.id, sessionId: seen.id, personId: null });
      },
    );

    // covers SES-06, LOG-03
    staged(
      "submitting the summary ends the session: it ends by itself, or is ended after a grace period",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben");
        const gate = Promise.withResolvers<void>();
        for (const { id } of [ann, ben]) await org.root(sendMessage, { to: id, body: "x" });
        const finish: Script = async (session) => {
          await clearInbox(session);
          await session.call(submitSummary, { summary: "all sorted" });
        };
        runner.plan(ann.id, finish);
        runner.plan(ben.id, async (session) => {
          await finish(session);
          await session.hold(gate.promise);
        });
        await stage.rest();
        assert.equal(runner.alive(), 1);
        stage.advance(9_999);
        await stage.rest();
        assert.equal(runner.alive(), 1);
        stage.advance(1);
        await stage.rest();
        assert.equal(runner.alive(), 0);
        assert.equal(runner.killed.size, 1);
        for (const { id } of [ann, ben]) {
          const [session] = (await org.board(listAgentSessions, { id })).sessions;
          assert.equal(session?.summarized, true);
          assert.notEqual(session?.endedAt, null);
        }
        gate.resolve();
      },
    );

    staged(
      "a conversation that was cut off is continued, unless its session failed, ended or was asked to stop",
      async ({ org, runner, ...stage }) => {
        const { board, companyId } = org;
        const ann = await org.agent("Ann");
        const resumed = (): string | undefined => runner.started.at(-1)?.resume;
        const talks =
          (thread: string, end: Script = hang): Script =>
          async (session) => {
            session.onThread?.(thread);
            // The thread is recorded before the process ends.
            await session.call(readInbox, {});
            return end(session);
          };
        const cutOff = async (): Promise<void> => {
          await board(pauseAgent, { id: ann.id });
          await stage.rest();
          await board(resumeAgent, { id: ann.id });
          stage.advance(600_000);
          await stage.rest();
        };
        runner.plan(ann.id, talks("first"));
        await org.root(sendMessage, { to: ann.id, body: "x" });
        await stage.rest();
        assert.equal(resumed(), undefined);
        runner.plan(
          ann.id,
          talks("first", async () => ({ code: 1, reason: "exited with code 1" })),
          talks("second"),
        );
        await cutOff();
        assert.equal(runner.started[1]?.resume, "first");
        stage.advance(600_000);
        await stage.rest();
        assert.equal(runner.started.length, 3);
        assert.equal(resumed(), undefined, "it failed");
        await board(putMcpServer, {
          companyId,
          name: "slack",
          config: { type: "http", url: "https://slack.example" },
        });
        await board(grantPermission, { companyId, to: ann.id, resource: "mcp:slack" });
        await stage.rest();
        runner.plan(ann.id, talks("third", clearInbox));
        stage.advance(61_000);
        await stage.rest();
        assert.equal(runner.started.length, 4);
        assert.equal(resumed(), undefined, "it was asked to stop");
      },
    );

    staged(
      "only an agent that holds org:consult may use sub-agents, from its next session on",
      async ({ org, runner, ...stage }) => {
        const ann = await org.agent("Ann");
        const may: boolean[] = [];
        const look: Script = async (session) => {
          may.push(session.briefing.mayConsult);
          await clearInbox(session);
        };
        runner.plan(ann.id, look, look, look);
        const wake = async (): Promise<void> => {
          await org.root(sendMessage, { to: ann.id, body: "x" });
          await stage.rest();
        };
        await wake();
        const { companyId } = org;
        const grant = await org.board(grantPermission, { companyId, to: ann.id, resource: "org:consult" });
        await wake();
        await org.board(revokePermission, { id: grant.id });
        await wake();
        assert.deepEqual(may, [false, true, false]);
      },
    );
  });
