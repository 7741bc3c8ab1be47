import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Client,
  type ListChangedHandlers,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { createClient } from "../client/client.ts";
import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import { putMcpServer } from "../contract/servers.ts";
import { type Daemon, startDaemon } from "../daemon/daemon.ts";
import { mcpOverHttp } from "../testing/mcp-over-http.ts";
import { createOrganization, type Organization } from "../testing/organization.ts";

/** An MCP server of the SDK over HTTP with a growing list of tools. It speaks the newest revision and the older ones. */
async function growingServer() {
  const names = ["first"];
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: "growing", version: "1" },
      { capabilities: { tools: { listChanged: true }, prompts: { listChanged: true } } },
    );
    for (const name of names)
      server.registerTool(name, { description: name }, () => ({ content: [{ type: "text", text: name }] }));
    server.registerPrompt("ask", {}, () => ({ messages: [] }));
    return server;
  });
  return { ...(await mcpOverHttp(handler)), names, notify: handler.notify };
}

async function repeated(act: () => void, until: Promise<void>): Promise<void> {
  const beat = setInterval(act, 500);
  act();
  await until;
  clearInterval(beat);
}

describe("a changed list of tools at an MCP server behind the broker", () => {
  const home = mkdtempSync(join(tmpdir(), "agency-lists-"));
  const bugs: unknown[] = [];
  let growing: Awaited<ReturnType<typeof growingServer>>;
  let daemon: Daemon;
  let org: Organization;
  let agent: { id: string; token: string };

  before(async () => {
    growing = await growingServer();
    daemon = await startDaemon({ home, port: 0, schedule: false, log: (line) => bugs.push(line) });
    org = await createOrganization(daemon.store);
    agent = await org.agent("Ada");
    const board = createClient({ url: daemon.url, token: org.boardToken });
    const { companyId } = org;
    await board.call(putMcpServer, {
      companyId,
      name: "growing",
      config: { type: "http", url: growing.url },
    });
    await board.call(grantPermission, { companyId, to: agent.id, resource: "mcp:growing" });
  });
  after(async () => {
    await daemon.stop();
    await growing.stop();
    rmSync(home, { recursive: true, force: true });
    assert.deepEqual(bugs, []);
  });

  /** A client that hears of every change from now on. */
  async function connect(
    door: string,
    mode: "auto" | "legacy",
    changed: ListChangedHandlers,
    { token } = agent,
  ): Promise<Client> {
    const client = new Client(
      { name: "test", version: "1" },
      { versionNegotiation: { mode }, listChanged: changed },
    );
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const url = new URL(`${daemon.url}${door}`);
    const listening = Promise.withResolvers<void>();
    const hears = async (to: string | URL, request?: RequestInit): Promise<Response> => {
      const answer = await fetch(to, request);
      if (request?.method === "GET" || JSON.stringify(request?.body ?? "").includes("subscriptions/listen"))
        listening.resolve();
      return answer;
    };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit, fetch: hears }));
    await listening.promise;
    return client;
  }

  for (const [era, mode] of [
    ["2026-07-28", "auto"],
    ["2025-11-25 and older", "legacy"],
  ] as const)
    for (const [door, prefix] of [
      ["/mcp/growing", ""],
      ["/mcp", "growing__"],
    ] as const)
      test(`reaches a client of revision ${era} at ${door}`, async () => {
        const [tools, prompts] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const client = await connect(door, mode, {
          tools: { autoRefresh: false, onChanged: () => tools.resolve() },
          ...(prefix === "" && { prompts: { autoRefresh: false, onChanged: () => prompts.resolve() } }),
        });
        try {
          const names = async () => (await client.listTools()).tools.map(({ name }) => name);
          assert.ok((await names()).includes(`${prefix}first`));
          const added = `added-${mode}${prefix === "" ? "" : "-at-the-one-door"}`;
          growing.names.push(added);
          // A client hears only notices sent after its stream is open, and opening may take a moment.
          await repeated(() => growing.notify.toolsChanged(), tools.promise);
          while (!(await names()).includes(`${prefix}${added}`)) await sleep(100);
          const answer = await client.callTool({ name: `${prefix}${added}`, arguments: {} });
          assert.match(JSON.stringify(answer.content), new RegExp(added));
          if (prefix === "") await repeated(() => growing.notify.promptsChanged(), prompts.promise);
        } finally {
          await client.close();
        }
      });

  test("a server that an agent gains or loses changes the list at the one door", async () => {
    await Promise.all((["auto", "legacy"] as const).map(gainAndLose));

    async function gainAndLose(mode: "auto" | "legacy"): Promise<void> {
      const board = createClient({ url: daemon.url, token: org.boardToken });
      const { companyId } = org;
      const name = `second-${mode}`;
      // Each mode has a separate agent. Otherwise one test could hear the change of the other.
      const gainer = await org.agent(`Gainer ${mode}`);
      await board.call(putMcpServer, { companyId, name, config: { type: "http", url: growing.url } });
      let heard = Promise.withResolvers<void>();
      const changed = { autoRefresh: false, onChanged: () => heard.resolve() };
      const client = await connect("/mcp", mode, { tools: changed }, gainer);
      const sees = async (): Promise<boolean> =>
        (await client.listTools()).tools.some((tool) => tool.name === `${name}__first`);
      try {
        assert.equal(await sees(), false);
        const grant = await board.call(grantPermission, {
          companyId,
          to: gainer.id,
          resource: `mcp:${name}`,
        });
        await heard.promise;
        assert.equal(await sees(), true);
        heard = Promise.withResolvers<void>();
        await board.call(revokePermission, { id: grant.id });
        await heard.promise;
        assert.equal(await sees(), false);
      } finally {
        await client.close();
      }
    }
  });

  test("Agency's own tools that an agent gains or loses change the list at the one door", async () => {
    const board = createClient({ url: daemon.url, token: org.boardToken });
    const listeners = await Promise.all((["auto", "legacy"] as const).map(listener));
    const allHear = () => Promise.all(listeners.map(({ hears }) => hears()));
    const mayHire = () => Promise.all(listeners.map(({ mayHire }) => mayHire()));
    try {
      assert.deepEqual(await mayHire(), [false, false]);
      const gained = allHear();
      const { companyId } = org;
      const grant = await board.call(grantPermission, { companyId, to: agent.id, resource: "org:hire" });
      await gained;
      assert.deepEqual(await mayHire(), [true, true]);
      const lost = allHear();
      await board.call(revokePermission, { id: grant.id });
      await lost;
      assert.deepEqual(await mayHire(), [false, false]);
    } finally {
      for (const { client } of listeners) await client.close();
    }

    async function listener(mode: "auto" | "legacy") {
      let heard = Promise.withResolvers<void>();
      const client = await connect("/mcp", mode, {
        tools: { autoRefresh: false, onChanged: () => heard.resolve() },
      });
      const hears = (): Promise<void> => (heard = Promise.withResolvers()).promise;
      const mayHire = async (): Promise<boolean> =>
        (await client.listTools()).tools.some(({ name }) => name === "hire_agent");
      return { client, hears, mayHire };
    }
  });

  test("a caller has at most 50 streams open, and a client that wants only Agency's own tools has none", async () => {
    const other = await org.agent("Many");
    const open = async (headers: Record<string, string> = {}) => {
      const gone = new AbortController();
      const answer = await fetch(`${daemon.url}/mcp`, {
        headers: { authorization: `Bearer ${other.token}`, accept: "text/event-stream", ...headers },
        signal: gone.signal,
      });
      return { status: answer.status, gone, answer };
    };
    const streams = await Promise.all(Array.from({ length: 50 }, () => open()));
    assert.deepEqual([...new Set(streams.map(({ status }) => status))], [200]);
    const refused = await open();
    assert.equal(refused.status, 429);
    assert.match(await refused.answer.text(), /50 streams of notices/);
    assert.equal((await open({ "agency-tools": "own" })).status, 405);
    for (const { gone } of streams) gone.abort();
    let again = await open();
    for (; again.status !== 200; again = await open()) await sleep(100);
    again.gone.abort();
  });
});
