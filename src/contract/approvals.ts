import { z } from "zod";
import { Ability } from "./attention.ts";
import { measures } from "./budgets.ts";
import { ChainLink } from "./capabilities.ts";
import { operation } from "./operation.ts";
import { By } from "./actors.ts";
import { LevelName } from "./resources.ts";
import {
  AgentRef,
  CompanyId,
  Data,
  hiddenInSessions,
  hiddenInTools,
  idOf,
  inAll,
  nextCursor,
  Page,
  Reference,
  shownInTools,
  text,
} from "./words.ts";

/** Approvals: requests that only people decide (hires, changes, plans, raised budgets), and everything said about them. */

export const approvalTypes = [
  "hire_agent",
  "create_agent",
  "change_agent",
  "approve_ceo_strategy",
  "budget_override",
] as const;
export type ApprovalType = (typeof approvalTypes)[number];

export const approvalStatuses = [
  "pending",
  "revision_requested",
  "approved",
  "rejected",
  "cancelled",
] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

/** The steps of an approval. Each step is one entry of its thread, and entries never change. */
export const stepKinds = [
  "created",
  "comment",
  "revision_requested",
  "revised",
  "approved",
  "rejected",
  /** The requester or the board withdrew it. */
  "cancelled",
  "expired",
  /** Another change made the request pointless: an agent left, a budget was raised. */
  "overtaken",
  /** The reorganization that had ended the request was undone. */
  "reopened",
] as const;
export type StepKind = (typeof stepKinds)[number];

const Payload = Data;

const Decision = z.object({
  result: z.enum(["approved", "rejected", "cancelled"]),
  reason: z
    .enum(["decided", "withdrawn", "timeout", "overtaken"])
    .describe(
      "decided: a person approved or rejected it. withdrawn: the requester or the board cancelled it. timeout: it expired before a person decided. overtaken: another change ended it, such as the departure of an agent.",
    ),
  by: By,
  at: z.string(),
  note: z.string().nullable(),
  selfDecided: z
    .boolean()
    .describe(
      "Whether the person decided on a request of their own position. Possible only on a board of one.",
    ),
});

const ApprovalAbility = Ability.extend({
  by: z.array(z.enum(["board", "requester", "reader"])).describe("Who can make the call."),
  yours: z.boolean().describe("Whether you can make it."),
});
export type ApprovalAbility = z.infer<typeof ApprovalAbility>;

export const Approval = z.object({
  id: z.string(),
  type: z.enum(approvalTypes),
  status: z.enum(approvalStatuses),
  payload: Payload.describe("The request. Secrets in it are shown as [redacted]."),
  payloadHash: z
    .string()
    .describe("SHA-256 of the payload. Pass it with a decision to decide on exactly this payload."),
  revision: z.number().describe("How often the request was written, counting from 1."),
  redactedPaths: z.array(z.string()).describe("Where in the payload a secret was hidden."),
  agentId: z
    .string()
    .nullable()
    .describe("The agent the request is about. Null if that agent does not exist yet."),
  requestedBy: AgentRef.nullable().describe("The agent that made the request. Null for the board."),
  decisionNote: z.string().nullable(),
  decision: Decision.nullable().describe("How the request ended. Null while it is open."),
  abilities: z.array(ApprovalAbility).describe("The calls that are possible now."),
  createdAt: z.string(),
  updatedAt: z.string(),
  decidedAt: z.string().nullable(),
  decidedBy: By.nullable().describe("Who decided or cancelled the request. Null while it is open."),
  expiresAt: z
    .string()
    .nullable()
    .describe("A request still pending at this time is denied. Null: it never expires."),
});
export type Approval = z.infer<typeof Approval>;

const Amounts = z.object({
  limit: z.number().nullable().describe("Limit for the month. Null: no limit."),
  left: z.number().nullable().describe("Amount that can still be spent or given. Null: no limit."),
});

export const MoneyChange = z.object({
  pool: Reference.describe("The company or agent whose budget it is."),
  measure: z.enum(measures),
  before: Amounts.nullable().describe("Null: there is no separate budget yet."),
  after: Amounts.nullable().describe("Null: the separate budget ends."),
});
export type MoneyChange = z.infer<typeof MoneyChange>;

const FieldChange = z.object({
  field: z.string().describe("Such as `prompt` or `adapterConfig.command`."),
  before: z.unknown().describe("Null if the field was not there before."),
  after: z.unknown().describe("Null if the field is not there any more."),
});
export type FieldChange = z.infer<typeof FieldChange>;

