import { z } from "zod";
import { Budget } from "./budgets.ts";
import { operation } from "./operation.ts";
import { ActorRef, RemovedMonths } from "./ledger.ts";
import {
  AgentRef,
  CompanyId,
  Data,
  Flag,
  hiddenInSessions,
  hiddenInTools,
  shownInTools,
  idOf,
  nextCursor,
  Page,
  said,
  text,
  Time,
  Title,
  whole,
} from "./words.ts";

/** Outcomes: what should become true. The children of an outcome say how, its parents say why. */

export const outcomeKinds = ["perpetual", "mandate", "work", "integration", "inbox"] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];
export const outcomeStatuses = ["open", "submitted", "completed", "closed"] as const;
export type OutcomeStatus = (typeof outcomeStatuses)[number];
/** What an open outcome waits for at the end of its trail. */
export const outcomeStates = ["moving", "scheduled", "waiting", "stuck"] as const;
export type OutcomeState = (typeof outcomeStates)[number];
export const reviewVerdicts = ["pass", "rework", "escalated", "unreadable"] as const;
export type ReviewVerdict = (typeof reviewVerdicts)[number];

const Blocked = z.strictObject({
  reason: said(1000).describe("What is missing."),
  until: Time.optional().describe("Until when, such as `2030-06-01T08:00:00Z`."),
  on: idOf("outcome").optional().describe("UUID of an outcome to wait for."),
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

/** A version of a knowledge file that an outcome delivers. */
export const Deliverable = z.object({
  id: z
    .string()
    .describe("Id of the knowledge file. read_file answers this version to agents that can read no other."),
  description: z.string(),
  mediaType: z.string(),
  version: z.number(),
  hash: z.string(),
  size: z.number(),
  by: AgentRef.nullable().describe("The agent that delivered it. Null: the board."),
  accepted: z.boolean().describe("True once the outcome was completed with it."),
});
export type Deliverable = z.infer<typeof Deliverable>;

export const UnreadableLink = z.object({
  file: z.string().describe("Id of the linked file."),
  readers: z.array(AgentRef).describe("Readers of the note that can't open it."),
  says: z.string().describe("The readers that can't open the file, and how to share it."),
});
export type UnreadableLink = z.infer<typeof UnreadableLink>;

export const Outcome = OutcomeSummary.extend({
  description: z.string(),
  acceptance: z.string().nullable(),
  rationale: z.string().nullable(),
  delegatedBy: AgentRef.nullable(),
  parents: z.array(OutcomeRef),
  children: z.array(OutcomeRef),
  dependsOn: z.array(OutcomeRef),
  result: z.string().nullable().describe("Id of the knowledge file with the result."),
  budget: Budget.nullable().describe("Limit for all work on the outcome. Null: no limit was set."),
  deliverables: z.array(Deliverable).describe("The files it delivers that you can read."),
  workable: z.boolean().describe("True if the responsible agent could work on it now."),
});
export type Outcome = z.infer<typeof Outcome>;

/** The effects of a change, by field. */
export const FieldChanges = z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() }));
export type FieldChanges = z.infer<typeof FieldChanges>;

const HistoryEntry = z.object({
  at: z.string(),
  action: z.string(),
  by: ActorRef,
  who: z.string().describe("Name of the agent or person that took this action."),
  why: z.string().nullable(),
  changes: FieldChanges.describe("The changed fields of an update, each with its value before and after."),
});
export type HistoryEntry = z.infer<typeof HistoryEntry>;

const outcomeId = idOf("outcome");
const Ids = z.array(idOf("outcome")).max(100);
export const Acceptance = text(20_000);
export const Description = text(100_000);
const Why = said(10_000);
/** A result may be as long as the final output of a session. */
const Result = text(70_000);
const Files = z.array(idOf("file")).max(100).optional().describe("UUIDs of files not linked in `note`.");
const Handed = Outcome.extend({
  unreadable: z
    .array(UnreadableLink)
    .describe("Links in the note that some of its readers can't open. Empty if there are none."),
});
export const Status = z
  .enum(outcomeStatuses)
  .optional()
  .describe("Only outcomes with this status.")
  .register(shownInTools, { description: "Only this status." });

