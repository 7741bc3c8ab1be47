import { z } from "zod";
import { AgentRef } from "./words.ts";

/** The actors of operations and events. */

export const actorKinds = ["board", "agent", "system"] as const;

export const PersonRef = z.object({ id: z.string(), name: z.string() });

/** The author of a deed. A person who works from a position is shown with the agent of that position. */
export const By = z.object({
  kind: z.enum(actorKinds),
  agent: AgentRef.optional().describe("The agent that acted."),
  person: PersonRef.optional().describe("The person who acted, for the board or from the agent's position."),
});
export type By = z.infer<typeof By>;