const Changes = z.object({
  summary: z.array(z.string()).describe("What approving would change, one sentence each."),
  place: z
    .object({
      manager: AgentRef.nullable().describe("Null: the board."),
      path: z.array(AgentRef).describe("The agents from the root agent down to the manager."),
    })
    .nullable()
    .describe("Where a new agent would stand."),
  headcount: z
    .object({ before: z.number(), after: z.number(), limit: z.number().nullable() })
    .nullable()
    .describe(
      "How many agents the company has, pending agents included. Once it is decided: how many it had then. Limit null: none is set.",
    ),
  rights: z.array(
    z.object({
      resource: z.string(),
      title: z.string().nullable(),
      level: LevelName,
      from: AgentRef.nullable().describe("The agent that passes the right on. Null: the board."),
      held: z.boolean().describe("Whether the giver holds the right now. Without it, approving is refused."),
      because: z.string(),
      chain: z.array(ChainLink).describe("How the giver got the right, from the first giver down."),
    }),
  ),
  money: z
    .array(MoneyChange)
    .describe(
      "Each budget that changes or is shared. Agents see their own budgets and those below. Once it is decided: as it was then.",
    ),
  brain: z
    .object({
      type: z.string(),
      command: z.string().nullable().describe("The program and its arguments. Null: it runs no command."),
      model: z.string().nullable(),
      effort: z.string().nullable(),
      prompt: z.string().nullable(),
      config: Data,
      secrets: z.array(z.string()).describe("The secrets it gets, by name. Only people see the names."),
    })
    .nullable()
    .describe("The brain that would run the agent."),
  fields: z
    .array(FieldChange)
    .describe("Every field of the request. Nothing takes effect that is not listed here."),
  heldUp: z.array(Reference).describe("Outcomes and agents that wait for the decision."),
  obstacles: z.array(z.string()).describe("Why approving would be refused now."),
});
export type Changes = z.infer<typeof Changes>;

export const requestApproval = operation("approval.request", "POST /api/companies/:companyId/approvals", {
  summary: "Submit a strategy or plan to the board for approval.",
  guidance:
    "Use it before a change of direction. The decision arrives by mail. Continue with other work until then.",
  input: z.strictObject({
    companyId: CompanyId,
    type: z
      .literal("approve_ceo_strategy")
      .default("approve_ceo_strategy")
      .describe("Type of request. The only value is the default, so leave it out.")
      .register(hiddenInTools, {}),
    payload: z
      .strictObject({ plan: text(50_000).min(1).describe("The plan, as Markdown.") })
      .describe("The plan to approve."),
  }),
  output: Approval,
  needs: "member",
  mcp: { server: "org", tool: "request_approval", for: ["root"] },
  cli: { command: "approvals request <payload>", example: `'{"plan":"# Plan for the year"}'` },
});

export const listApprovals = operation("approval.list", "GET /api/companies/:companyId/approvals", {
  summary: "List approval requests, newest first. The board sees all of them. An agent sees those it made.",
  lists: "approval",
  input: z.strictObject({
    companyId: CompanyId,
    status: z.enum(approvalStatuses).optional().describe("Only requests with this status. Default: all."),
    type: z.enum(approvalTypes).optional().describe("Only requests of this type. Default: all."),
    agent: idOf("agent")
      .optional()
      .describe("Only requests that this agent made or that are about it (UUID). Default: all."),
    text: text(500)
      .optional()
      .describe("Only requests whose names and roles have all these words, or words that begin with them."),
    ...Page,
  }),
  output: z.object({
    approvals: z.array(
      Approval.extend({ title: z.string().describe("What approving would change, in one line.") }),
    ),
    count: inAll,
    nextCursor,
  }),
  needs: "member",
  cli: { command: "approvals list", example: "--status pending" },
});

const approvalId = idOf("approval");

const Step = z.object({
  kind: z.enum(stepKinds),
  by: By,
  at: z.string(),
  note: z
    .string()
    .nullable()
    .describe("The comment, or the note of a decision, a revision request or a revision."),
  revision: z.number().describe("The revision of the request at that time."),
  selfDecided: z.boolean().describe("Whether the person decided on a request of their own position."),
  diff: z.array(FieldChange).describe("For a revision: what differs from the one before, field by field."),
});

const ApprovalDetail = Approval.extend({
  changes: Changes.describe("What approving would change."),
  timeline: z
    .array(Step)
    .describe("The steps and comments of the request, oldest first. At most the newest 100."),
});

export const viewApproval = operation("approval.view", "GET /api/approvals/:id", {
  summary: "Show an approval request with its changes and comments.",
  guidance: "Use it before you resubmit.",
  input: z.strictObject({ id: approvalId }),
  output: ApprovalDetail,
  needs: "member",
  mcp: { server: "org", tool: "view_approval", for: ["requester"] },
});

export const approvalTimeline = operation("approval.timeline", "GET /api/approvals/:id/timeline", {
  summary: "Show every step of an approval request, oldest first.",
  guidance: "Use it to see who changed the request or decided on it. Each revision lists its changed fields.",
  input: z.strictObject({ id: approvalId, ...Page }),
  output: z.object({ timeline: z.array(Step), nextCursor }),
  needs: "member",
  // In no agent's list, because view_approval shows the newest entries.
  mcp: { server: "org", tool: "approval_timeline", for: [] },
});

