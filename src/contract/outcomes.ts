import { z } from "zod";
import { operation } from "./operation.ts";
import { efforts, hireShape } from "./hiring.ts";
import { ActorRef } from "./ledger.ts";
import { ResourceGrants } from "./resources.ts";
import {
  AgentRef,
  CompanyId,
  count,
  Flag,
  idOf,
  Name,
  nextCursor,
  Page,
  text,
  Time,
  Title,
  whole,
} from "./words.ts";

/** Outcomes: what should become true. Children are how, parents are why. */

export const outcomeKinds = ["perpetual", "mandate", "work", "integration", "inbox"] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];
export const outcomeStatuses = ["open", "submitted", "completed", "closed"] as const;
export type OutcomeStatus = (typeof outcomeStatuses)[number];
export const reviewVerdicts = ["pass", "rework", "escalated", "unreadable"] as const;
export type ReviewVerdict = (typeof reviewVerdicts)[number];

const Blocked = z.strictObject({
  reason: text(1000).min(1).describe("What is missing, up to 1,000 characters."),
  until: Time.optional().describe("Unblock at this time, such as `2030-01-31T09:00:00Z`."),
  on: idOf("outcome").optional().describe("Unblock when this outcome ends (UUID)."),
});

/** A neighbour of an outcome. */
const OutcomeRef = z.object({
  id: z.string(),
  title: z.string().nullable().describe("Null if you can't read that outcome."),
  status: z.enum(outcomeStatuses).nullable(),
});

const OutcomeSummary = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(outcomeStatuses),
  kind: z.enum(outcomeKinds),
  urgent: z.boolean(),
  important: z.boolean(),
  responsible: AgentRef.nullable(),
  delegated: z.boolean().describe("True if a manager delegated it and will verify the result."),
  blocked: z
    .object({ reason: z.string(), until: z.string().nullable(), on: z.string().nullable() })
    .nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
});
export type OutcomeSummary = z.infer<typeof OutcomeSummary>;

export const Outcome = OutcomeSummary.extend({
  description: z.string(),
  acceptance: z.string().nullable(),
  rationale: z.string().nullable(),
  delegatedBy: AgentRef.nullable(),
  parents: z.array(OutcomeRef),
  children: z.array(OutcomeRef),
  dependsOn: z.array(OutcomeRef),
  result: z.string().nullable().describe("Id of the knowledge file with the result."),
  workable: z.boolean().describe("True if the responsible agent could work on it now."),
});
export type Outcome = z.infer<typeof Outcome>;

const HistoryEntry = z.object({
  at: z.string(),
  action: z.string(),
  by: ActorRef,
  why: z.string().nullable(),
});

const outcomeId = idOf("outcome");
const Ids = z.array(idOf("outcome")).max(100);
const Acceptance = text(20_000);
const Description = text(100_000);
const Note = text(10_000);
/** As long as the final output of a session may be. */
const Result = text(70_000);
const Status = z
  .enum(outcomeStatuses)
  .optional()
  .describe("Only outcomes with this status. `submitted` means waiting for verification. Default: all.");

export const createOutcome = operation("outcome.create", "POST /api/companies/:companyId/outcomes", {
  summary: "Create an outcome below outcomes you are responsible for.",
  guidance:
    'An outcome is a result to reach, with criteria by which someone else can verify it. Use it to break your work into steps; you are responsible for the new outcome until you delegate it. To create and delegate several parts at once, use plan_work. Returns the outcome with its id. Example: {"title": "The guide is published", "parents": ["<outcome id>"], "acceptance": "- every step was tried"}.',
  input: z.strictObject({
    companyId: CompanyId,
    title: Title.describe("The result to reach, in one line of up to 300 characters."),
    description: Description.optional().describe(
      "Details, as Markdown, up to 100,000 characters. Default: none.",
    ),
    parents: Ids.min(1).describe(
      "Ids of the outcomes this one serves (1 to 100 UUIDs). You must be responsible for each.",
    ),
    acceptance: Acceptance.optional().describe("Criteria for verifying the result, up to 20,000 characters."),
    dependsOn: Ids.optional().describe(
      "Ids of outcomes that must be completed first (up to 100 UUIDs). Default: none.",
    ),
    urgent: Flag.optional().describe("Work on it before outcomes that are not urgent. Default false."),
    important: Flag.optional().describe("Work on it before outcomes that are not important. Default false."),
  }),
  output: Outcome,
  needs: ({ parents, dependsOn }) => [
    ...parents.map((id) => ({ on: `outcome:${id}`, level: "drive" }) as const),
    ...(dependsOn ?? []).map((id) => ({ on: `outcome:${id}`, level: "read" }) as const),
  ],
  mcp: { server: "outcome", tool: "create_outcome" },
  cli: { command: "outcomes create <title>", example: '"The guide is published" --parents <outcome id>' },
});

