import { z } from "zod";
import { operation } from "./operation.ts";
import { idOf } from "./words.ts";

/** Why something does or does not move. */

export const why = operation("why", "GET /api/why/:id", {
  summary: "Explain why an agent or outcome is or isn't moving.",
  guidance:
    "Use it when work seems stuck. It follows what waits for what until it finds a running session, a timer, a person, or the broken link. Works for outcomes you can read, for yourself and for your direct reports. Returns `moves`, the `path` of what waits for what, and `says`, the explanation.",
  input: z.strictObject({
    id: idOf("agent or outcome"),
  }),
  output: z.object({
    id: z.string(),
    kind: z.enum(["agent", "outcome"]),
    moves: z
      .boolean()
      .describe("True if it is moving: a running session, a timer, a person to answer, or open work below."),
    path: z
      .array(z.object({ id: z.string(), what: z.string() }))
      .describe("From the thing you asked about to the last thing it waits for."),
    says: z.string().describe("The explanation."),
  }),
  needs: "member",
  mcp: { server: "outcome", tool: "why" },
  cli: { command: "why <id>", example: "ada" },
});
