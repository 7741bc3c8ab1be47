import type { Audience } from "../contract/operation.ts";
import { Refusal } from "../contract/refusal.ts";
import type { DoorParts } from "./http.ts";
import type { OutsideServers } from "./outside.ts";
import { internalError } from "./texts.ts";

export interface McpParts extends DoorParts {
  /** The audiences of the calling agent. Undefined for the board, which finds every tool. */
  readonly audiences: (
    token: string | undefined,
    as: string | undefined,
  ) => Promise<ReadonlySet<Audience> | undefined>;
  /**
   * Notices for the agent, added to the result of a call: changes of its work, unread messages, or that its session has to
   * stop.
   */
  readonly notices: (token: string | undefined, wasRefused: boolean) => Promise<readonly string[]>;
  /** The MCP servers that the company added. */
  readonly outside: OutsideServers;
}

/** The name of the server at `/mcp`, as it is in the path. */
export const allTools = "";

/** The notices after a call has succeeded or failed. If they fail, the answer still counts. */
export function noticesAfter(
  parts: McpParts,
  token: string | undefined,
  wasRefused: boolean,
): Promise<readonly string[]> {
  return parts.notices(token, wasRefused).catch((error: unknown) => {
    parts.reportBug(error, "notices");
    return [];
  });
}

/** The text of a refusal or a bug for a model. */
export async function refusedResult(
  parts: McpParts,
  error: unknown,
  server: string,
  about: string,
  token: string | undefined,
) {
  const isRefusal = error instanceof Refusal;
  const body = isRefusal ? { ...error.toBody() } : internalError(parts.reportBug(error, about));
  const notices = isRefusal ? await noticesAfter(parts, token, true) : [];
  return { ...toolResult(server, body, notices), isError: true };
}

/**
 * Notices follow the answer. Claude Code and Codex show a model only the structured content, so for sessions the notices are
 * there as well.
 */
export function toolResult(server: string, body: Record<string, unknown>, notices: readonly string[]) {
  const isTold = server === allTools && notices.length > 0;
  return {
    content: [JSON.stringify(body), ...notices].map((text) => ({ type: "text" as const, text })),
    structuredContent: isTold ? { ...body, notices } : body,
  };
}

/** The idempotency key of a call. A client may repeat a lost call under a new request id, but these values stay the same. */
export function keyIn(meta: Record<string, unknown> | undefined): string | undefined {
  for (const name of ["idempotencyKey", "agency/idempotencyKey", "claudecode/toolUseId"]) {
    const key = meta?.[name];
    if (typeof key === "string") return key;
  }
  return undefined;
}

/** The span of the caller, under the name that MCP reserves for it. */
export function traceIn(meta: Record<string, unknown> | undefined): string | undefined {
  const trace = meta?.["traceparent"];
  return typeof trace === "string" ? trace : undefined;
}
