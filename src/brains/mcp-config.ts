import { readFileSync } from "node:fs";
import { z } from "zod";

/** The name of the server with Agency's own tools. A session without it can't work. */
export const ownServer = "agency";

/** The MCP servers of a session. Our own programs find them in `.mcp.json` (processes/settings.ts). */
const Config = z.object({
  mcpServers: z.record(
    z.string(),
    z.looseObject({
      url: z.string().optional(),
      headers: z.record(z.string(), z.string()).optional(),
      command: z.string().optional(),
      args: z.array(z.string()).optional(),
      env: z.record(z.string(), z.string()).optional(),
    }),
  ),
});
export type SessionServer = z.infer<typeof Config>["mcpServers"][string];

export function serversIn(file: string): [string, SessionServer][] {
  return Object.entries(Config.parse(JSON.parse(readFileSync(file, "utf8"))).mcpServers);
}

/** `${NAME}` stands for a variable of this process, as in the settings of other programs. */
export function expanded(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      value.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => process.env[name] ?? ""),
    ]),
  );
}
