import { JsonObject } from "../contract/words.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createMcpHandler,
  isJSONRPCRequest,
  type McpHttpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from "@modelcontextprotocol/server";
import { inMap } from "../contract/in-map.ts";
import { toolSchema } from "../contract/json-schema.ts";
import { mcpServers, type Operation, type Audience, toolDescription } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { notFound } from "../contract/refusal.ts";
import { readJson, type Room, roomFor } from "./body.ts";
import { bearer, positionIn } from "./credential.ts";
import { goneWith, sendBody } from "./answering.ts";
import { headerOf, holding, type OtherDoor } from "./http.ts";
import { answerTo, plainCallIn } from "./mcp-call.ts";
import {
  allTools,
  keyIn,
  type McpParts,
  noticesAfter,
  refusedResult,
  toolResult,
  traceIn,
} from "./mcp-results.ts";
import {
  callOutside,
  cancelIn,
  listenOutside,
  outsideHandler,
  plainOutsideServer,
  type RunningCalls,
  subscribable,
} from "./outside-servers.ts";
import { instructionsOf, stillWaiting, toolsHere } from "./texts.ts";

const eventStream = "text/event-stream";

/**
 * The MCP door: `/mcp` with all tools, and `/mcp/<server>` with those of one server, each a stateless streamable-HTTP endpoint.
 * The credential is checked before the protocol handler sees the request, and again inside each call's transaction. A refusal
 * is a tool result with isError: the model must read why the call failed and what to do next.
 *
 * `tools/list` shows an agent only the tools that are for it (`for` in the declaration). An agent can call other tools too, and the
 * same rules refuse it. A client sees a change of its list when it lists the tools again, usually in the next session.
 */
export function mcpDoor(parts: McpParts): OtherDoor {
  const servers = new Map<string, ReturnType<typeof serve>>(
    [allTools, ...mcpServers].map((name) => [name, serve(parts, name)]),
  );
  const running: RunningCalls = new Map();
  const outsideRoom = roomFor([], parts.limits);
  return {
    prefix: "/mcp",
    handle: async (request, response, url, account) => {
      const token = bearer(request);
      const as = positionIn(request);
      await parts.authenticate(token);
      const name = url.pathname.slice("/mcp/".length);
      const served = servers.get(name);
      const held = holding(account, response);
      const room = served?.room ?? outsideRoom;
      const body = request.method === "POST" ? await readJson(request, room, held) : undefined;
      const gone = goneWith(response);
      const visit = { server: name.slice(0, 100), token, as, bytes: held.bytes, running };
      const call = plainCallIn(request, body);
      if (call !== undefined) {
        const server = served?.newServer(token, as, held.bytes) ?? plainOutsideServer(parts, visit);
        const answer = await answerTo(server, call, gone);
        if (answer !== undefined) sendBody(response, 200, answer);
        return;
      }
      // A session that connects to each of its servers separately does not need their tools here as well.
      const ownOnly = headerOf(request, "agency-tools") === "own";
      const hasLists = served === undefined || (name === allTools && !ownOnly);
      const isStream = request.method === "GET" && request.headers.accept?.includes(eventStream) === true;
      const isListening = hasLists && (isStream || isSubscription(body));
      if (isListening) {
        const ended = await account.listen(request.socket);
        if (response.destroyed) return ended();
        response.once("close", ended);
      }
      if (isListening && isStream) return listenOutside(parts, visit, request, response);
      if (served === undefined) cancelIn(body, visit);
      const following =
        served === undefined
          ? await outsideHandler(parts, visit, room.bytes)
          : isListening
            ? await subscribable(parts, visit, room.bytes, () =>
                served.newServer(token, as, held.bytes, false, true),
              )
            : undefined;
      if (following !== undefined) response.once("close", following.forget);
      const handler = following?.handler ?? served?.handler;
      const webRequest = new Request(`http://localhost${url.pathname}`, {
        method: request.method ?? "GET",
        headers: headersOf(request),
        signal: gone,
        ...(body === undefined ? {} : { body: "{}" }),
      });
      const extra = { bytes: held.bytes, as, ownOnly };
      const answer = await handler?.fetch(webRequest, {
        authInfo: { token: token ?? "", clientId: "agency", scopes: [], extra },
        ...(body === undefined ? {} : { parsedBody: body }),
      });
      if (answer !== undefined) await relay(answer, response);
    },
  };
}

/** The tools of a server, as agents find them. At `/mcp` these are the tools for sessions. */
export function toolsOf(server: string) {
  return operations
    .filter(({ mcp }) => mcp !== undefined && (server === allTools || mcp.server === server))
    .map((operation) => ({
      operation,
      tool: server === allTools ? toolFor(operation, "sessions") : toolForOthers(operation),
    }));
}

/** Every audience that an agent can belong to. An agent in all of them has the longest list. */
export const audiencesOfAgents: readonly Audience[] = [
  ...new Set(operations.flatMap(({ mcp }) => mcp?.for ?? [])),
].filter((audience) => audience !== "person");

