import { readFileSync } from "node:fs";
import { z } from "zod";
import { type CallTool, play } from "./player.ts";

/** The process of a rehearsal with tools: it plays one session over MCP, prints its final output and ends. */
const url = process.env["AGENCY_URL"] ?? "";
const token = process.env["AGENCY_TOKEN"] ?? "";
const delay = Number(process.env["AGENCY_REHEARSAL_DELAY"] ?? 0);
let calls = 0;
let inputTokens = 0;
let outputTokens = 0;
/** Roughly what a model would count: one token for four characters. */
const count = (text: string): number => Math.ceil(text.length / 4);

const Answer = z.object({
  result: z
    .object({
      structuredContent: z.record(z.string(), z.unknown()).optional(),
      isError: z.boolean().optional(),
    })
    .optional(),
});

const call: CallTool = async ({ mcp, output }, args) => {
  const { server = "", tool = "" } = mcp ?? {};
  if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
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
  outputTokens += count(JSON.stringify(args));
  inputTokens += count(text);
  if (!response.ok) throw new Error(`${tool}: ${response.status} ${text.slice(0, 300)}`);
  const line = text.startsWith("{")
    ? text
    : (text
        .split("\n")
        .find((candidate) => candidate.startsWith("data:"))
        ?.slice(5) ?? "{}");
  const { result } = Answer.parse(JSON.parse(line));
  const answer = result?.structuredContent ?? {};
  console.error(`${tool} ${JSON.stringify(args).slice(0, 200)}`);
  if (result?.isError === true) throw new Error(`${tool} was refused: ${JSON.stringify(answer)}`);
  return output.parse(answer);
};

const { heard, words } = await play(call);
if (words !== "") console.log(words);
// An agent made by create_agent is told in its prompt how to answer. Its final output becomes the reply.
const prompt = readFileSync(process.env["AGENCY_SYSTEM_PROMPT"] ?? "/dev/null", "utf8");
const next = /^Always respond in exactly this structure:\n@(.+)$/m.exec(prompt)?.[1];
if (next !== undefined && heard[0] !== undefined)
  console.log(`@${next}\nI read this message: ${heard[0].slice(0, 500)}`);
console.log(JSON.stringify({ usage: { inputTokens, outputTokens, costUsd: 0 } }));
