import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type CallToolResult,
  createMcpHandler,
  InMemoryServerEventBus,
  isJSONRPCNotification,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { Refusal } from "../contract/refusal.ts";
import { JsonObject } from "../contract/words.ts";
import { goneWith } from "./answering.ts";
import { allTools, keyIn, type McpParts, refusedResult } from "./mcp-results.ts";

/**
 * The MCP servers that the company added, at the MCP doors: `/mcp/<server>`, and their tools as `<server>__<tool>` at `/mcp`.
 * This file only speaks the protocol. Dispatch checks the right and records the call (`use`), and the broker makes it.
 */
export interface OutsideCall {
  readonly server: string;
  readonly tool: string;
  readonly params: {
    arguments?: Record<string, unknown> | undefined;
    _meta?: ({ progressToken?: string | number | undefined } & Record<string, unknown>) | undefined;
  };
  readonly token: string | undefined;
  readonly as: string | undefined;
  readonly bytes: number;
  readonly signal: AbortSignal;
  readonly notify: (progress: Progress) => Promise<void>;
}

type Progress = {
  progressToken: string | number;
  progress: number;
  total?: number;
  message?: string;
};

const Opened = z.object({ call: z.string() });

/** Calls a tool of an outside server. A refusal is a result that the model can read, as at every MCP door. */
export async function callOutside(parts: McpParts, made: OutsideCall): Promise<CallToolResult> {
  const { server, tool, params, token, as, bytes, signal } = made;
  const { outside } = parts;
  try {
    const input = { name: server, tool, arguments: params.arguments ?? {} };
    const key = keyIn(params._meta);
    let isRepeated = false;
    const opened = await parts.dispatch({
      operation: outside.use,
      token,
      as,
      input,
      key,
      bytes,
      gone: signal,
      repeats: () => (isRepeated = true),
    });
    const held = await outside.allowed(token, as, server);
    const { progressToken } = params._meta ?? {};
    return await outside.call(held, {
      id: Opened.parse(opened).call,
      tool,
      arguments: params.arguments ?? {},
      isRepeated,
      gone: signal,
      ...(progressToken !== undefined && {
        progress: (update) => void made.notify({ progressToken, ...update }).catch(() => undefined),
      }),
    });
  } catch (error) {
    return refusedResult(parts, error, server, `mcp ${server}__${tool}`, token);
  }
}

/** Requests other than tool calls that are passed on to an outside server. */
const passedOn = {
  resources: ["resources/list", "resources/templates/list", "resources/read"],
  prompts: ["prompts/list", "prompts/get"],
  completions: ["completion/complete"],
} as const;

/** Running calls by caller and request. A client cancels a call with a separate notification. */
export type RunningCalls = Map<string, Set<AbortController>>;

export interface Visit {
  readonly running: RunningCalls;
  readonly server: string;
  readonly token: string | undefined;
  readonly as: string | undefined;
  readonly bytes: number;
}

/** A protocol server that stands for an outside server, for one request. */
export async function outsideServer(parts: McpParts, visit: Visit): Promise<Server> {
  const { server: name, token, as, bytes } = visit;
  const { outside } = parts;
  const held = await outside.allowed(token, as, name).catch(asProtocolError);
  const { capabilities, instructions } = await outside.describe(held);
  const offered = {
    tools: { listChanged: true },
    ...(capabilities.resources && { resources: { listChanged: true } }),
    ...(capabilities.prompts && { prompts: { listChanged: true } }),
    ...(capabilities.completions && { completions: {} }),
  };
  const server = new Server({ name, version: parts.version }, { capabilities: offered, instructions });
  server.setRequestHandler("tools/list", async () => ({
    tools: [...(await outside.tools(await outside.allowed(token, as, name).catch(asProtocolError)))],
  }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) =>
    callThrough(parts, visit, params, mcpReq),
  );
  const methods = Object.entries(passedOn).flatMap(([kind, some]) => (kind in offered ? [...some] : []));
  server.fallbackRequestHandler = async ({ method, params }, { mcpReq }) => {
    if (!methods.some((known) => known === method))
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `The server does not know ${method}.`);
    const uri = params?.["uri"] ?? params?.["name"];
    const gone = mcpReq.signal;
    const opened = await parts
      .dispatch({
        operation: outside.use,
        token,
        as,
        input: { name, tool: method, arguments: typeof uri === "string" ? { uri } : {} },
        bytes,
        gone,
      })
      .catch(asProtocolError);
    const again = await outside.allowed(token, as, name).catch(asProtocolError);
    const { call: id } = Opened.parse(opened);
    return outside
      .request(again, { id, method, gone, ...(params && { params: JsonObject.parse(params) }) })
      .catch(asProtocolError);
  };
  return server;
}

/** The protocol server for one plain call. It need not know the other abilities of the outside server. */
export function plainOutsideServer(parts: McpParts, visit: Visit): Server {
  const server = new Server({ name: visit.server, version: parts.version }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) =>
    callThrough(parts, visit, params, mcpReq),
  );
  return server;
}

