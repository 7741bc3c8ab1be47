import { z } from "zod";
import { brain } from "../brain.ts";

export const humanBrain = brain({
  type: "human",
  config: z.strictObject({}),
  documentation: [
    "A person holds the position. It is never started: the person works from the inbox, with the CLI, the API or a key of",
    "this agent, and has exactly the agent's rights.",
  ].join("\n"),
  safety: ["Nothing is started: work that is handed to a person waits until the person looks."],
  examples: [{}],
  probe: async () => ({ available: true, version: null, says: "a person" }),
  launch: () => null,
});
