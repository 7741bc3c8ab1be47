import { z } from "zod";
import { operation } from "./operation.ts";
import { efforts } from "./hiring.ts";
import { Id, Name, text, Title } from "./words.ts";

/** Work that is divided among a team, and the directives by which a brain without tools does it. */

export const PlanTask = z.strictObject({
  title: Title,
  assignee: Name.describe(
    "A direct report by id, slug or role, or yourself (self). A role the team lacks is hired.",
  ),
  description: text(100_000).optional(),
  acceptance: text(20_000).optional().describe("How you will judge the result; shown to whoever does it."),
  dependsOn: z
    .array(z.union([Title, z.number().int().min(0).max(100)]))
    .max(50)
    .optional()
    .describe("Tasks of this plan that come first: their titles, or their places in the list from 0."),
  model: text(100).min(1).optional().describe("The model of whoever is hired for it."),
  effort: z.enum(efforts).optional().describe("The effort of whoever is hired for it."),
});
export type PlanTask = z.infer<typeof PlanTask>;

export const PlanTasks = z.array(PlanTask).min(1).max(20);

export const planWork = operation({
  name: "org.plan_work",
  summary:
    "Divide an outcome among your reports in one step: an outcome for each task, hires for the roles you lack, and one outcome for you to put the results together.",
  input: z.strictObject({ outcome: Id, tasks: PlanTasks }),
  output: z.object({
    outcome: z.string(),
    tasks: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        assignee: z.object({ id: z.string(), name: z.string() }),
        waits: z.boolean().describe("It starts when its assignee is approved."),
      }),
    ),
    hired: z.array(
      z.object({ id: z.string(), name: z.string(), role: z.string(), approvalId: z.string().nullable() }),
    ),
    integration: z.string().describe("Your own outcome, which depends on all of them."),
  }),
  effect: "write",
  within: { outcome: "outcome" },
  needs: ({ outcome }) => [{ on: `outcome:${outcome}`, level: "drive" }],
  http: { method: "POST", path: "/api/outcomes/:outcome/plan" },
  mcp: { server: "org", tool: "plan_work" },
});
