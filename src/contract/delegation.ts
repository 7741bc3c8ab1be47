import { z } from "zod";
import { operation } from "./operation.ts";
import { efforts } from "./agents.ts";
import { hireShape } from "./hiring.ts";
import { ResourceGrants } from "./resources.ts";
import { AgentRef, count, hiddenInSessions, idOf, Name, said, shownInTools, text, Title } from "./words.ts";
import { Outcome } from "./outcomes.ts";

/** Delegation: giving outcomes to others, taking them back, and dividing them among a team. */

export const delegateOutcome = operation("outcome.delegate", "POST /api/outcomes/:id/delegate", {
  summary: "Delegate an outcome, with everything below it, to a direct report or a new agent.",
  guidance:
    "The report becomes responsible, and you verify the result. To divide an outcome among several reports, use plan_work.",
  input: z.strictObject({
    id: idOf("outcome"),
    to: text(100).min(1).optional().describe("UUID, slug or role of a direct report."),
    hire: z
      .strictObject(hireShape)
      .register(shownInTools, { type: "object" })
      .optional()
      .describe("A new agent instead of `to`, with the arguments of hire_agent."),
    message: text(20_000).min(1).optional().describe("Message to the new owner."),
    grants: ResourceGrants.optional().describe(
      'Rights to pass on until this work ends. You must hold them: [{"resource": "kb:<file id>", "level": "write"}].',
    ),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "drive" }],
  mcp: { server: "outcome", tool: "delegate_outcome", for: ["manager", "hirer"] },
  cli: { command: "outcomes delegate <id> <to>", example: "<outcome id> ada" },
});

export const reclaimOutcome = operation("outcome.reclaim", "POST /api/outcomes/:id/reclaim", {
  summary: "Take back an outcome you delegated, with everything below it.",
  guidance:
    "Use it as a last resort, after a message to the owner. An agent created for this outcome is terminated, with the agents below it.",
  input: z.strictObject({
    id: idOf("outcome"),
    reason: said(10_000).describe("Why you take it back. The former owner reads this."),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  mcp: { server: "outcome", tool: "reclaim_outcome", for: ["manager"] },
  cli: { command: "outcomes reclaim <id> <reason>", example: '<outcome id> "The plan has changed."' },
});

/** Decisions: a verdict on submitted work, or on work that is stuck. */

export const verdicts = ["pass", "rework", "close"] as const;
export type Verdict = (typeof verdicts)[number];

export const decideOutcome = operation("outcome.decide", "POST /api/outcomes/:id/decide", {
  summary: "Decide about work that was submitted or escalated to you.",
  guidance:
    "Check the deliverables first. `pass` accepts the work. `rework` sends it back. `close` gives it up, with everything below.",
  input: z.strictObject({
    id: idOf("outcome"),
    verdict: z.enum(verdicts).describe("Your decision."),
    note: text(10_000)
      .optional()
      .describe("Message to the owner: what is missing, or why the work is given up. `pass` needs none."),
  }),
  output: Outcome,
  needs: "member",
  mcp: { server: "outcome", tool: "decide_outcome", for: ["manager"] },
  cli: { command: "decide <id> <verdict>", example: '<outcome id> rework --note "Step 3 has no example."' },
});

/** Plans: dividing an outcome among a team. Brains without tools write the same plan into their final output. */

export const PlanTask = z.strictObject({
  title: Title.describe("The result to reach."),
  assignee: Name.describe(
    "UUID, slug or role of a direct report, or `self`. For a role your team lacks, an agent is hired (`org:hire`).",
  ),
  description: text(100_000).optional().describe("Details, as Markdown."),
  acceptance: text(20_000).optional().describe("How you will verify the result."),
  dependsOn: z
    .array(
      z
        .union([Title, count(0, 100)], "the title of a task, or its position in the list from 0")
        .register(shownInTools, { type: "string" }),
    )
    .max(50)
    .optional()
    .describe("Titles of tasks that must be completed first."),
  model: text(100).min(1).optional().describe("Model, if an agent is hired.").register(hiddenInSessions, {}),
  effort: z
    .enum(efforts)
    .optional()
    .describe("Reasoning effort, if an agent is hired.")
    .register(hiddenInSessions, {}),
});
export type PlanTask = z.infer<typeof PlanTask>;

export const PlanTasks = z.array(PlanTask).min(1).max(20);

export const planWork = operation("org.plan_work", "POST /api/outcomes/:outcome/plan", {
  summary: "Divide an outcome into tasks for your direct reports.",
  guidance:
    'Each task becomes an outcome of a report. You get an integration outcome, in which you combine the results. Example of a task: {"title": "Review", "assignee": "editor", "dependsOn": ["Draft"]}.',
  input: z.strictObject({
    outcome: idOf("outcome").describe("UUID of your outcome to divide."),
    tasks: PlanTasks.describe("1 to 20 tasks."),
  }),
  output: z.object({
    outcome: z.string(),
    tasks: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        assignee: AgentRef,
        waits: z.boolean().describe("True if it starts only when its assignee is approved."),
      }),
    ),
    hired: z.array(
      z.object({ id: z.string(), name: z.string(), role: z.string(), approvalId: z.string().nullable() }),
    ),
    integration: z.string().describe("Id of your integration outcome, which depends on all tasks."),
  }),
  needs: ({ outcome }) => [{ on: `outcome:${outcome}`, level: "drive" }],
  mcp: { server: "org", tool: "plan_work", for: ["manager", "hirer"] },
  cli: {
    command: "outcomes plan <outcome>",
    example: `<outcome id> --tasks '{"title":"Draft","assignee":"Writer"}' '{"title":"Review","assignee":"self"}'`,
  },
});
