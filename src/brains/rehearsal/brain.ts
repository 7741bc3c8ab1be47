import { fileURLToPath } from "node:url";
import { z } from "zod";
import { brain } from "../brain.ts";

export const rehearsalBrain = brain({
  type: "rehearsal",
  config: z.strictObject({
    delayMs: z
      .number()
      .int()
      .min(0)
      .max(60_000)
      .optional()
      .describe("Wait this long before each step, to watch it."),
    speaks: z
      .enum(["tools", "text"])
      .optional()
      .describe("text: it uses no tools and only prints, as a plain command would. Default tools."),
  }),
  documentation: [
    "No model: a fixed player that goes through the motions of an organization, over the same MCP doors a model uses. It plans",
    "a goal, hires, delegates, writes short files, verifies and reports. Use it to see how Agency works without a key.",
    "",
    "It reports the tokens a model would count for what it reads and writes (four characters each), and a cost of 0.",
  ].join("\n"),
  safety: ["It does not think: what it writes is a rehearsal, and it says so."],
  examples: [{}, { delayMs: 500 }, { speaks: "text" }],
  plain: ({ speaks }) => speaks === "text",
  probe: async () => ({ available: true, version: null, says: "built in; plays, does not think" }),
  launch: ({ delayMs, speaks }, { briefing, assignment, systemPromptFile }) => ({
    command: process.execPath,
    args: [script(speaks === "text" ? "plain" : "main")],
    env: { AGENCY_REHEARSAL_DELAY: String(delayMs ?? 0), AGENCY_SYSTEM_PROMPT: systemPromptFile },
    stdin: assignment === "" ? briefing : `${briefing}\n${assignment}`,
  }),
});

function script(name: string): string {
  return fileURLToPath(
    new URL(`./${name}${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
  );
}