/** Whether an agent finds the tool in its list. */
export function isListed({ mcp }: Operation, audiences: ReadonlySet<Audience> | undefined): boolean {
  return mcp?.for === undefined || audiences === undefined || mcp.for.some((one) => audiences.has(one));
}

function toolFor(operation: Operation, forWhom: "sessions" | "others") {
  return {
    name: operation.mcp?.tool ?? operation.name,
    description: toolDescription(operation),
    inputSchema: { ...toolSchema(operation.input, forWhom), type: "object" as const },
  };
}

const toolsForOthers = new Map<Operation, ReturnType<typeof toolFor>>();

function toolForOthers(operation: Operation) {
  return inMap(toolsForOthers, operation, () => toolFor(operation, "others"));
}

/**
 * The hint is for a person's client, which asks the person before it calls a tool that writes. A session's client calls every
 * tool without asking.
 */
function withHint({ operation }: ReturnType<typeof toolsOf>[number]) {
  const tool = toolForOthers(operation);
  return operation.effect === "write" ? tool : { ...tool, annotations: { readOnlyHint: true } };
}

/** Serves one server. A protocol server is created for every request, with the caller's credential. */
function serve(
  parts: McpParts,
  name: string,
): {
  newServer: (
    token: string | undefined,
    as: string | undefined,
    bytes: number,
    isOwnOnly?: boolean,
    announces?: boolean,
  ) => Server;
  handler: McpHttpHandler;
  room: Room;
} {
  const tools = toolsOf(name);
  const byName = new Map(tools.map(({ operation, tool }) => [tool.name, operation]));
  const listFor = async (token: string | undefined, as: string | undefined, isOwnOnly = true) => {
    const audiences = await parts.audiences(token, as);
    const own = tools
      .filter(({ operation }) => isListed(operation, audiences))
      .map((one) => (audiences === undefined ? withHint(one) : one.tool));
    return isOwnOnly || name !== allTools ? own : [...own, ...(await parts.outside.allTools(token, as))];
  };
  const room = roomFor(
    tools.map(({ operation }) => operation),
    parts.limits,
  );
  const newServer = (
    token: string | undefined,
    as: string | undefined,
    bytes: number,
    isOwnOnly = true,
    announces = false,
  ): Server => {
    const server = new Server(
      { name: name === allTools ? "agency" : `agency-${name}`, version: parts.version },
      {
        capabilities: { tools: announces ? { listChanged: true } : {} },
        instructions: instructionsOf(name),
      },
    );
    server.setRequestHandler("tools/list", async () => ({ tools: await listFor(token, as, isOwnOnly) }));
    server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
      const operation = byName.get(params.name);
      const [server = "", tool] = params.name.split(/__(.*)/s, 2);
      if (operation === undefined && name === allTools && tool !== undefined)
        return callOutside(parts, {
          server,
          tool,
          params,
          token,
          as,
          bytes,
          signal: mcpReq.signal,
          notify: (progress) => mcpReq.notify({ method: "notifications/progress", params: progress }),
        });
      if (operation === undefined)
        throw unknownTool(
          params.name,
          (await listFor(token, as)).map((tool) => tool.name),
        );
      try {
        const { progressToken } = params._meta ?? {};
        const output = await parts.dispatch(
          {
            operation,
            token,
            as,
            input: params.arguments ?? {},
            key: keyIn(params._meta),
            trace: traceIn(params._meta),
            bytes,
            gone: mcpReq.signal,
          },
          progressToken === undefined
            ? {}
            : {
                progress: (progress, total) =>
                  mcpReq.notify({
                    method: "notifications/progress",
                    params: { progressToken, progress, total, message: stillWaiting },
                  }),
              },
        );
        return toolResult(name, JsonObject.parse(output), await noticesAfter(parts, token, false));
      } catch (error) {
        return refusedResult(parts, error, name, `mcp ${params.name}`, token);
      }
    });
    return server;
  };
  const handler = createMcpHandler(
    async ({ authInfo }) => {
      const { bytes, as, ownOnly } = authInfo?.extra ?? {};
      const position = typeof as === "string" ? as : undefined;
      const isOwnOnly = ownOnly === true || name !== allTools;
      // The list of a person never changes.
      const announces = !isOwnOnly && (await parts.audiences(authInfo?.token, position)) !== undefined;
      return newServer(authInfo?.token, position, Number(bytes ?? 0), isOwnOnly, announces);
    },
    {
      maxRequestBodySize: room.bytes,
    },
  );
  return { newServer, handler, room };
}

/** Whether a client of the newest revision subscribes to changes. */
const isSubscription = (body: unknown): boolean =>
  isJSONRPCRequest(body) && body.method === "subscriptions/listen";

/** An unknown tool is not refused like other calls: the protocol defines an error for it. */
function unknownTool(name: string, known: readonly string[]): ProtocolError {
  const { message } = notFound("tool", name.slice(0, 100));
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `${message} ${toolsHere(known)}`);
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