export const createOutcome = operation("outcome.create", "POST /api/companies/:companyId/outcomes", {
  summary: "Create an outcome below your outcomes.",
  guidance: "An outcome is a result that another agent can verify.",
  input: z.strictObject({
    companyId: CompanyId,
    title: Title.describe("The result, in one line."),
    description: Description.optional()
      .describe("Details, as Markdown.")
      .register(shownInTools, { description: "Markdown." }),
    parents: Ids.min(1).describe("UUIDs of the outcomes it serves."),
    acceptance: Acceptance.optional()
      .describe("Criteria for verifying the result. Default: none.")
      .register(shownInTools, { description: "How to verify the result." }),
    dependsOn: Ids.optional()
      .describe("UUIDs of outcomes to complete first. Default: none.")
      .register(shownInTools, { description: "UUIDs of outcomes to complete first." }),
    urgent: Flag.optional()
      .describe("true puts it before ordinary outcomes. Default false.")
      .register(shownInTools, { description: "true puts it before ordinary outcomes." }),
    important: Flag.optional()
      .describe("true puts it before urgent outcomes. Default false.")
      .register(shownInTools, { description: "true puts it before urgent outcomes." }),
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
  summary: "Show an outcome with criteria, owner, parents, children, history, and the results it builds on.",
  guidance: "Use it before you start.",
  input: z.strictObject({ id: outcomeId }),
  output: Outcome.extend({
    depth: z.number().describe("How many times the work was delegated to get here."),
    context: z
      .array(
        z.object({
          id: z.string(),
          title: z.string(),
          file: z.string().nullable().describe("Null if it was completed without a note."),
          text: z.string(),
          truncated: z.boolean().describe("True if the file has more text."),
          deliverables: z.array(Deliverable).describe("The files it delivered that you can read."),
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

export const viewTimeline = operation("outcome.timeline", "GET /api/outcomes/:id/timeline", {
  summary: "Show all work that was done for an outcome, newest first, and its cost.",
  guidance:
    "The entries are the sessions that were started for the outcome, their calls, and the changes of the outcome itself. For agents that don't report to you, only their calls about the outcome are listed. The answer has the newest 500 entries.",
  input: z.strictObject({ id: outcomeId }),
  output: z.object({
    id: z.string(),
    cost: z
      .object({ usd: z.number(), inputTokens: z.number(), outputTokens: z.number(), sessions: z.number() })
      .nullable()
      .describe("With everything below the outcome, of all months. Null if you can't see the work below it."),
    entries: z.array(
      z.object({
        at: z.string(),
        kind: z.enum(["session", "file", "mail", "decision", "call"]),
        by: ActorRef,
        operation: z.string(),
        subject: z.string().nullable().describe("What it was about. Null if you can't read it."),
        data: Data.describe("Empty if it names something that you can't read."),
        says: z.string().describe("The entry as a sentence."),
      }),
    ),
    removed: RemovedMonths.optional(),
  }),
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "read" }],
  cli: { command: "outcomes timeline <id>", example: "<outcome id>" },
});

export const viewAncestors = operation("outcome.ancestors", "GET /api/outcomes/:id/ancestors", {
  summary: "Show why an outcome exists: its ancestors up to the root.",
  guidance: "Use it before you plan.",
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
  summary: "List an outcome and everything below it that you can read, with status and owner.",
  guidance: "Use it to see how far the work has come.",
  input: z.strictObject({
    id: outcomeId,
    limit: whole(1, 10_000)
      .optional()
      .describe("Maximum number of outcomes. Default 1000.")
      .register(hiddenInTools, {}),
  }),
  output: z.object({
    id: z.string(),
    outcomes: z.array(
      OutcomeSummary.extend({
        parents: z.array(z.string()).describe("Ids of its parents in this list."),
        dependsOn: z
          .array(z.string())
          .describe("Ids of the outcomes that must be completed first, in this list or not."),
      }),
    ),
    truncated: z.boolean().describe("True if there are more outcomes."),
  }),
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "read" }],
  mcp: { server: "outcome", tool: "view_subtree" },
  cli: { command: "outcomes subtree <id>", example: "<outcome id>" },
});

const Live = Flag.optional().describe(
  "true lists only outcomes that have not ended: open and submitted ones. Default: all.",
);

export const listOutput = z.object({
  outcomes: z.array(OutcomeSummary.extend({ workable: z.boolean() })),
  nextCursor,
});

const OutcomeTotals = z
  .object({
    total: z.number(),
    open: z.number(),
    submitted: z.number(),
    completed: z.number(),
    closed: z.number(),
    blocked: z.number().describe("Open outcomes that are blocked."),
  })
  .describe(
    "All outcomes that match the other filters, by status. `status`, `live` and the page make no difference.",
  );

/** A list of a company, with the number of all outcomes that match. */
export const countedOutput = listOutput.extend({ totals: OutcomeTotals });

export const outcomeFilter = {
  owner: text(100)
    .min(1)
    .optional()
    .describe("Only outcomes that this agent is responsible for: its id, slug or name. Default: all."),
  kind: z.enum(outcomeKinds).optional().describe("Only outcomes of this kind. Default: all kinds."),
  blocked: Flag.optional().describe(
    "true lists only open outcomes that are blocked, false only those that are not. Default: both.",
  ),
  text: text(500)
    .optional()
    .describe("Only outcomes whose title has all these words, or words that begin with them."),
};

export const myOutcomes = operation("outcome.mine", "GET /api/outcomes", {
  summary: "List your outcomes in the order to work on them.",
  guidance: "Work on the first outcome with `workable` true.",
  lists: "outcome",
  input: z.strictObject({ status: Status, ...Page }),
  output: listOutput,
  needs: "member",
  mcp: { server: "outcome", tool: "my_outcomes" },
});

export const listOutcomes = operation("outcome.list", "GET /api/companies/:companyId/outcomes", {
  summary:
    "List the outcomes of a company, newest first. From a position, the list has that position's outcomes.",
  fromPosition: myOutcomes,
  lists: "outcome",
  input: z.strictObject({
    companyId: CompanyId,
    status: Status,
    live: Live,
    ...outcomeFilter,
    ...Page,
  }),
  output: countedOutput,
  cli: { command: "outcomes list", example: "--status open --owner ada --blocked" },
});

export const listAgentOutcomes = operation("outcome.of_agent", "GET /api/agents/:id/outcomes", {
  summary: "List the outcomes an agent is responsible for.",
  input: z.strictObject({ id: idOf("agent"), status: Status, live: Live, ...Page }),
  output: listOutput,
  cli: { command: "agents outcomes <id>", example: "ada --status open" },
});

export const updateOutcome = operation("outcome.update", "PATCH /api/outcomes/:id", {
  summary: "Change an outcome, or mark it as blocked. Fields left out stay unchanged.",
  guidance:
    "Block it instead of waiting. A session starts when the block ends. If it was delegated to you, you can change only `blocked`.",
  input: z.strictObject({
    id: outcomeId,
    title: Title.optional()
      .describe("New title, in one line. Default: unchanged.")
      .register(shownInTools, { description: "New title." }),
    description: Description.optional()
      .describe("New description, as Markdown. Default: unchanged.")
      .register(shownInTools, { description: "New description." }),
    acceptance: Acceptance.nullable()
      .optional()
      .describe("New criteria. Null removes them. Default: unchanged.")
      .register(shownInTools, { description: "New criteria. Null removes them." }),
    parents: Ids.min(1)
      .optional()
      .describe("UUIDs of all parents, which replace the present ones. Default: unchanged.")
      .register(shownInTools, { description: "UUIDs of all parents." }),
    dependsOn: Ids.optional()
      .describe(
        "UUIDs of all outcomes to complete first, which replace the present ones. Default: unchanged.",
      )
      .register(shownInTools, { description: "UUIDs of all dependencies." }),
    urgent: Flag.optional()
      .describe("true puts it before ordinary outcomes. Default: unchanged.")
      .register(shownInTools, { description: "As for create_outcome." }),
    important: Flag.optional()
      .describe("true puts it before urgent outcomes. Default: unchanged.")
      .register(shownInTools, { description: "As for create_outcome." }),
    blocked: Blocked.register(shownInTools, { type: "object" })
      .nullable()
      .optional()
      .describe("`reason`, and `until` (2030-06-01T08:00:00Z) or `on` (outcome UUID). Null unblocks it."),
  }),
  output: Outcome,
  needs: ({ id, parents, dependsOn, blocked, ...rest }) => [
    // Marking work as blocked is part of doing it. Changing the work itself needs write.
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
  summary: "Submit an outcome that was delegated to you. Your manager verifies it.",
  guidance: "First meet all criteria, and end all outcomes below it.",
  input: z.strictObject({
    id: outcomeId,
    note: Result.optional()
      .describe("The result, as Markdown with `kb://<file id>` links.")
      .register(shownInTools, { description: "Markdown with `kb://<file id>` links." }),
    files: Files,
  }),
  output: Handed,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "drive" }],
  mcp: { server: "outcome", tool: "submit_outcome" },
  cli: { command: "outcomes submit <id>", example: '<outcome id> --note "The guide is kb://<file id>"' },
});

export const completeOutcome = operation("outcome.complete", "POST /api/outcomes/:id/complete", {
  summary: "Complete an outcome.",
  guidance:
    "Use it for an outcome that you created or a report submitted. For one delegated to you, use submit_outcome.",
  input: z.strictObject({
    id: outcomeId,
    note: Result.optional().describe("The result with `kb://<id>` links, or your verdict."),
    files: Files.describe("UUIDs of files not linked in `note`.").register(hiddenInSessions, {}),
  }),
  output: Handed,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  mcp: { server: "outcome", tool: "complete_outcome" },
  cli: { command: "outcomes complete <id>", example: "<outcome id>" },
});

export const closeOutcome = operation("outcome.close", "POST /api/outcomes/:id/close", {
  summary: "Close an outcome that is disproven or no longer wanted.",
  guidance: "Outcomes below that serve no other outcome are closed too.",
  input: z.strictObject({
    id: outcomeId,
    rationale: Why.describe("Reason, for agents that depend on it."),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  mcp: { server: "outcome", tool: "close_outcome" },
  cli: { command: "outcomes close <id> <rationale>", example: '<outcome id> "The customer cancelled."' },
});

export const reopenOutcome = operation("outcome.reopen", "POST /api/outcomes/:id/reopen", {
  summary: "Reopen a submitted, completed or closed outcome.",
  guidance: "Its owner works on it again.",
  input: z.strictObject({
    id: outcomeId,
    reason: Why.describe("What is missing."),
  }),
  output: Outcome,
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  mcp: { server: "outcome", tool: "reopen_outcome" },
  cli: { command: "outcomes reopen <id> <reason>", example: '<outcome id> "Step 3 has no example."' },
});
