import { z } from "zod";
import { brain } from "../brain.ts";
import { hearOwn, judgeOwn, ownProgram } from "../own-program.ts";

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
    "Needs no model. A fixed program goes through the steps of an organization with the same MCP tools a model uses. It divides",
    "a goal along its wording, gives the parts to the team or hires one, writes sample files, verifies, revises what is sent",
    "back, and reports. Use it to see how Agency works without an API key. It uses 0 tokens and costs nothing.",
  ].join("\n"),
  safety: ["It does not think. Its files are samples, and they say so."],
  examples: [{}, { delayMs: 500 }, { speaks: "text" }],
  plain: ({ speaks }) => speaks === "text",
  probe: async () => ({ available: true, version: null, says: "built in, no model" }),
  launch: ({ delayMs, speaks }, { briefing, assignment, systemPromptFile }) => ({
    ...ownProgram(`rehearsal/${speaks === "text" ? "plain" : "main"}`),
    env: { AGENCY_REHEARSAL_DELAY: String(delayMs ?? 0), AGENCY_SYSTEM_PROMPT: systemPromptFile },
    stdin: assignment === "" ? briefing : `${briefing}\n${assignment}`,
  }),
  ear: () => hearOwn,
  judge: judgeOwn,
});
