import { z } from "zod";
import { operation } from "./operation.ts";
import { efforts } from "./hiring.ts";
import { count, idOf, Name, text, Title } from "./words.ts";

/** Plans: dividing an outcome among a team. Brains without tools write the same plan into their final output. */

export const PlanTask = z.strictObject({
  title: Title.describe("The result to reach, up to 300 characters."),
  assignee: Name.describe(
    "Id, slug or role of a direct report, or `self`. If no report has the role, an agent with this role is hired.",
  ),
  description: text(100_000).optional().describe("Details, as Markdown. Default: none."),
  acceptance: text(20_000).optional().describe("Criteria by which you will verify the result."),
  dependsOn: z
    .array(z.union([Title, count(0, 100)], "the title of a task, or its position in the list from 0"))
    .max(50)
    .optional()
    .describe(
      "Tasks of this plan that must be completed first: titles, or positions in the list counted from 0.",
    ),
  model: text(100).min(1).optional().describe("Model of the agent, if one is hired for this task."),
  effort: z
    .enum(efforts)
    .optional()
    .describe("Reasoning effort of the agent, if one is hired for this task."),
});
export type PlanTask = z.infer<typeof PlanTask>;

export const PlanTasks = z.array(PlanTask).min(1).max(20);

export const planWork = operation("org.plan_work", "POST /api/outcomes/:outcome/plan", {
  summary: "Divide an outcome into tasks for your direct reports.",
  guidance:
    'Creates and delegates one outcome per task, and hires agents for roles your team lacks if you hold the right `org:hire`. You get one integration outcome, in which you combine the results once all tasks are completed. For a single task, use delegate_outcome. Returns the ids of everything it created. Example: {"outcome": "<outcome id>", "tasks": [{"title": "Draft", "assignee": "Writer"}, {"title": "Review", "assignee": "Editor", "dependsOn": ["Draft"]}]}.',
  input: z.strictObject({
    outcome: idOf("outcome").describe("Id of the outcome to divide (UUID). You must be responsible for it."),
    tasks: PlanTasks.describe("1 to 20 tasks."),
  }),
  output: z.object({
    outcome: z.string(),
    tasks: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        assignee: z.object({ id: z.string(), name: z.string() }),
        waits: z.boolean().describe("True if it starts only when its assignee is approved."),
      }),
    ),
    hired: z.array(
      z.object({ id: z.string(), name: z.string(), role: z.string(), approvalId: z.string().nullable() }),
    ),
    integration: z.string().describe("Id of your integration outcome, which depends on all tasks."),
  }),
  needs: ({ outcome }) => [{ on: `outcome:${outcome}`, level: "drive" }],
  mcp: { server: "org", tool: "plan_work" },
});
