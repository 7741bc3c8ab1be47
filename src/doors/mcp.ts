import { JsonObject } from "../contract/words.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createMcpHandler,
  type McpHttpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from "@modelcontextprotocol/server";
import { outputSchema, toolSchema } from "../contract/json-schema.ts";
import { mcpServers, type McpServerName, type Operation, toolDescription } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { notFound, Refusal } from "../contract/refusal.ts";
import { readJson, type Room, roomFor } from "./body.ts";
import { bearer, type DoorParts, goneWith, holding, type OtherDoor, send } from "./http.ts";
import { answerTo, plainCallIn } from "./mcp-call.ts";
import { internalError, stillWaiting, toolsHere, unreadNotice } from "./texts.ts";

/**
 * The MCP door: one stateless streamable-HTTP endpoint per server, `/mcp/<server>`. The credential is checked before the
 * protocol handler sees the request, and again inside each call's transaction. A refusal is a tool result with isError: the
 * model must read why the call failed and what to do next.
 */
export interface McpParts extends DoorParts {
  /** How many messages the session has not read. A notice about them is added to every tool result. */
  readonly unread: (token: string | undefined) => Promise<number>;
}

export function mcpDoor(parts: McpParts): OtherDoor {
  const servers = new Map<string, ReturnType<typeof serve>>(
    mcpServers.map((name) => [name, serve(parts, name)]),
  );
  return {
    prefix: "/mcp",
    handle: async (request, response, url, account) => {
      const token = bearer(request);
      await parts.authenticate(token);
      const name = url.pathname.slice("/mcp/".length);
      const served = servers.get(name);
      if (served === undefined) throw notFound("MCP server", name.slice(0, 100));
      const held = holding(account, response);
      const body = request.method === "POST" ? await readJson(request, served.room, held) : undefined;
      const gone = goneWith(response);
      const call = plainCallIn(request, body);
      if (call !== undefined) {
        const answer = await answerTo(served.newServer(token, held.bytes), call, gone);
        if (answer !== undefined) send(response, 200, answer);
        return;
      }
      const webRequest = new Request(`http://localhost${url.pathname}`, {
        method: request.method ?? "GET",
        headers: headersOf(request),
        signal: gone,
        ...(body === undefined ? {} : { body: "{}" }),
      });
      const answer = await served.handler.fetch(webRequest, {
        authInfo: { token: token ?? "", clientId: "agency", scopes: [], extra: { bytes: held.bytes } },
        ...(body === undefined ? {} : { parsedBody: body }),
      });
      await relay(answer, response);
    },
  };
}

/** The tools of one server. Their inputs have no companyId, because the credential determines the company. */
export function toolsOf(server: McpServerName) {
  return operations
    .filter(({ mcp }) => mcp?.server === server)
    .map((operation) => ({ operation, tool: toolFor(operation) }));
}

function toolFor(operation: Operation) {
  const { input, effect } = operation;
  const withoutCompany = "companyId" in input.shape ? input.omit({ companyId: true }) : input;
  return {
    name: operation.mcp?.tool ?? operation.name,
    description: toolDescription(operation),
    inputSchema: { ...toolSchema(withoutCompany), type: "object" as const },
    outputSchema: { ...outputSchema(operation.output), type: "object" as const },
    annotations: { readOnlyHint: effect !== "write", destructiveHint: false, openWorldHint: false },
  };
}

/** One server. A protocol server is created for every request, with the caller's credential. */
function serve(
  parts: McpParts,
  name: McpServerName,
): {
  newServer: (token: string | undefined, bytes: number) => Server;
  handler: McpHttpHandler;
  room: Room;
} {
  const tools = toolsOf(name);
  const byName = new Map(tools.map(({ operation, tool }) => [tool.name, operation]));
  const list = tools.map(({ tool }) => tool);
  const room = roomFor(
    tools.map(({ operation }) => operation),
    parts.limits,
  );
  const newServer = (token: string | undefined, bytes: number): Server => {
    const server = new Server(
      { name: `agency-${name}`, version: parts.version },
      { capabilities: { tools: {} } },
    );
    server.setRequestHandler("tools/list", () => ({ tools: list }));
    server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
      const operation = byName.get(params.name);
      if (operation === undefined) throw unknownTool(params.name, [...byName.keys()]);
      try {
        const { progressToken } = params._meta ?? {};
        const output = await parts.dispatch(
          { operation, token, input: params.arguments ?? {}, key: keyIn(params._meta), bytes },
          {
            gone: mcpReq.signal,
            ...(progressToken === undefined
              ? {}
              : {
                  progress: (progress, total) =>
                    mcpReq.notify({
                      method: "notifications/progress",
                      params: { progressToken, progress, total, message: stillWaiting },
                    }),
                }),
          },
        );
        const unread = await parts.unread(token);
        return {
          content: [
            { type: "text" as const, text: JSON.stringify(output) },
            ...(unread === 0 ? [] : [{ type: "text" as const, text: unreadNotice(unread) }]),
          ],
          structuredContent: JsonObject.parse(output),
        };
      } catch (error) {
        if (error instanceof Refusal) return failed({ ...error.toBody() });
        return failed(internalError(parts.reportBug(error, `mcp ${params.name}`)));
      }
    });
    return server;
  };
  const handler = createMcpHandler(
    ({ authInfo }) => newServer(authInfo?.token, Number(authInfo?.extra?.["bytes"] ?? 0)),
    {
      maxRequestBodySize: room.bytes,
    },
  );
  return { newServer, handler, room };
}

/** An unknown tool is not a refusal: the protocol defines its own error for it. */
function unknownTool(name: string, known: readonly string[]): ProtocolError {
  const { message } = notFound("tool", name.slice(0, 100));
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `${message} ${toolsHere(known)}`);
}

function failed(body: Record<string, unknown>) {
  return {
    content: [{ type: "text" as const, text: JSON.stringify(body) }],
    structuredContent: body,
    isError: true,
  };
}

/** The key of a call. A client may repeat a lost call under a new request id, but these values stay the same. */
function keyIn(meta: Record<string, unknown> | undefined): string | undefined {
  for (const name of ["idempotencyKey", "agency/idempotencyKey", "claudecode/toolUseId"]) {
    const key = meta?.[name];
    if (typeof key === "string") return key;
  }
  return undefined;
}

function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const name of [
    "accept",
    "content-type",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-session-id",
    "last-event-id",
  ]) {
    const value = request.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  return headers;
}

async function relay(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body !== null) for await (const chunk of answer.body) response.write(chunk);
  response.end();
}