function callThrough(
  parts: McpParts,
  visit: Visit,
  params: { name: string } & OutsideCall["params"],
  mcpReq: {
    readonly id: string | number;
    readonly signal: AbortSignal;
    readonly notify: (notification: { method: "notifications/progress"; params: Progress }) => Promise<void>;
  },
) {
  const { server, token, as, bytes } = visit;
  const cancelled = cancellable(visit, mcpReq.id);
  return callOutside(parts, {
    server,
    tool: params.name,
    params,
    token,
    as,
    bytes,
    signal: AbortSignal.any([mcpReq.signal, cancelled.signal]),
    notify: (progress) => mcpReq.notify({ method: "notifications/progress", params: progress }),
  }).finally(cancelled.forget);
}

function cancellable({ running, token, server }: Visit, id: unknown) {
  const key = JSON.stringify([token, server, id]);
  const controller = new AbortController();
  const all = running.get(key) ?? new Set();
  running.set(key, all.add(controller));
  return {
    signal: controller.signal,
    forget: (): void => {
      all.delete(controller);
      if (all.size === 0) running.delete(key);
    },
  };
}

const Cancelled = z.object({ requestId: z.union([z.string(), z.number()]) });

/** Cancels the call that a notification names. Returns false if the body is something else. */
export function cancelIn(body: unknown, { running, token, server }: Visit): boolean {
  if (!isJSONRPCNotification(body) || body.method !== "notifications/cancelled") return false;
  const { requestId } = Cancelled.safeParse(body.params).data ?? {};
  for (const controller of running.get(JSON.stringify([token, server, requestId])) ?? []) controller.abort();
  return true;
}

/**
 * `GET`: a stream of notices that a list has changed. It lasts as long as the caller may use the server; at `/mcp`, as long as
 * its credential is valid.
 */
export async function listenOutside(
  parts: McpParts,
  visit: Visit,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { look, forget } = await following(parts, visit, (method) =>
    response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", method })}\n\n`),
  );
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(": open\n\n");
  const check = setInterval(() => {
    look().then(
      () => response.write(": still open\n\n"),
      () => response.end(),
    );
  }, listenCheck);
  check.unref();
  const gone = goneWith(response);
  await new Promise<void>((resolve) => {
    response.once("close", resolve);
    gone.addEventListener("abort", () => resolve());
    request.once("close", resolve);
  });
  clearInterval(check);
  forget();
}

const listenCheck = 5000;

/** Follows one server or, at `/mcp`, the caller's whole list of tools. `look` throws when the caller has lost its right. */
async function following(
  { outside, audiences }: McpParts,
  { server, token, as }: Visit,
  say: (method: string) => void,
): Promise<{ look: () => Promise<unknown>; forget: () => void }> {
  if (server === allTools) {
    const changed = (): void => say("notifications/tools/list_changed");
    const own = async (): Promise<string> => [...((await audiences(token, as)) ?? [])].join();
    let listed = await own();
    const others = await outside.followAll(token, as, changed);
    const lookAtOwn = async (): Promise<void> => {
      const now = await own();
      if (now !== listed) changed();
      listed = now;
    };
    return { look: () => Promise.all([others.look(), lookAtOwn()]), forget: () => others.forget() };
  }
  const held = await outside.allowed(token, as, server);
  return { look: () => outside.allowed(token, as, server), forget: outside.follow(held, say) };
}

/** The handler for everything that is not a plain call. */
export async function outsideHandler(parts: McpParts, visit: Visit, most: number) {
  // A client that can't connect tells its user. An empty list of tools would look like a working server.
  await parts.outside.describe(await parts.outside.allowed(visit.token, visit.as, visit.server));
  return subscribable(parts, visit, most, () => outsideServer(parts, visit));
}

/** A handler whose bus carries the changes of lists to subscribed clients. */
export async function subscribable(
  parts: McpParts,
  visit: Visit,
  most: number,
  newServer: () => Server | Promise<Server>,
) {
  const bus = new InMemoryServerEventBus();
  const { look, forget } = await following(parts, visit, (method) => {
    if (method === "notifications/tools/list_changed") bus.publish({ kind: "tools_list_changed" });
    if (method === "notifications/prompts/list_changed") bus.publish({ kind: "prompts_list_changed" });
    if (method === "notifications/resources/list_changed") bus.publish({ kind: "resources_list_changed" });
  });
  const check = setInterval(() => void look().catch(() => clearInterval(check)), listenCheck);
  check.unref();
  return {
    handler: createMcpHandler(newServer, { maxRequestBodySize: most, bus }),
    forget: (): void => {
      clearInterval(check);
      forget();
    },
  };
}

function asProtocolError(error: unknown): never {
  if (!(error instanceof Refusal)) throw error;
  const { message, hint } = error.toBody().error;
  throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `${message} ${hint}`);
}
