import type { CallToolResult, ServerCapabilities } from "@modelcontextprotocol/server";
import type { Operation } from "../contract/operation.ts";

/** The part of the broker (servers/broker.ts) that the doors need. */
export interface OutsideServers<H = unknown> {
  /** Checks the right to a server. Throws a refusal if it is missing. */
  allowed(token: string | undefined, as: string | undefined, server: string): Promise<H>;
  describe(held: H): Promise<{ capabilities: ServerCapabilities; instructions: string }>;
  tools(held: H): Promise<readonly OutsideTool[]>;
  allTools(token: string | undefined, as: string | undefined): Promise<readonly OutsideTool[]>;
  call(
    held: H,
    call: {
      readonly id: string;
      readonly tool: string;
      readonly arguments: Readonly<Record<string, unknown>>;
      /** Whether the client made this call before, with the same idempotency key. */
      readonly isRepeated: boolean;
      readonly gone: AbortSignal;
      readonly progress?: (update: { progress: number; total?: number; message?: string }) => void;
    },
  ): Promise<CallToolResult>;
  request(
    held: H,
    request: {
      readonly id: string;
      readonly method: string;
      readonly params?: Record<string, unknown>;
      readonly gone: AbortSignal;
    },
  ): Promise<Record<string, unknown>>;
  follow(held: H, listener: (method: string) => void): () => void;
  /** Calls the listener when the list of `allTools` changes. `look` also notices servers that the caller gained or lost. */
  followAll(
    token: string | undefined,
    as: string | undefined,
    listener: () => void,
  ): Promise<{ look(): Promise<void>; forget(): void }>;
  /** The operation that checks and records a call. */
  readonly use: Operation;
}

export interface OutsideTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object" } & Readonly<Record<string, unknown>>;
}
