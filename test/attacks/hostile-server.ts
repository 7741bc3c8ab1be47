// An MCP server over HTTP that misbehaves as an attack tells it to. It is written by hand: a library would not send such
// answers.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { z } from "zod";
import { type Client, createClient } from "../../src/client/client.ts";
import { grantPermission } from "../../src/contract/capabilities.ts";
import { putMcpServer, removeMcpServer, type RemoteConfig } from "../../src/contract/servers.ts";
import type { Place } from "./attack.ts";

export interface Hostile {
  /** The tools that the server lists. */
  tools: Record<string, unknown>[];
  /** The answer to a call. With undefined, the server never answers. */
  answer: (tool: string, args: Record<string, unknown>) => unknown;
  /** Takes over a whole request. Returns true if it did. */
  takeOver?: (request: IncomingMessage, response: ServerResponse, method: string) => boolean;
  /** The methods of the requests so far. */
  readonly asked: string[];
  readonly headers: Record<string, unknown>[];
}

export interface Scene {
  readonly hostile: Hostile;
  readonly name: string;
  readonly url: string;
  /** The board, through the daemon's door. */
  readonly board: Client;
  readonly companyId: string;
  /** The agent's right to the server. */
  readonly grantId: string;
  /** A request of the protocol by the agent, at the door of the server. */
  readonly rpc: (method: string, params?: unknown, path?: string) => Promise<string>;
  readonly call: (tool: string, args?: Record<string, unknown>) => Promise<string>;
  /** Sends a text to all open streams. */
  readonly push: (text: string) => void;
}

const Message = z.looseObject({
  id: z.unknown().optional(),
  method: z.string(),
  params: z.looseObject({}).optional(),
});
export const plainTool = (name: string, description = "Does something."): Record<string, unknown> => ({
  name,
  description,
  inputSchema: { type: "object" },
});

/** Runs an attack with such a server. The boss of the world has the right to use it. */
export async function withHostile(
  { daemon, world }: Place,
  run: (scene: Scene) => Promise<void>,
  config: (url: string) => RemoteConfig = (url) => ({ type: "http", url }),
): Promise<void> {
  const streams = new Set<ServerResponse>();
  const hostile: Hostile = {
    tools: [plainTool("echo")],
    answer: (_, args) => ({ content: [{ type: "text", text: JSON.stringify(args) }] }),
    asked: [],
    headers: [],
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    hostile.headers.push(request.headers);
    if (request.method === "GET") {
      if (hostile.takeOver?.(request, response, "GET") === true) return;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      streams.add(response);
      return;
    }
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = Message.parse(JSON.parse(Buffer.concat(chunks).toString("utf8")));
    hostile.asked.push(method);
    if (hostile.takeOver?.(request, response, method) === true) return;
    if (id === undefined) return void response.writeHead(202).end();
    const answer = (result: unknown): void => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...Object(result) }));
    };
    if (method === "initialize")
      return answer({
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: { listChanged: true }, resources: {} },
          serverInfo: { name: "hostile", version: "1" },
        },
      });
    if (method === "tools/list") return answer({ result: { tools: hostile.tools } });
    if (method === "resources/read")
      return answer({ result: { contents: [{ uri: "x:y", text: "an open text" }] } });
    if (method !== "tools/call") return answer({ error: { code: -32601, message: "unknown" } });
    const args = z.looseObject({}).parse(params?.["arguments"] ?? {});
    const result = hostile.answer(String(params?.["name"]), args);
    if (result instanceof Error) answer({ error: { code: -32000, message: result.message } });
    else if (result !== undefined) answer({ result });
  };
  const server = createServer(
    (request, response) => void handle(request, response).catch(() => response.destroy()),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/mcp`;
  const board = createClient({ url: daemon.url, token: world.tokens.board });
  const { companyId } = world.org;
  const name = `hostile-${world.name().replace(/\W/g, "")}`;
  const rpc = async (method: string, params: unknown = {}, path = `/mcp/${name}`): Promise<string> => {
    const answer = await fetch(daemon.url + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${world.tokens.boss}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const text = await answer.text();
    // Some answers come as the only event of a stream.
    return /^data: (.*)$/m.exec(text)?.[1] ?? text;
  };
  try {
    await board.call(putMcpServer, { companyId, name, config: config(url) });
    const { id: grantId } = await board.call(grantPermission, {
      companyId,
      to: world.boss.id,
      resource: `mcp:${name}`,
    });
    await run({
      hostile,
      name,
      url,
      board,
      companyId,
      grantId,
      rpc,
      call: (tool, args = {}) => rpc("tools/call", { name: tool, arguments: args }),
      push: (text) => {
        for (const stream of streams) stream.write(text);
      },
    });
  } finally {
    await board.call(removeMcpServer, { companyId, name });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
