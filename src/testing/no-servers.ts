import { notFound } from "../contract/refusal.ts";
import type { McpParts } from "../doors/mcp-results.ts";
import { useServer } from "../servers/use.ts";

/** The doors of a program without a broker: no MCP server was added. */
const none = async (): Promise<never> => {
  throw notFound("MCP server", "none");
};

export const noServers: McpParts["outside"] = {
  allowed: none,
  describe: none,
  tools: none,
  allTools: async () => [],
  call: none,
  request: none,
  follow: () => () => undefined,
  followAll: async () => ({ look: async () => undefined, forget: () => undefined }),
  use: useServer,
};
