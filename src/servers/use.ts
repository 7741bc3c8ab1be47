import { z } from "zod";
import { operation } from "../contract/operation.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import { serverNamed } from "../companies/mcp-servers.ts";
import { JsonObject } from "../contract/words.ts";
import { redact } from "../redaction/redact.ts";
import { onlyAgentsUse } from "./texts.ts";

/**
 * The first half of every call of an MCP server: the right is checked and the call recorded in one transaction, before the
 * server hears of it. This operation has no door. Only the MCP doors dispatch it, and then the broker makes the call
 * (broker.ts).
 */
export const useServer = operation("mcp_server.call", "POST /mcp", {
  summary: "Call a tool of an MCP server.",
  input: z.strictObject({
    name: z.string(),
    // The name of a tool, or the method of another request. Agents can't call names that no server may list.
    tool: z
      .string()
      .regex(
        /^(?:[\w.-]{1,100}|(?:resources|prompts|completion)\/[a-z/]{1,30})$/,
        "the name of a tool that the server lists",
      ),
    arguments: JsonObject,
  }),
  output: z.object({ call: z.string(), companyId: z.string() }),
  within: "company",
  needs: ({ name }) => [{ on: `mcp:${name}`, level: "use" }],
});

const mostShown = 2000;

export const useHandler: Guarded = guarded(useServer, async (call) => {
  const { tx, companyId, actor, input } = call;
  const { name, tool } = input;
  if (actor.agentId === null) throw onlyAgentsUse(name);
  await serverNamed(tx, companyId, name);
  const id = call.newId();
  const bytes = Buffer.byteLength(JSON.stringify(input.arguments));
  const shown = JSON.stringify(redact(input.arguments).value).slice(0, mostShown);
  await call.record(actor.agentId, { server: name, tool, call: id, bytes, arguments: shown });
  return { call: id, companyId };
});
