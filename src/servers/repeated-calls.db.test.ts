import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { grantPermission } from "../contract/capabilities.ts";
import { putMcpServer } from "../contract/servers.ts";
import { type Daemon, startDaemon } from "../daemon/daemon.ts";
import { mcpOverHttp } from "../testing/mcp-over-http.ts";
import { createOrganization } from "../testing/organization.ts";

/** An MCP server that counts what it does. A slow call ends when its gate opens. */
async function countingServer() {
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "counting", version: "1" });
    const words = { inputSchema: z.object({ what: z.string() }) };
    const answer = (what: string) => ({
      content: [{ type: "text" as const, text: `${what}: ${done.push(what)}` }],
    });
    server.registerTool("send", words, ({ what }) => answer(what));
    server.registerTool("send-slowly", words, async ({ what }) => {
      const sent = answer(what);
      await gate.promise;
      return sent;
    });
    return server;
  });
  const countOf = (what: string): number => done.filter((one) => one === what).length;
  return { ...(await mcpOverHttp(handler)), countOf, open: () => gate.resolve() };
}

describe("a call of an MCP server that a client repeats with its idempotency key", () => {
  const home = mkdtempSync(join(tmpdir(), "agency-repeats-"));
  const start = () => startDaemon({ home, port: 0, schedule: false, log: () => undefined });
  let counting: Awaited<ReturnType<typeof countingServer>>;
  let daemon: Daemon;
  let token: string;

  before(async () => {
    counting = await countingServer();
    daemon = await start();
    const org = await createOrganization(daemon.store);
    const agent = await org.agent("Ada");
    ({ token } = agent);
    const board = createClient({ url: daemon.url, token: org.boardToken });
    const { companyId } = org;
    const config = { type: "http" as const, url: counting.url };
    await board.call(putMcpServer, { companyId, name: "counting", config });
    await board.call(grantPermission, { companyId, to: agent.id, resource: "mcp:counting" });
  });
  after(async () => {
    counting.open();
    await daemon.stop();
    await counting.stop();
    rmSync(home, { recursive: true, force: true });
  });

  let requests = 0;
  async function call(what: string, key: string, name = "send"): Promise<string> {
    const answer = await fetch(`${daemon.url}/mcp/counting`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        // A client repeats a call under a new id, which may be longer.
        id: 10 ** (requests++ % 9),
        method: "tools/call",
        params: { name, arguments: { what }, _meta: { idempotencyKey: key } },
      }),
    });
    return answer.text();
  }
  const notKept = /made before, and its answer is not kept any more/;

  test("joins the first call while that runs, however many other calls end meanwhile", async () => {
    const first = call("slow", "key-slow", "send-slowly");
    for (let at = 0; at < 60; at += 10)
      await Promise.all(Array.from({ length: 10 }, (_, n) => call(`other ${at + n}`, `key-${at + n}`)));
    const again = call("slow", "key-slow", "send-slowly");
    // This call is made after the repeated one.
    await call("last", "key-last");
    counting.open();
    for (const answer of await Promise.all([first, again])) assert.match(answer, /slow: \d/);
    assert.equal(counting.countOf("slow"), 1);
  });

  test("is not made again when its answer is not kept any more", async () => {
    assert.match(await call("other 0", "key-0"), notKept);
    assert.equal(counting.countOf("other 0"), 1);
  });

  test("is not made again after a restart of the daemon", async () => {
    assert.match(await call("last", "key-last"), /last: \d/);
    await daemon.stop();
    daemon = await start();
    assert.match(await call("last", "key-last"), notKept);
    assert.match(await call("new", "key-new"), /new: \d/);
    assert.deepEqual([counting.countOf("last"), counting.countOf("new")], [1, 1]);
  });
});
