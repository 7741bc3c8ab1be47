// Statements on the governance of hires, at the doors: an agent asks over MCP, a person decides over HTTP.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createClient } from "../src/client/client.ts";
import * as approvals from "../src/contract/approvals.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { createKey, deleteAgent } from "../src/contract/agents.ts";
import { resubmit } from "../src/contract/approvals.ts";
import { call, McpWorld } from "./support/mcp.ts";

// covers GOV-21, GOV-74
test("comments, revision requests and reasons stay in the thread, and one timeline shows every step", async () => {
  const world = await McpWorld.open();
  try {
    const { board, companyId, url } = world.daemon;
    await board.call(updateCompany, { companyId, maxSessions: 0 });
    const { key } = await board.call(createKey, { id: world.rootAgentId });
    const org = await world.connect("org", key);
    await org.listTools();
    const { agent, approval } = z
      .looseObject({ agent: z.looseObject({ id: z.string() }), approval: z.looseObject({ id: z.string() }) })
      .parse(await call(org, "hire_agent", { name: "Kim", role: "Clerk", title: "First title" }));
    const { id } = approval;
    await board.call(approvals.commentOnApproval, { id, body: "Why a clerk?" });
    await call(org, "comment_on_approval", { id, body: "The letters pile up." });
    await board.call(approvals.requestRevision, { id, decisionNote: "Use another title." });
    await createClient({ url, token: key }).call(resubmit, { id, payload: { title: "Second title" } });
    await board.call(approvals.reject, { id, decisionNote: "The letters can wait." });
    const said = ["Why a clerk?", "The letters pile up.", "Use another title.", "The letters can wait."];
    // Deleting the agent takes nothing from the thread.
    for (const isDeleted of [false, true]) {
      if (isDeleted) await board.call(deleteAgent, { id: agent.id });
      const { comments } = await board.call(approvals.listComments, { id, limit: 100 });
      const bodies = comments.map(({ body }) => body);
      for (const text of said)
        assert.ok(bodies.includes(text), `"${text}" is not in ${JSON.stringify(bodies)}`);
      for (const { by, createdAt } of comments) {
        assert.ok(!Number.isNaN(Date.parse(createdAt)));
        assert.equal(
          by.kind === "agent" ? by.agent?.id : by.person?.name === undefined,
          by.kind === "agent" ? world.rootAgentId : false,
        );
      }
      const { timeline } = await board.call(approvals.approvalTimeline, { id, limit: 100 });
      assert.deepEqual(
        timeline.map(({ kind }) => kind),
        ["created", "comment", "comment", "revision_requested", "revised", "rejected"],
      );
      assert.deepEqual(
        timeline.map(({ by }) => by.kind),
        ["agent", "board", "agent", "board", "agent", "board"],
      );
      const changed = JSON.stringify(timeline[4]?.diff);
      assert.ok(changed.includes("First title") && changed.includes("Second title"), changed);
      assert.equal((await board.call(approvals.listRevisions, { id })).revisions.length, 2);
    }
  } finally {
    await world.close();
  }
});
