import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { updateAgent } from "../src/contract/agents.ts";
import { grantPermission } from "../src/contract/capabilities.ts";
import { putMcpServer } from "../src/contract/servers.ts";
import { listAgentSessions, listSessions } from "../src/contract/sessions.ts";
import { tokensOf } from "./support/agents.ts";
import { rpc, rpcHeaders, send } from "./support/mcp.ts";
import { gone, sessionProcesses } from "./support/processes.ts";
import { withCrowd } from "./support/stops.ts";

describe("a running session whose settings change", () => {
  // covers CAP-20, CAP-21, CAP-22
  test("is told to stop, is stopped after 60 seconds, and the next one has the new settings", (t) =>
    withCrowd(t, { sandbox: "off", leads: 0, workers: 2 }, async ({ daemon, sessions, boss }) => {
      const { board, companyId, home, url } = daemon;
      const config = { type: "http" as const, url: "https://chat.example/mcp" };
      const [granted, changed] = sessions.filter(({ agentId }) => agentId !== boss.id);
      assert.ok(granted !== undefined && changed !== undefined);
      await board.call(putMcpServer, { companyId, name: "chat", config });
      const start = performance.now();
      await board.call(grantPermission, { companyId, to: granted.agentId, resource: "mcp:chat" });
      await board.call(updateAgent, { id: changed.agentId, prompt: "Wait in another way." });
      const concerned = [
        [granted, "the MCP servers it may use have changed"],
        [changed, "the agent's settings were changed"],
      ] as const;
      assert.equal(new Set(sessionProcesses(home).map(({ sessionId }) => sessionId)).size, sessions.length);
      for (const [session, reason] of concerned)
        await heard(url, session.token, new RegExp(`This session is stopped at .*, because ${reason}`));
      for (const [session, reason] of concerned) {
        const mine = () => sessionProcesses(home).filter(({ sessionId }) => sessionId === session.id);
        await gone(mine, 90_000, reason);
        const took = Math.round(performance.now() - start);
        t.diagnostic(`${reason}: no process ${took} ms after the change`);
        assert.ok(took >= 59_000, `it had only ${took} ms`);
        const ended = (await board.call(listAgentSessions, { id: session.agentId })).sessions;
        assert.equal(ended.find(({ id }) => id === session.id)?.endReason, reason);
      }
      await tokensOf(home, sessions.length + 2);
      const { sessions: live } = await board.call(listSessions, { companyId, live: true });
      const next = (agentId: string, file: string): string => {
        const session = live.find(({ agent }) => agent.id === agentId);
        return readFileSync(join(home, "workspaces", session?.id ?? "", file), "utf8");
      };
      const settings: unknown = JSON.parse(next(granted.agentId, ".mcp.json"));
      assert.equal(Object(settings).mcpServers.chat.url, `${url}/mcp/chat`);
      assert.match(next(changed.agentId, "system-prompt.md"), /Wait in another way\./);
      // The third session was not affected.
      const other = sessions.find(({ agentId }) => agentId === boss.id);
      assert.ok(sessionProcesses(home).some(({ sessionId }) => sessionId === other?.id));
    }));
});

/** Waits until a session reads this with the result of a tool call. */
async function heard(url: string, token: string, words: RegExp): Promise<void> {
  const body = rpc("tools/call", { name: "my_outcomes", arguments: {} });
  for (let tries = 0; ; tries++) {
    const { text } = await send(`${url}/mcp/outcome`, { headers: rpcHeaders(token), body });
    if (words.test(text)) return;
    if (tries === 500) assert.match(text, words);
    await sleep(200);
  }
}