export const viewOutcome = operation("outcome.view", "GET /api/outcomes/:id", {
  summary: "Show an outcome with its parents, children, owner, results it builds on, and history.",
  guidance:
    "Read it before you start to work on an outcome. `acceptance` says how the result is judged; `context` has the results of the outcomes it depends on. To see why the outcome exists, use view_ancestors; for everything below it, view_subtree.",
  input: z.strictObject({ id: outcomeId }),
  output: Outcome.extend({
    depth: z.number().describe("How many times the work was delegated to get here."),
    context: z
      .array(
        z.object({
          id: z.string(),
          title: z.string(),
          file: z.string(),
          text: z.string(),
          truncated: z.boolean().describe("True if the file has more text."),
        }),
      )
      .describe(
        "Results of the outcomes it depends on that you can read, 8 kB at most. The files have the rest.",
      ),
    history: z.array(HistoryEntry),
  }),
  effect: "record",
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "read" }],
  mcp: { server: "outcome", tool: "view_outcome" },
  cli: { command: "outcomes view <id>", example: "<outcome id>" },
});

export const viewAncestors = operation("outcome.ancestors", "GET /api/outcomes/:id/ancestors", {
  summary: "Show why an outcome exists: its parents, their parents, up to the root.",
  guidance:
    "Use it to understand the purpose of your work before you decide how to do it. Returns every ancestor with its description, and `chains`, the paths from the direct parent up to a root.",
  input: z.strictObject({ id: outcomeId }),
  output: z.object({
    id: z.string(),
    ancestors: z.array(OutcomeRef.extend({ description: z.string().nullable() })),
    chains: z
      .array(z.array(z.string()))
      .describe(
        "Each chain is a list of ids from the direct parent up to a root, or to an outcome that you can't read.",
      ),
    truncated: z.boolean().describe("True if there are more chains."),
  }),
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "read" }],
  mcp: { server: "outcome", tool: "view_ancestors" },
  cli: { command: "outcomes ancestors <id>", example: "<outcome id>" },
});

export const viewSubtree = operation("outcome.subtree", "GET /api/outcomes/:id/subtree", {
  summary: "List an outcome and everything below it that you can read.",
  guidance:
    "Use it to check progress: each row has title, status, owner, priority and block. For the text, criteria and history of one outcome, use view_outcome.",
  input: z.strictObject({
    id: outcomeId,
    limit: whole(1, 10_000).optional().describe("Maximum number of outcomes in the answer. Default 1000."),
  }),
  output: z.object({
    id: z.string(),
    outcomes: z.array(OutcomeSummary.extend({ parents: z.array(z.string()) })),
    truncated: z.boolean().describe("True if there are more outcomes."),
  }),
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "read" }],
  mcp: { server: "outcome", tool: "view_subtree" },
  cli: { command: "outcomes subtree <id>", example: "<outcome id>" },
});

const listOutput = z.object({
  outcomes: z.array(OutcomeSummary.extend({ workable: z.boolean() })),
  nextCursor,
});

export const myOutcomes = operation("outcome.mine", "GET /api/outcomes", {
  summary: "List the outcomes you are responsible for, in the order to work on them.",
  guidance:
    "Important and urgent ones come first. Work on the first one with `workable: true`; the others are blocked, delegated, or wait for other outcomes. It lists only your own outcomes: for those you delegated, use view_subtree on their parent.",
  lists: "outcome",
  input: z.strictObject({ status: Status, ...Page }),
  output: listOutput,
  needs: "member",
  mcp: { server: "outcome", tool: "my_outcomes" },
});

