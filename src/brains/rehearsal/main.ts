import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { runToEnd, tell } from "../own-program.ts";
import { type CallTool, play } from "./player.ts";

/** The process of a rehearsal with tools. It plays one session over MCP and ends. */
const { AGENCY_URL: url = "", AGENCY_TOKEN: token = "", AGENCY_WORKSPACE: workspace = "" } = process.env;
const delay = Number(process.env["AGENCY_REHEARSAL_DELAY"] ?? 0);
let calls = 0;

const Answer = z.object({
  result: z.object({
    structuredContent: z.record(z.string(), z.unknown()),
    isError: z.boolean().optional(),
  }),
});
const Refused = z.object({ error: z.object({ message: z.string() }) });

const call: CallTool = async ({ mcp, output }, args) => {
  const { server = "", tool = "" } = mcp ?? {};
  if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
  tell({ kind: "tool", tool, text: JSON.stringify(args) });
  const response = await fetch(`${url}/mcp/${server}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: ++calls,
      method: "tools/call",
      params: { name: tool, arguments: args },
    }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${tool}: ${response.status} ${text.slice(0, 300)}`);
  const lines = text.split("\n").map((line) => line.replace(/^data:/, ""));
  const { structuredContent, isError } = Answer.parse(
    JSON.parse(lines.find((line) => line.trimStart().startsWith("{")) ?? "{}"),
  ).result;
  tell({ kind: "result", tool, text: JSON.stringify(structuredContent) });
  if (isError === true) throw new Error(Refused.parse(structuredContent).error.message);
  return output.parse(structuredContent);
};

await runToEnd(async () => {
  const briefing: unknown = JSON.parse(readFileSync(join(workspace, "briefing.json"), "utf8"));
  const [heard] = await play(call, briefing);
  // The prompt of an agent made by create_agent says how to answer. Its final output becomes the reply.
  const prompt = readFileSync(process.env["AGENCY_SYSTEM_PROMPT"] ?? "/dev/null", "utf8");
  const next = /^Always respond in exactly this structure:\n@(.+)$/m.exec(prompt)?.[1];
  if (next !== undefined && heard !== undefined)
    tell({ kind: "text", text: `@${next}\nI read this message: ${heard.slice(0, 500)}` });
});
