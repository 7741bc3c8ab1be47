import { z } from "zod";
import { operation } from "./operation.ts";
import { Id } from "./words.ts";

export const why = operation({
  name: "why",
  summary: "Why an agent or outcome does or does not move: its live path, or the link that is broken.",
  input: z.strictObject({ id: Id }),
  output: z.object({
    id: z.string(),
    kind: z.enum(["agent", "outcome"]),
    moves: z.boolean().describe("There is a live path: a session, a timer, a named person, open work below."),
    path: z
      .array(z.object({ id: z.string(), what: z.string() }))
      .describe("From the thing asked about to what it waits for."),
    says: z.string(),
  }),
  effect: "read",
  within: { "agent or outcome": "id" },
  needs: "member",
  http: { method: "GET", path: "/api/why/:id" },
  mcp: { server: "outcome", tool: "why" },
  cli: { command: "why", args: ["id"] },
});