export const listOutcomes = operation("outcome.list", "GET /api/companies/:companyId/outcomes", {
  summary: "List the outcomes of a company, newest first.",
  lists: "outcome",
  input: z.strictObject({ companyId: CompanyId, status: Status, ...Page }),
  output: listOutput,
  cli: { command: "outcomes list", example: "--status open" },
});

export const listAgentOutcomes = operation("outcome.of_agent", "GET /api/agents/:id/outcomes", {
  summary: "List the outcomes an agent is responsible for.",
  input: z.strictObject({ id: idOf("agent"), status: Status, ...Page }),
  output: listOutput,
  cli: { command: "agents outcomes <id>", example: "ada --status open" },
});

export const updateOutcome = operation("outcome.update", "PATCH /api/outcomes/:id", {
  summary: "Change an outcome, or mark it as blocked.",
  guidance:
    'Mark an outcome as blocked instead of waiting: you are started again when the block ends. Arguments you leave out stay as they are. An outcome that was delegated to you can only be blocked and unblocked by you; ask your manager for other changes. Example: {"id": "<outcome id>", "blocked": {"reason": "Waiting for the May figures", "until": "2030-06-01T08:00:00Z"}}.',
  input: z.strictObject({
    id: outcomeId,
    title: Title.optional().describe("New title, up to 300 characters. Default: unchanged."),
    description: Description.optional().describe("New description, as Markdown. Default: unchanged."),
    acceptance: Acceptance.nullable()
      .optional()
      .describe("New criteria for verifying the result. Null removes them. Default: unchanged."),
    parents: Ids.min(1)
      .optional()
      .describe(
        "Ids of all outcomes it serves from now on (UUIDs); replaces the old list. Default: unchanged.",
      ),
    dependsOn: Ids.optional().describe(
      "Ids of all outcomes that must be completed first (UUIDs); replaces the old list. Default: unchanged.",
    ),
    urgent: Flag.optional().describe("Whether it is urgent. Default: unchanged."),
    important: Flag.optional().describe("Whether it is important. Default: unchanged."),
    blocked: Blocked.nullable()
      .optional()
      .describe("Why work on it can't continue. Null unblocks it. Default: unchanged."),
  }),
  output: Outcome,
  needs: ({ id, parents, dependsOn, blocked, ...rest }) => [
    // To mark work as blocked is part of doing it. To change what the work is needs write.
    {
      on: `outcome:${id}`,
      level:
        parents === undefined &&
        dependsOn === undefined &&
        Object.values(rest).every((value) => value === undefined)
          ? ["write", "drive"]
          : "write",
    } as const,
    ...(parents ?? []).map((parent) => ({ on: `outcome:${parent}`, level: "drive" }) as const),
    ...[...(dependsOn ?? []), ...(blocked?.on === undefined ? [] : [blocked.on])].map(
      (other) => ({ on: `outcome:${other}`, level: "read" }) as const,
    ),
  ],
  mcp: { server: "outcome", tool: "update_outcome" },
  cli: {
    command: "outcomes update <id>",
    example: `<outcome id> --blocked '{"reason":"Waiting for the May figures"}'`,
  },
});

export const submitOutcome = operation("outcome.submit", "POST /api/outcomes/:id/submit", {
  summary: "Submit an outcome that was delegated to you, to be verified by your manager.",
  guidance:
    "Use it when the result meets the acceptance criteria and nothing below the outcome is still open. Your manager then completes it, or reopens it and tells you by mail what is missing. Outcomes you created yourself you finish with complete_outcome. Returns the outcome with status `submitted`.",
  input: z.strictObject({
    id: outcomeId,
    note: Result.optional().describe(
      "The result, as Markdown, up to 70,000 characters; link files as `kb://<file id>`. Kept for others to build on.",
    ),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "drive" }],
  mcp: { server: "outcome", tool: "submit_outcome" },
  cli: { command: "outcomes submit <id>", example: '<outcome id> --note "The guide is kb://<file id>"' },
});

