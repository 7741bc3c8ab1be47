import { fileURLToPath } from "node:url";
import { z } from "zod";
import { brain } from "../brain.ts";

export const rehearsalBrain = brain({
  type: "rehearsal",
  runsPrograms: false,
  config: z.strictObject({
    delayMs: z
      .number()
      .int()
      .min(0)
      .max(60_000)
      .optional()
      .describe("Milliseconds to wait before each step, to make the steps easy to watch. Default 0."),
    speaks: z
      .enum(["tools", "text"])
      .optional()
      .describe(
        "text: use no tools and only print, as a plain command does. tools (default): call MCP tools.",
      ),
  }),
  documentation: [
    "Needs no model. A fixed program goes through the steps of an organization with the same MCP tools a model uses. It plans",
    "a goal, hires, delegates, writes short files, verifies and reports. Use it to see how Agency works without an API key.",
    "",
    "It reports one token for every four characters it reads or writes, about what a model would count, and a cost of 0.",
  ].join("\n"),
  safety: ["It does not think. Its files are placeholders, and they say so."],
  examples: [{}, { delayMs: 500 }, { speaks: "text" }],
  plain: ({ speaks }) => speaks === "text",
  probe: async () => ({ available: true, version: null, says: "built in, no model" }),
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
