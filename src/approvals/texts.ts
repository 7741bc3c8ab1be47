import { quotation } from "../contract/phrases.ts";
import type { ApprovalStatus } from "../contract/approvals.ts";
import { conflict, forbidden, invalid, limited, refused, type Refusal } from "../contract/refusal.ts";

/** What the product says about approvals. */
export const notPossibleFrom = (from: ApprovalStatus, to: ApprovalStatus): Refusal =>
  conflict(`This approval is ${shown[from]}, so it can't become ${shown[to]}.`, hints[from], {
    status: from,
  });

const shown: Readonly<Record<ApprovalStatus, string>> = {
  pending: "pending",
  revision_requested: "waiting for a revision",
  approved: "approved",
  rejected: "rejected",
  cancelled: "cancelled",
};

const decided = "It was decided in the meantime. Look at the approval again.";
const hints: Readonly<Record<ApprovalStatus, string>> = {
  pending: "It waits for a decision. Only an approval that was sent back for revision can be resubmitted.",
  revision_requested: "The requester has to resubmit it first.",
  approved: decided,
  rejected: decided,
  cancelled: "The requester withdrew it. It can be requested again.",
};

export const expired = (): Refusal =>
  conflict(
    "The time to decide this approval is over, so it counts as rejected.",
    "The requester can ask again.",
  );

export const changedSinceSeen = (payloadHash: string): Refusal =>
  conflict(
    "The request has changed since you looked at it.",
    "Look at it again, then decide with its current payloadHash.",
    { payloadHash },
  );

export const onlyRootProposes = (): Refusal =>
  forbidden(
    "Only the root agent can propose a plan to the board.",
    "Send your proposal to your manager with send_message.",
  );

export const yesOrNo = (): Refusal => refused("This request can't be revised.", "Approve it or reject it.");

export const revisionWanted = (title: string, id: string, note: string | undefined): string =>
  [
    `The board asks you to revise this request: ${title}.`,
    "",
    note === undefined ? "The comments say what to change." : quotation("the board", "note", note),
    "",
    `Read the thread with list_comments {"id":"${id}"}. Then call resubmit_approval with the changed keys as payload, or cancel_approval.`,
  ].join("\n");

export const tooManyComments = (most: number): Refusal =>
  limited(
    `Your last ${most} comments on this approval have no answer yet, the maximum in a row.`,
    "Wait until the board answers.",
  );

export const newComment = (title: string, id: string, author: string, body: string): string =>
  `New comment on this request: ${title} (approval ${id})\n\n${quotation(author, "comment", body)}`;

export const concluded = (title: string, id: string, status: ApprovalStatus, note: string | null): string =>
  `${title} was ${shown[status]} (approval ${id}).${note === null ? "" : `\n\n${quotation("the board", "note", note)}`}`;

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

export const notAPlan = (): Refusal => invalid("A plan is Markdown text.", 'Send {"payload":{"plan":"…"}}.');

export const strategyChanges = (plan: string): string[] => ["The root agent will follow this plan:", plan];
export const strategyTitle = "Your plan";
