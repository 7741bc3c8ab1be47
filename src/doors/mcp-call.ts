import type { IncomingMessage } from "node:http";
import {
  classifyInboundRequest,
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  isJSONRPCErrorResponse,
  isJsonContentType,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from "@modelcontextprotocol/server";
import { headerOf } from "./http.ts";

/**
 * Nearly every MCP request is a single tool call by a client that speaks a 2025 revision of the protocol. The SDK's HTTP
 * transport answers it through a web Request, two streams and a Response, which takes more time than most calls. A plain, valid
 * call therefore goes directly to the protocol server, and its answer is sent as JSON. Everything else (another method, a later
 * revision, any mistake) is left to the transport.
 */
export function plainCallIn(request: IncomingMessage, body: unknown): JSONRPCRequest | undefined {
  const { accept = "", "content-type": type } = request.headers;
  const version = headerOf(request, "mcp-protocol-version");
  const isPlain =
    request.method === "POST" &&
    isJSONRPCRequest(body) &&
    body.method === "tools/call" &&
    // Progress notices need a stream.
    body.params?._meta?.progressToken === undefined &&
    accept.includes("application/json") &&
    accept.includes("text/event-stream") &&
    isJsonContentType(type) &&
    SUPPORTED_PROTOCOL_VERSIONS.includes(version ?? DEFAULT_NEGOTIATED_PROTOCOL_VERSION) &&
    routeOf(request, body) === "legacy";
  return isPlain ? body : undefined;
}

/** The SDK calls the 2025 revisions "legacy". */
function routeOf(request: IncomingMessage, body: JSONRPCRequest): "legacy" | "modern" | "reject" {
  const version = headerOf(request, "mcp-protocol-version");
  const method = headerOf(request, "mcp-method");
  const name = headerOf(request, "mcp-name");
  return classifyInboundRequest({
    httpMethod: "POST",
    ...(version === undefined ? {} : { protocolVersionHeader: version }),
    ...(method === undefined ? {} : { mcpMethodHeader: method }),
    ...(name === undefined ? {} : { mcpNameHeader: name }),
    body,
  }).kind;
}

/** The server's answer to one call. Its other messages are dropped, because there is no stream for them. */
export async function answerTo(
  server: Server,
  call: JSONRPCRequest,
  gone: AbortSignal,
): Promise<JSONRPCMessage | undefined> {
  const answer = Promise.withResolvers<JSONRPCMessage | undefined>();
  const transport: Transport = {
    start: async () => undefined,
    close: async () => transport.onclose?.(),
    send: async (message) => {
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) answer.resolve(message);
    },
  };
  gone.addEventListener("abort", () => answer.resolve(undefined));
  await server.connect(transport);
  transport.onmessage?.(call);
  try {
    return await answer.promise;
  } finally {
    await server.close();
  }
}
