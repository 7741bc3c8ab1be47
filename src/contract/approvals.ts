import { z } from "zod";
import { operation } from "./operation.ts";
import { AgentRef, CompanyId, Data, idOf, nextCursor, Page, text } from "./words.ts";

/** Approvals: requests that only people decide (hires, plans, raised budgets), and the comments on them. */

export const approvalTypes = [
  "hire_agent",
  "create_agent",
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

const Payload = Data;

export const Approval = z.object({
  id: z.string(),
  type: z.enum(approvalTypes),
  status: z.enum(approvalStatuses),
  payload: Payload.describe("The request. Secrets in it are shown as [redacted]."),
  payloadHash: z
    .string()
    .describe("SHA-256 of the payload. Pass it with a decision to decide on exactly this payload."),
  redactedPaths: z.array(z.string()).describe("Where in the payload a secret was hidden."),
  agentId: z
    .string()
    .nullable()
    .describe("The agent the request is about. Null if that agent does not exist yet."),
  requestedBy: AgentRef.nullable().describe("The agent that made the request. Null for the board."),
  decisionNote: z.string().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
  decidedAt: z.string().nullable(),
  expiresAt: z
    .string()
    .nullable()
    .describe("A request still pending at this time is denied. Null: it never expires."),
});
export type Approval = z.infer<typeof Approval>;

const ApprovalDetail = Approval.extend({
  changes: z.array(z.string()).describe("What approving would change, one line each."),
});

export const requestApproval = operation("approval.request", "POST /api/companies/:companyId/approvals", {
  summary: "Submit a strategy or plan to the board for approval.",
  guidance:
    "Only the root agent can call this; other agents propose plans to their manager with send_message. The plan waits until a person approves it, rejects it or asks for a revision, and the decision arrives by mail. Don't wait for it: continue with other work.",
  input: z.strictObject({
    companyId: CompanyId,
    type: z
      .literal("approve_ceo_strategy")
      .default("approve_ceo_strategy")
      .describe("The only type of request agents can make here. Leave it out."),
    payload: z
      .strictObject({ plan: text(50_000).min(1).describe("The plan as Markdown, up to 50,000 characters.") })
      .describe('What the board should approve: {"plan": "# Plan…"}.'),
  }),
  output: Approval,
  needs: "member",
  mcp: { server: "org", tool: "request_approval" },
});

export const listApprovals = operation("approval.list", "GET /api/companies/:companyId/approvals", {
  summary: "List approval requests, newest first. The board sees all of them, an agent those it made.",
  lists: "approval",
  input: z.strictObject({
    companyId: CompanyId,
    status: z.enum(approvalStatuses).optional().describe("Only requests with this status. Default: all."),
    ...Page,
  }),
  output: z.object({
    approvals: z.array(
      Approval.extend({ title: z.string().describe("What approving would change, in one line.") }),
    ),
    nextCursor,
  }),
  needs: "member",
  cli: { command: "approvals list", example: "--status pending" },
});

const approvalId = idOf("approval");

export const viewApproval = operation("approval.view", "GET /api/approvals/:id", {
  summary: "Show one approval request: the request, what approving would change, and the decision.",
  input: z.strictObject({ id: approvalId }),
  output: ApprovalDetail,
  needs: "member",
  cli: { command: "approvals view <id>", example: "<approval id>" },
});

/** What all decisions on an approval have in common. */
const deciding = {
  input: z.strictObject({
    id: approvalId,
    decisionNote: text(10_000)
      .optional()
      .describe("The reason, up to 10,000 characters. Kept with the approval and sent to the requester."),
    payloadHash: z
      .string()
      .max(200)
      .optional()
      .describe(
        "`payloadHash` of the request you looked at. The call is refused if the request has changed since.",
      ),
  }),
  output: Approval,
} as const;

export const approve = operation("approval.approve", "POST /api/approvals/:id/approve", {
  summary: "Approve a request. The change takes effect immediately.",
  ...deciding,
  cli: { command: "approve <id>", example: "<approval id>" },
});

export const reject = operation("approval.reject", "POST /api/approvals/:id/reject", {
  summary: "Reject a request for good. An agent that was waiting for it is terminated.",
  ...deciding,
  cli: { command: "reject <id>", example: '<approval id> --decision-note "We have a writer already."' },
});

export const requestRevision = operation(
  "approval.request_revision",
  "POST /api/approvals/:id/request-revision",
  {
    summary: "Send a request back to the requester, who can change and resubmit it.",
    ...deciding,
    cli: {
      command: "request-revision <id>",
      example: '<approval id> --decision-note "Use a smaller budget."',
    },
  },
);

export const resubmit = operation("approval.resubmit", "POST /api/approvals/:id/resubmit", {
  summary: "Resubmit a request after the board asked for a revision.",
  guidance:
    'Only the requester and the board can. Read the comments first with list_comments. Pass only the keys to change, for example {"id": "<approval id>", "payload": {"title": "Editor"}}. The request is pending again and the answer shows it as it is now.',
  ...deciding,
  input: deciding.input.extend({
    payload: Payload.optional().describe(
      "The keys to change; keys you leave out stay. A value shown as [redacted] stays as it was. Default: resubmit unchanged.",
    ),
  }),
  needs: "member",
  mcp: { server: "org", tool: "resubmit_approval" },
  cli: { command: "approvals resubmit <id>", example: `<approval id> --payload '{"title":"Editor"}'` },
});

export const cancelApproval = operation("approval.cancel", "POST /api/approvals/:id/cancel", {
  summary: "Withdraw a request that is not decided yet.",
  guidance:
    "Only the requester and the board can. An agent that was waiting for this approval is terminated, and work handed to it comes back to you. To change a request, wait for a revision and use resubmit_approval.",
  ...deciding,
  needs: "member",
  mcp: { server: "org", tool: "cancel_approval" },
  cli: { command: "approvals cancel <id>", example: '<approval id> --decision-note "No longer needed."' },
});

const Comment = z.object({
  id: z.string(),
  approvalId: z.string(),
  author: AgentRef.nullable().describe("Null for the board."),
  body: z.string(),
  createdAt: z.string(),
});

export const listComments = operation("approval.list_comments", "GET /api/approvals/:id/comments", {
  summary: "List the comments on an approval request, oldest first.",
  guidance:
    "Use it when the board asks you to revise a request: the comments say what to change. Each comment has its author (null for the board), text and time.",
  input: z.strictObject({ id: approvalId, ...Page }),
  output: z.object({ comments: z.array(Comment), nextCursor }),
  needs: "member",
  mcp: { server: "org", tool: "list_comments" },
  cli: { command: "approvals comments <id>", example: "<approval id>" },
});

export const commentOnApproval = operation("approval.comment", "POST /api/approvals/:id/comments", {
  summary: "Comment on an approval request.",
  guidance:
    "The other side (the board or the requester) gets the comment by mail. Use it to ask or explain; a comment decides nothing. To change the request itself, use resubmit_approval.",
  input: z.strictObject({
    id: approvalId,
    body: text(20_000)
      .refine((body) => body.trim() !== "", "a comment with at least one visible character")
      .describe("The comment, as Markdown, up to 20,000 characters."),
  }),
  output: Comment,
  needs: "member",
  mcp: { server: "org", tool: "comment_on_approval" },
  cli: { command: "comment <id> <body>", example: '<approval id> "Which model should it use?"' },
});
