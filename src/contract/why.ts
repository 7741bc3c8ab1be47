import { z } from "zod";
import { Ability } from "./attention.ts";
import { operation } from "./operation.ts";
import { idOf, Reference } from "./words.ts";
import { outcomeStates } from "./outcomes.ts";

/** Explains why something moves or does not move. */

export const WhyAnswer = z.object({
  id: z.string(),
  kind: z.enum(["agent", "outcome"]),
  moves: z
    .boolean()
    .describe("True if it is moving: a running session, a timer, a person to answer, or open work below."),
  state: z
    .enum(outcomeStates)
    .describe(
      "moving: at work or about to be. scheduled: it waits for a time. waiting: it waits for a decision of a person. stuck: nothing will move it.",
    ),
  path: z
    .array(
      z.object({
        kind: z.enum(["agent", "outcome", "board"]),
        id: z.string(),
        title: z.string(),
        what: z.string(),
      }),
    )
    .describe("From the thing you asked about to the last thing it waits for."),
  says: z.string().describe("The explanation. It names things by their titles."),
  references: z.array(Reference).describe("The things that the explanation names, with their ids."),
  next: z
    .array(Ability)
    .describe(
      "Calls that would get it moving, the best one first. Only people get them. Empty if it is moving, or if no call of yours helps.",
    ),
});

export const why = operation("why", "GET /api/why/:id", {
  summary: "Explain why an agent or outcome is or isn't moving.",
  guidance:
    "Use it when work doesn't advance. You can ask about yourself, a direct report, or an outcome you can read. Returns the chain of causes as sentences.",
  // The call looks at up to 500 outcomes.
  heavy: () => true,
  input: z.strictObject({
    id: idOf("agent or outcome"),
  }),
  output: WhyAnswer,
  needs: "member",
  mcp: { server: "outcome", tool: "why", for: ["manager"] },
});
