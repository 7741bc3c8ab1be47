import assert from "node:assert/strict";
import { describe } from "node:test";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import { putMcpServer, removeMcpServer } from "../contract/servers.ts";
import { sendMessage } from "../contract/mail.ts";
import { closeOutcome } from "../contract/outcomes.ts";
import { terminateAgent } from "../contract/agents.ts";
import { listAgentSessions } from "../contract/sessions.ts";
import { storeKinds } from "../testing/organization.ts";
import { clearInbox } from "../testing/scripts.ts";
import { newId } from "../daemon/ids.ts";
import { type Stage, stagedOn } from "../testing/stage.ts";
import { noticesFor } from "./tool-notices.ts";

const config = { command: "some-mcp" };

for (const kind of storeKinds)
  describe(`MCP servers that change while a session runs, on ${kind}`, () => {
    const staged = stagedOn(kind);

    /** A running session of Ann, who reports to Lead. Lead holds the right to use the server chat. */
    async function runningAnn(stage: Stage, holdsChat: boolean) {
      const { org, runner } = stage;
      const { companyId } = org;
      const lead = await org.agent("Lead");
      const ann = await org.agent("Ann", lead.id);
      await org.board(putMcpServer, { companyId, name: "chat", config });
      await org.board(putMcpServer, { companyId, name: "wiki", config });
      const ofLead = await org.board(grantPermission, { companyId, to: lead.id, resource: "mcp:chat" });
      await org.outcome("the work", [ann.id]);
      const side = await org.outcome("other work", [ann.id]);
      const give = (resource: string) =>
        org.board(grantPermission, { companyId, to: ann.id, resource, outcome: side });
      if (holdsChat) await lead.call(grantPermission, { to: ann.id, resource: "mcp:chat" });
      const never = Promise.withResolvers<void>();
      runner.otherwise(async (session) => {
        if (session.agent.id !== ann.id) return clearInbox(session);
        await clearInbox(session);
        await session.hold(never.promise);
      });
      await org.board(sendMessage, { companyId, to: ann.id, body: "begin" });
      await stage.rest();
      const sessions = () => runner.started.filter(({ agent }) => agent.id === ann.id);
      const [first] = sessions();
      assert.ok(first);
      assert.equal(sessions().length, 1);
      const told = async () => (await noticesFor(stage.store, newId, first.token)).join("\n");
      return { org, lead, ann, ofLead, side, give, first, sessions, told };
    }

    /** The session is asked to stop, runs for 60 seconds more, and is replaced by one with these servers. */
    async function demandReplaced(
      stage: Stage,
      { org, ann, first, sessions, told }: Awaited<ReturnType<typeof runningAnn>>,
      servers: readonly string[],
    ): Promise<void> {
      await stage.rest();
      assert.match(
        await told(),
        /is stopped at 2030-01-01T12:01:00.000Z, because the MCP servers it may use/,
      );
      stage.advance(59_999);
      await stage.rest();
      assert.equal(stage.runner.killed.has(first.id), false);
      stage.advance(1);
      await stage.rest();
      assert.ok(stage.runner.killed.has(first.id), "it did not stop, so it was stopped");
      const { sessions: rows } = await org.board(listAgentSessions, { id: ann.id });
      assert.equal(
        rows.find(({ id }) => id === first.id)?.endReason,
        "the MCP servers it may use have changed",
      );
      const next = sessions().at(-1);
      assert.notEqual(next?.id, first.id);
      assert.deepEqual(next?.briefing.mcpServers, servers);
    }

    staged("a grant ends the session 60 seconds after it was told to stop", async (stage) => {
      const scene = await runningAnn(stage, false);
      await scene.give("mcp:chat");
      await demandReplaced(stage, scene, ["chat"]);
    });

    staged("a revocation ends the session too, even one further up the chain", async (stage) => {
      const scene = await runningAnn(stage, true);
      await scene.org.board(revokePermission, { id: scene.ofLead.id });
      await demandReplaced(stage, scene, []);
    });

    staged("the departure of the manager who granted the right ends the session too", async (stage) => {
      const scene = await runningAnn(stage, true);
      await scene.org.board(terminateAgent, { id: scene.lead.id });
      await demandReplaced(stage, scene, []);
    });

    staged("the end of the outcome that the grant was for ends the session too", async (stage) => {
      const scene = await runningAnn(stage, true);
      await scene.give("mcp:wiki");
      await demandReplaced(stage, scene, ["chat", "wiki"]);
      const again = scene.sessions().at(-1);
      await scene.org.board(closeOutcome, { id: scene.side, rationale: "not needed" });
      await stage.rest();
      stage.advance(60_000);
      await stage.rest();
      assert.ok(stage.runner.killed.has(again?.id ?? ""));
      assert.deepEqual(scene.sessions().at(-1)?.briefing.mcpServers, ["chat"]);
    });

    staged(
      "the removal of the server ends the session too, and revokes the rights to use the server",
      async (stage) => {
        const scene = await runningAnn(stage, true);
        const { org } = scene;
        const { companyId } = org;
        await org.board(removeMcpServer, { companyId, name: "chat" });
        await demandReplaced(stage, scene, []);
        // A later server with the same name is a different server.
        await org.board(putMcpServer, { companyId, name: "chat", config });
        await stage.rest();
        stage.advance(60_000);
        await stage.rest();
        assert.deepEqual(scene.sessions().at(-1)?.briefing.mcpServers, []);
      },
    );

    staged("other grants, and a second grant of the same server, leave the session alone", async (stage) => {
      const { org, ann, give, sessions, told } = await runningAnn(stage, true);
      const { companyId } = org;
      await org.board(grantPermission, { companyId, to: ann.id, resource: "org:hire" });
      const second = await give("mcp:chat");
      await stage.rest();
      await org.board(revokePermission, { id: second.id });
      await org.board(grantPermission, { companyId, to: org.rootId, resource: "mcp:wiki" });
      await stage.rest();
      assert.doesNotMatch(await told(), /is stopped at/);
      stage.advance(120_000);
      await stage.rest();
      assert.equal(sessions().length, 1);
      assert.equal(stage.runner.killed.size, 0);
    });
  });