export const completeOutcome = operation("outcome.complete", "POST /api/outcomes/:id/complete", {
  summary: "Complete an outcome.",
  guidance:
    "Use it for an outcome you created yourself, or to accept one that a direct report submitted to you. What your manager delegated to you, you submit with submit_outcome. The call is refused while outcomes below it are open. All rights granted for the outcome end; to give up on it instead, use close_outcome.",
  input: z.strictObject({
    id: outcomeId,
    note: Result.optional().describe(
      "For your own outcome, the result; for a report's, your verdict. Up to 70,000 characters.",
    ),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  mcp: { server: "outcome", tool: "complete_outcome" },
  cli: { command: "outcomes complete <id>", example: "<outcome id>" },
});

export const closeOutcome = operation("outcome.close", "POST /api/outcomes/:id/close", {
  summary: "Close an outcome that is disproven or no longer wanted.",
  guidance:
    "Use it when the result can't or should not be reached; if it was reached, use complete_outcome. Outcomes below it that serve nothing else are closed too, and all rights granted for them end. Refused while other agents work below it: reclaim those outcomes first.",
  input: z.strictObject({
    id: outcomeId,
    rationale: Note.min(1).describe(
      "Why, up to 10,000 characters. Everyone who depends on the outcome reads it.",
    ),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  mcp: { server: "outcome", tool: "close_outcome" },
  cli: { command: "outcomes close <id> <rationale>", example: '<outcome id> "The customer cancelled."' },
});

export const reopenOutcome = operation("outcome.reopen", "POST /api/outcomes/:id/reopen", {
  summary: "Reopen a submitted, completed or closed outcome.",
  guidance:
    "Use it to send a submitted outcome back to your report when a criterion is not met; say exactly what is missing. The owner gets the reason by mail and works on it again. The second time you send the same outcome back, your manager is asked to decide.",
  input: z.strictObject({
    id: outcomeId,
    reason: Note.min(1).describe(
      "What is missing or has changed, up to 10,000 characters. The owner reads it.",
    ),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  mcp: { server: "outcome", tool: "reopen_outcome" },
  cli: { command: "outcomes reopen <id> <reason>", example: '<outcome id> "Step 3 has no example."' },
});

export const delegateOutcome = operation("outcome.delegate", "POST /api/outcomes/:id/delegate", {
  summary: "Delegate an outcome, with everything below it, to a direct report or a new agent.",
  guidance:
    'Give either `to` or `hire`. The report becomes responsible; you keep the right to verify the result and lose the right to change what is below. Grant the rights the work needs in the same call. What was delegated to you can\'t be delegated on: create an outcome below it, or divide it with plan_work. Example: {"id": "<outcome id>", "to": "ada", "grants": [{"resource": "kb:<file id>"}]}.',
  input: z.strictObject({
    id: outcomeId,
    to: text(100).min(1).optional().describe("Id, slug or role of a direct report."),
    hire: z
      .strictObject(hireShape)
      .optional()
      .describe(
        "A new agent for this outcome, in place of `to`. Needs the right `org:hire`, and usually an approval.",
      ),
    message: text(20_000)
      .min(1)
      .optional()
      .describe("What to tell the new owner, up to 20,000 characters. Default: a standard message."),
    grants: ResourceGrants.optional().describe(
      "Rights for this work. You must hold each; they end with the outcome. Default: none.",
    ),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "drive" }],
  mcp: { server: "outcome", tool: "delegate_outcome" },
  cli: { command: "outcomes delegate <id> <to>", example: "<outcome id> ada" },
});

export const reclaimOutcome = operation("outcome.reclaim", "POST /api/outcomes/:id/reclaim", {
  summary: "Take back an outcome you delegated, with everything below it.",
  guidance:
    "A last resort: try a message or reopen_outcome first. Sessions that work on it end, and rights granted for it are revoked. If an agent was created for this outcome, that agent and all agents below it are terminated. You get links to their documents by mail.",
  input: z.strictObject({
    id: outcomeId,
    reason: Note.min(1).describe("Why, up to 10,000 characters. The former owner reads it."),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  mcp: { server: "outcome", tool: "reclaim_outcome" },
  cli: { command: "outcomes reclaim <id> <reason>", example: '<outcome id> "The plan has changed."' },
});

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
  mcp: { server: "org", tool: "plan_work" },
});

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
