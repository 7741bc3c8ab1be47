import { z } from "zod";
import { quotation, timeAgo } from "../contract/phrases.ts";
import type { ApprovalStatus, StepKind } from "../contract/approvals.ts";
import { conflict, forbidden, invalid, limited, refused, type Refusal } from "../contract/refusal.ts";
import { type ApprovalRow, payloadOf } from "./approval.ts";

/** All texts about approvals. */
interface Settled {
  readonly kind: StepKind;
  /** The person or agent that took the last step. */
  readonly by: string;
  readonly at: number;
  readonly ago: number;
}

export const notPossibleFrom = (
  from: ApprovalStatus,
  to: ApprovalStatus,
  last: Settled | undefined,
): Refusal =>
  conflict(
    `${last === undefined ? `This approval is ${shown[from]}` : lastStepSays(last)}, so it can't become ${shown[to]}.`,
    hints[from],
    {
      status: from,
      ...(last && { step: last.kind, by: last.by, at: new Date(last.at).toISOString() }),
    },
  );

const lastStepSays = ({ kind, by, ago }: Settled): string => {
  if (kind === "expired") return `This approval expired ${timeAgo(ago)}, before a person decided`;
  if (kind === "overtaken") return `Another change ended this approval ${timeAgo(ago)}`;
  return `${by} ${deeds[kind]} ${timeAgo(ago)}`;
};

const deeds: Readonly<Record<Exclude<StepKind, "expired" | "overtaken">, string>> = {
  created: "requested it",
  comment: "commented on it",
  revision_requested: "asked for a revision of it",
  revised: "revised it",
  approved: "approved it",
  rejected: "rejected it",
  cancelled: "cancelled it",
  reopened: "reopened it",
};

export const ownRequest = (others: readonly string[]): Refusal =>
  refused(
    "This request comes from a position that you hold, so another board person has to decide it.",
    `Ask ${others.join(" or ")}.`,
  );

const shown: Readonly<Record<ApprovalStatus, string>> = {
  pending: "pending",
  revision_requested: "waiting for a revision",
  approved: "approved",
  rejected: "rejected",
  cancelled: "cancelled",
};

const decided = "There is nothing left to decide. view_approval shows how the request ended.";
const hints: Readonly<Record<ApprovalStatus, string>> = {
  pending:
    "The request waits for a decision. Only a request that was sent back for revision can be resubmitted.",
  revision_requested: "The requester or the board has to resubmit it first.",
  approved: decided,
  rejected: decided,
  cancelled: "The requester can make the request again.",
};

export const expiredUndecided = (): Refusal =>
  conflict(
    "This approval has expired and counts as rejected, so it can't be decided any more.",
    "The requester can make the request again.",
  );

export const changedSinceSeen = (payloadHash: string): Refusal =>
  conflict(
    "The request has changed since you looked at it.",
    "Look at the request again (view_approval), then decide with its current payloadHash.",
    { payloadHash },
  );

export const onlyRootProposes = (): Refusal =>
  forbidden(
    "Only the root agent can propose a plan to the board.",
    "Send your proposal to your manager with send_message.",
  );

export const yesOrNo = (): Refusal =>
  refused("This request can't be revised.", "Approve or reject the request: agency approve, agency reject.");

export const revisionWanted = (title: string, id: string, by: string, note: string | null): string =>
  [
    `${by} asks you to revise this request: ${title}.`,
    "",
    note === null ? "The comments say what to change." : quotation(by, "note", note),
    "",
    `Read the thread with view_approval {"id":"${id}"}. Then call resubmit_approval with the changed keys as payload, or cancel_approval.`,
  ].join("\n");

export const tooManyComments = (most: number): Refusal =>
  limited(
    `Your last ${most} comments on this approval have no answer yet. You can add at most ${most} in a row.`,
    "Wait until the board answers.",
  );

export const newComment = (title: string, id: string, author: string, body: string): string =>
  `New comment on this request: ${title} (approval ${id})\n\n${quotation(author, "comment", body)}`;

/** Names the request in notices: "The hire of Ada". */
export function titleOf(row: Pick<ApprovalRow, "type" | "payload">): string {
  const { name, agent, budget, requestedConfigurationSnapshot: hire } = Named.parse(payloadOf(row));
  return {
    hire_agent: `The hire of ${hire?.name ?? ""}`,
    create_agent: `The agent ${name ?? ""}`,
    change_agent: `The change of ${agent ?? ""}`,
    budget_override: `A higher limit for ${(budget ?? "").replace(/^The/, "the")}`,
    approve_ceo_strategy: "The plan",
  }[row.type];
}

/** The names by which a search finds a request: those of the agent that the request is about. */
export function namesIn(row: Pick<ApprovalRow, "type" | "payload">): string {
  const { role, requestedConfigurationSnapshot: hire } = Named.parse(payloadOf(row));
  return `${titleOf(row)} ${hire?.role ?? role ?? ""}`;
}

const Named = z.object({
  name: z.string().optional(),
  /** The name of the agent that a change is about. */
  agent: z.string().optional(),
  budget: z.string().optional(),
  role: z.string().nullish(),
  requestedConfigurationSnapshot: z.object({ name: z.string(), role: z.string().nullish() }).optional(),
});

/** `requester` is left out if the reader made the request. */
export const concluded = (
  of: { readonly title: string; readonly id: string; readonly by: string; readonly requester?: string },
  end: StepKind,
  note: string | null,
): string => {
  const { by, id, requester } = of;
  const title = `${of.title}${requester === undefined ? "" : `, which ${requester} requested,`}`;
  const again = requester === undefined ? " Request it again if you still need it." : "";
  if (end === "expired")
    return `${title} expired (approval ${id}). The board did not decide in time, so the request counts as rejected.${again}`;
  if (end === "overtaken")
    return `${title} was cancelled (approval ${id}) because of another change${note === null ? "" : `: ${note}`}. The board did not decide on it.`;
  return `${title} was ${end} (approval ${id}) by ${by}.${note === null ? "" : `\n\n${quotation(by, "note", note)}`}`;
};

export const onlyRequester = (): Refusal =>
  forbidden(
    "Only the requester or the board can change or cancel this request.",
    "Add a comment instead: comment_on_approval.",
  );

export const tooManyRequests = (most: number): Refusal =>
  limited(
    `You have ${most} pending requests, the maximum.`,
    "Wait for decisions, or cancel some with cancel_approval.",
  );

export const notAPlan = (): Refusal =>
  invalid("The payload has no `plan` with Markdown text.", 'Send {"payload":{"plan":"…"}}.');

export const strategyChanges = (plan: string): string[] => ["The root agent will follow this plan:", plan];

export const boardGives = "The board gives this right.";
