import { z } from "zod";
import { brain } from "../brain.ts";

export const humanBrain = brain({
  type: "human",
  runsPrograms: false,
  config: z.strictObject({}),
  documentation: [
    "A person holds the position. No session is ever started. The person works from the inbox, with the command line or with",
    "the API and an API key of this agent, and has exactly the agent's rights.",
  ].join("\n"),
  safety: ["Nothing starts automatically: work delegated to a person waits until the person does it."],
  examples: [{}],
  probe: async () => ({ available: true, version: null, says: "a person" }),
  launch: () => null,
});