export const listRevisions = operation("approval.list_revisions", "GET /api/approvals/:id/revisions", {
  summary: "List every revision of an approval request, oldest first, with its payload and its hash.",
  input: z.strictObject({ id: approvalId, ...Page }),
  output: z.object({
    revisions: z.array(
      z.object({
        revision: z.number(),
        payload: Payload,
        redactedPaths: z.array(z.string()),
        payloadHash: z.string(),
        by: By,
        note: z.string().nullable(),
        at: z.string(),
        diff: z.array(FieldChange).describe("What differs from the revision before, field by field."),
      }),
    ),
    nextCursor,
  }),
  needs: "member",
  cli: { command: "approvals revisions <id>", example: "<approval id>" },
});

/** The common part of all decisions on an approval. */
const deciding = {
  input: z.strictObject({
    id: approvalId,
    decisionNote: text(10_000)
      .optional()
      .describe("Reason for this step, which the requester and the board can read. Default: none."),
    payloadHash: z
      .string()
      .max(200)
      .optional()
      .describe("`payloadHash` of the request you saw. The call is refused if the request has changed since.")
      .register(hiddenInTools, {}),
  }),
  output: Approval,
} as const;

export const approve = operation("approval.approve", "POST /api/approvals/:id/approve", {
  summary: "Approve a request. The change takes effect immediately.",
  guidance: "Look at the request and its changes first. Returns the request with your decision.",
  ...deciding,
  mcp: { server: "org", tool: "approve_request", for: ["person"] },
  cli: { command: "approve <id>", example: "<approval id>" },
});

export const reject = operation("approval.reject", "POST /api/approvals/:id/reject", {
  summary: "Reject a request for good. An agent that was waiting for it is terminated.",
  guidance: "Look at the request and its comments first. Returns the request with your decision.",
  ...deciding,
  mcp: { server: "org", tool: "reject_request", for: ["person"] },
  cli: { command: "reject <id>", example: '<approval id> --decision-note "We have a writer already."' },
});

export const requestRevision = operation(
  "approval.request_revision",
  "POST /api/approvals/:id/request-revision",
  {
    summary: "Send a request back to the requester, who can change and resubmit it.",
    ...deciding,
    cli: {
      command: "revise <id> <decisionNote>",
      example: 'A7 "Give it a budget of $5."',
    },
  },
);

/** Agents give a reason in a comment instead. */
const asking = deciding.input.extend({
  decisionNote: deciding.input.shape.decisionNote
    .describe("Reason for this step, which the requester and the board can read. Default: none.")
    .register(hiddenInSessions, {}),
});

export const resubmit = operation("approval.resubmit", "POST /api/approvals/:id/resubmit", {
  summary: "Resubmit a request after the board asked for a revision.",
  guidance: "Send only changed keys. The request is then pending again.",
  ...deciding,
  input: asking.extend({
    payload: Payload.optional()
      .describe('The keys to change, such as {"title": "Editor"}. Others stay unchanged.')
      .register(shownInTools, { description: 'Such as {"title": "Editor"}.' }),
  }),
  needs: "member",
  mcp: { server: "org", tool: "resubmit_approval", for: ["requester"] },
  cli: { command: "approvals resubmit <id>", example: `<approval id> --payload '{"title":"Editor"}'` },
});

export const cancelApproval = operation("approval.cancel", "POST /api/approvals/:id/cancel", {
  summary: "Withdraw an undecided request.",
  guidance: "If the request is a hire, its pending agent is terminated.",
  ...deciding,
  input: asking,
  needs: "member",
  mcp: { server: "org", tool: "cancel_approval", for: ["requester"] },
  cli: { command: "approvals cancel <id>", example: '<approval id> --decision-note "No longer needed."' },
});

const Comment = z.object({
  id: z.string(),
  approvalId: z.string(),
  kind: z.enum(stepKinds).describe("`comment`, or what the note was written for, such as `rejected`."),
  author: AgentRef.nullable().describe("The agent that wrote it. Null for the board."),
  by: By.describe("The agent, or the person on the board, that wrote it."),
  body: z.string(),
  createdAt: z.string(),
});

export const listComments = operation("approval.list_comments", "GET /api/approvals/:id/comments", {
  summary: "List the comments on an approval request, and the notes of its decisions, oldest first.",
  guidance: "Use it after the board asked for a revision.",
  input: z.strictObject({ id: approvalId, ...Page }),
  output: z.object({ comments: z.array(Comment), nextCursor }),
  needs: "member",
  // In no agent's list, because view_approval shows the same.
  mcp: { server: "org", tool: "list_comments", for: [] },
  cli: { command: "approvals comments <id>", example: "<approval id>" },
});

export const commentOnApproval = operation("approval.comment", "POST /api/approvals/:id/comments", {
  summary: "Comment on an approval request.",
  guidance: "The requester or the board gets it by mail.",
  input: z.strictObject({
    id: approvalId,
    body: text(20_000)
      .refine((body) => body.trim() !== "", "a comment with at least one visible character")
      .describe("The comment, as Markdown.")
      .register(shownInTools, { description: "Markdown." }),
  }),
  output: Comment,
  needs: "member",
  mcp: { server: "org", tool: "comment_on_approval", for: ["requester"] },
  cli: { command: "comment <id> <body>", example: '<approval id> "Which model should it use?"' },
});
