import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { z } from "zod";
import { expanded, ownServer, serversIn, type SessionServer } from "../mcp-config.ts";
import type { SessionTool, ToolAnswer } from "./own-tools.ts";

/** The tools of the session's MCP servers (.mcp.json) for the model. */
export interface ConnectedServers {
  readonly tools: SessionTool[];
  readonly failed: readonly FailedServer[];
}

export interface FailedServer {
  readonly name: string;
  readonly says: string;
  /** True for Agency's own server. Without its tools no agent can work. */
  readonly isOwn: boolean;
}

const connectMilliseconds = 30_000;
/** A call may wait for a person. The server reports every few seconds that the call still runs. */
const callMilliseconds = 60 * 60_000;

export async function connectServers(file: string): Promise<ConnectedServers> {
  const servers = serversIn(file);
  const found = await Promise.all(
    servers.map(async ([name, server]) => {
      const isOwn = name === ownServer;
      try {
        return { tools: await toolsFrom(server, isOwn ? "" : `${name}__`), failed: [] };
      } catch (error) {
        return { tools: [], failed: [{ name, isOwn, says: messageOf(error) }] };
      }
    }),
  );
  return {
    tools: found.flatMap(({ tools }) => tools),
    failed: found.flatMap(({ failed }) => failed),
  };
}

async function toolsFrom(server: SessionServer, prefix: string): Promise<SessionTool[]> {
  const client = new Client({ name: "agency-session", version: "1" });
  await client.connect(await transportOf(server), { timeout: connectMilliseconds });
  const { tools } = await client.listTools(undefined, { timeout: connectMilliseconds });
  return tools.map(({ name, description = "", inputSchema }) => ({
    name: `${prefix}${name}`,
    description,
    inputSchema,
    run: async (input) => {
      try {
        return answerIn(
          await client.request(
            { method: "tools/call", params: { name, arguments: Arguments.parse(input) } },
            { timeout: callMilliseconds, resetTimeoutOnProgress: true, onprogress: () => undefined },
          ),
        );
      } catch (error) {
        return { text: messageOf(error), failed: true };
      }
    },
  }));
}

const Arguments = z.record(z.string(), z.unknown()).catch({});

async function transportOf({ url, headers = {}, command, args, env }: SessionServer): Promise<Transport> {
  if (url !== undefined)
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: expanded(headers) } });
  if (command === undefined) throw new Error("It has neither a URL nor a command.");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return new StdioClientTransport({ command, args: args ?? [], env: expanded(env ?? {}) });
}

const Answer = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).default([]),
  isError: z.boolean().default(false),
});

function answerIn(result: unknown): ToolAnswer {
  const { content, isError } = Answer.parse(result);
  return { text: content.map(({ type, text }) => text ?? `(${type})`).join("\n"), failed: isError };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
