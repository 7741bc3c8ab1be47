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
  }),
  documentation: [
    "No model: a fixed player that goes through the motions of an organization, over the same MCP doors a model uses. It plans",
    "a goal, hires, delegates, writes short files, verifies and reports. Use it to see how Agency works without a key.",
    "",
    "It reports the tokens a model would count for what it reads and writes (four characters each), and a cost of 0.",
  ].join("\n"),
  safety: ["It does not think: what it writes is a rehearsal, and it says so."],
  examples: [{}, { delayMs: 500 }],
  probe: async () => ({ available: true, version: null, says: "built in; plays, does not think" }),
  launch: ({ delayMs }, { briefing, systemPromptFile }) => ({
    command: process.execPath,
    args: [
      fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./main.ts" : "./main.js", import.meta.url)),
    ],
    env: { AGENCY_REHEARSAL_DELAY: String(delayMs ?? 0), AGENCY_SYSTEM_PROMPT: systemPromptFile },
    stdin: briefing,
  }),
});
