// The MCP door below the tools: credentials, forged headers, wrong messages, and revisions of the protocol.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ProtocolError } from "@modelcontextprotocol/client";
import { z } from "zod";
import { McpWorld, revisions, rpc, rpcHeaders, send } from "./support/mcp.ts";

let world: McpWorld;

before(async () => {
  world = await McpWorld.open();
});

after(() => world.close());

test("no request without a valid token reaches the protocol, whatever it contains", async () => {
  const { token } = await world.agent();
  const bodies = [rpc("ping"), rpc("tools/list"), "{ not json", "[".repeat(100), ""];
  const good = rpcHeaders(token);
  const { authorization: _, ...none } = good;
  for (const headers of [
    none,
    { ...good, authorization: `Bearer ${token}x` },
    { ...good, authorization: `Basic ${token}` },
    { ...good, authorization: token },
    { ...none, cookie: `token=${token}` },
  ])
    for (const body of bodies)
      for (const path of ["/mcp", "/mcp/kb", "/mcp/nothing", `/mcp/kb?token=${token}`]) {
        const answer = await send(world.daemon.url + path, { headers, body });
        assert.equal(answer.status, 401, `${path} ${body.slice(0, 20)}`);
        assert.match(answer.text, /^\{"error":\{"code":"unauthenticated"/);
      }
  for (const method of ["GET", "DELETE", "PUT", "OPTIONS"])
    assert.equal((await send(`${world.daemon.url}/mcp/kb`, { method, headers: none })).status, 401, method);
  assert.equal((await send(`${world.daemon.url}/mcp/kb`, { headers: good, body: rpc("ping") })).status, 200);
});

test("a Host or Origin other than the daemon's own is refused before the token is checked", async () => {
  const { token } = await world.agent();
  const { port } = new URL(world.daemon.url);
  const status = async (headers: Record<string, string>): Promise<number> =>
    (
      await send(`${world.daemon.url}/mcp/kb`, {
        headers: { ...rpcHeaders(token), ...headers },
        body: rpc("ping"),
      })
    ).status;
  for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1.evil.example:${port}`])
    assert.equal(await status({ host }), 403, host);
  for (const origin of ["http://evil.example", "null", `https://127.0.0.1:${port}`, "http://127.0.0.1:1"])
    assert.equal(await status({ origin }), 403, origin);
  assert.equal(await status({ host: "evil.example", authorization: "" }), 403);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`])
    assert.equal(await status({ host, origin: `http://localhost:${port}` }), 200, host);
});

test("calling an unknown tool is a protocol error that names the existing tools", async () => {
  const { token } = await world.agent();
  for (const revision of revisions)
    await assert.rejects(
      async () => (await world.connect("audit", token, revision)).callTool({ name: "rm_rf", arguments: {} }),
      (error) => {
        assert.ok(error instanceof ProtocolError);
        assert.equal(error.code, -32602);
        assert.match(
          error.message,
          /There is no tool rm_rf\. This server has the tools submit_summary, read_audit_log\./,
        );
        return true;
      },
    );
  const elsewhere = await send(`${world.daemon.url}/mcp/nothing`, {
    headers: rpcHeaders(token),
    body: rpc("ping"),
  });
  assert.equal(elsewhere.status, 404);
  assert.match(elsewhere.text, /"code":"not_found"/);
});

test("a request that isn't JSON-RPC is refused, and the server keeps running", async () => {
  const { token } = await world.agent();
  const headers = rpcHeaders(token);
  const post = (body: string | Buffer, more: Record<string, string> = {}) =>
    send(`${world.daemon.url}/mcp/kb`, { headers: { ...headers, ...more }, body });
  for (const body of [
    "",
    "{",
    "null",
    '"ping"',
    "{}",
    "[]",
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":7}',
    "[".repeat(40) + "]".repeat(40),
    Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  ]) {
    const { status, text } = await post(body);
    assert.ok(
      status >= 400 && status < 500,
      `${status} for ${body.toString().slice(0, 50)}: ${text.slice(0, 200)}`,
    );
    assert.match(text, /"(?:code|error)":/);
  }
  const unknown = await post(rpc("tools/destroy"));
  assert.equal(Rpc.parse(unknown.json).error?.code, -32601);
  const wrong = await post(rpc("tools/call", { name: 7 }));
  assert.equal(Rpc.parse(wrong.json).error?.code, -32602);
  assert.equal((await post(rpc("ping"), { accept: "text/html" })).status, 406);
  assert.equal((await post(rpc("ping"), { "content-type": "text/plain" })).status, 415);
  for (const method of ["GET", "DELETE", "PUT"])
    assert.equal((await send(`${world.daemon.url}/mcp/kb`, { method, headers })).status, 405, method);
  const large = await post(Buffer.alloc(65 * 1024 * 1024, 0x20));
  assert.equal(large.status, 413);
  assert.deepEqual(Rpc.parse((await post(rpc("ping"))).json).result, {});
});

test("older clients get the handshake in their revision, clients of unknown revisions in ours", async () => {
  const { token } = await world.agent();
  const initialize = async (protocolVersion: string): Promise<unknown> => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "old", version: "1" } };
    const { "mcp-protocol-version": _, ...headers } = rpcHeaders(token);
    const { json, status } = await send(`${world.daemon.url}/mcp/kb`, {
      headers,
      body: rpc("initialize", params),
    });
    assert.equal(status, 200);
    return Rpc.parse(json).result?.["protocolVersion"];
  };
  for (const revision of revisions.slice(0, 3)) assert.equal(await initialize(revision), revision);
  assert.equal(await initialize("1999-01-01"), "2025-11-25");
  const initialized = await send(`${world.daemon.url}/mcp/kb`, {
    headers: rpcHeaders(token, "2025-06-18"),
    body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
  });
  assert.deepEqual([initialized.status, initialized.text], [202, ""]);
});

test("in the newest revision the headers must match the body", async () => {
  const { token } = await world.agent();
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = rpc("tools/call", { name: "browse_files", arguments: {}, _meta: meta });
  const code = async (more: Record<string, string>, sent = body): Promise<number | undefined> => {
    const headers = { ...rpcHeaders(token, "2026-07-28"), ...more };
    return Rpc.parse((await send(`${world.daemon.url}/mcp/kb`, { headers, body: sent })).json).error?.code;
  };
  const named = { "mcp-method": "tools/call", "mcp-name": "browse_files" };
  assert.equal(await code(named), undefined);
  assert.equal(await code({ ...named, "mcp-name": "create_file" }), -32020);
  assert.equal(await code({ ...named, "mcp-method": "tools/list" }), -32020);
  assert.equal(await code({}), -32020);
  assert.equal(await code(named, rpc("tools/call", { name: "browse_files", arguments: {} })), -32602);
});

const Rpc = z.object({
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});
