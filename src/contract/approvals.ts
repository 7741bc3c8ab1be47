import { z } from "zod";
import { operation } from "./operation.ts";
import { AgentRef, CompanyId, Id, nextCursor, Page, text } from "./words.ts";

/** What waits for a person's decision: hires, plans, and the talk about them. */

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

const Payload = z.record(z.string(), z.unknown());

export const Approval = z.object({
  id: z.string(),
  type: z.enum(approvalTypes),
  status: z.enum(approvalStatuses),
  payload: Payload.describe("What is asked for. Secrets in it are shown as [redacted]."),
  payloadHash: z.string().describe("SHA-256 of the payload; pass it to decide on exactly what was seen."),
  redactedPaths: z.array(z.string()),
  agentId: z.string().nullable().describe("The agent it is about; null when it makes or concerns none yet."),
  requestedBy: AgentRef.nullable().describe("Null: the board itself."),
  decisionNote: z.string().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
  decidedAt: z.string().nullable(),
  expiresAt: z.string().nullable().describe("Undecided by then, it is denied."),
});
export type Approval = z.infer<typeof Approval>;

const ApprovalDetail = Approval.extend({
  changes: z.array(z.string()).describe("What a yes would change, line by line."),
});

export const requestApproval = operation({
  name: "approval.request",
  summary: "The root agent lays a plan before the board, as Markdown.",
  input: z.strictObject({
    companyId: CompanyId,
    type: z.literal("approve_ceo_strategy").default("approve_ceo_strategy"),
    payload: z.strictObject({ plan: text(50_000).min(1) }),
  }),
  output: Approval,
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path: "/api/companies/:companyId/approvals" },
  mcp: { server: "org", tool: "request_approval" },
});

export const listApprovals = operation({
  name: "approval.list",
  summary: "Approvals, newest first. The board sees all; an agent those it asked for.",
  input: z.strictObject({ companyId: CompanyId, status: z.enum(approvalStatuses).optional(), ...Page }),
  output: z.object({
    approvals: z.array(
      Approval.extend({ title: z.string().describe("What a yes would change, in a line.") }),
    ),
    nextCursor,
  }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/approvals" },
  cli: { command: "approvals list" },
});

export const viewApproval = operation({
  name: "approval.view",
  summary: "One approval: what is asked for, what a yes would change, how it was decided.",
  input: z.strictObject({ id: Id }),
  output: ApprovalDetail,
  effect: "read",
  within: { approval: "id" },
  needs: "member",
  http: { method: "GET", path: "/api/approvals/:id" },
  cli: { command: "approvals view", args: ["id"] },
});

/** What deciding on one has in common, whatever is decided. */
const deciding = {
  input: z.strictObject({
    id: Id,
    decisionNote: text(10_000).optional().describe("Why; kept with the approval and told to whoever asked."),
    payloadHash: z
      .string()
      .max(200)
      .optional()
      .describe("Of what was seen; another one by now is a conflict."),
  }),
  output: Approval,
  effect: "write",
  within: { approval: "id" },
  needs: "board",
} as const;

export const approve = operation({
  name: "approval.approve",
  summary: "Say yes: what was asked for happens, in the same transaction.",
  ...deciding,
  http: { method: "POST", path: "/api/approvals/:id/approve" },
  cli: { command: "approve", args: ["id"] },
});

export const reject = operation({
  name: "approval.reject",
  summary: "Say no, for good. A pending agent ends.",
  ...deciding,
  http: { method: "POST", path: "/api/approvals/:id/reject" },
  cli: { command: "reject", args: ["id"] },
});

export const requestRevision = operation({
  name: "approval.request_revision",
  summary: "Send it back to whoever asked, to be changed and resubmitted.",
  ...deciding,
  http: { method: "POST", path: "/api/approvals/:id/request-revision" },
  cli: { command: "request-revision", args: ["id"] },
});

export const resubmit = operation({
  name: "approval.resubmit",
  summary: "Answer a request for revision, changed or as it was. Whoever asked, or the board.",
  ...deciding,
  input: deciding.input.extend({
    payload: Payload.optional().describe(
      "The keys to change; or a whole payload as it was shown. What is [redacted] stays as it was.",
    ),
  }),
  needs: "member",
  http: { method: "POST", path: "/api/approvals/:id/resubmit" },
  mcp: { server: "org", tool: "resubmit_approval" },
  cli: { command: "approvals resubmit", args: ["id"] },
});

export const cancelApproval = operation({
  name: "approval.cancel",
  summary: "Take a request back. Whoever asked, or the board.",
  ...deciding,
  needs: "member",
  http: { method: "POST", path: "/api/approvals/:id/cancel" },
  mcp: { server: "org", tool: "cancel_approval" },
  cli: { command: "approvals cancel", args: ["id"] },
});

const Comment = z.object({
  id: z.string(),
  approvalId: z.string(),
  author: AgentRef.nullable().describe("Null: the board."),
  body: z.string(),
  createdAt: z.string(),
});

export const listComments = operation({
  name: "approval.list_comments",
  summary: "What was said about an approval, oldest first.",
  input: z.strictObject({ id: Id, ...Page }),
  output: z.object({ comments: z.array(Comment), nextCursor }),
  effect: "read",
  within: { approval: "id" },
  needs: "member",
  http: { method: "GET", path: "/api/approvals/:id/comments" },
  mcp: { server: "org", tool: "list_comments" },
  cli: { command: "approvals comments", args: ["id"] },
});

export const commentOnApproval = operation({
  name: "approval.comment",
  summary: "Say something about an approval; the other side is told.",
  input: z.strictObject({
    id: Id,
    body: text(20_000).refine((body) => body.trim() !== "", "a comment needs at least one visible character"),
  }),
  output: Comment,
  effect: "write",
  within: { approval: "id" },
  needs: "member",
  http: { method: "POST", path: "/api/approvals/:id/comments" },
  mcp: { server: "org", tool: "comment_on_approval" },
  cli: { command: "comment", args: ["id", "body"] },
});
