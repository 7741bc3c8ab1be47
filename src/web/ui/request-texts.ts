/** Texts about a request on every page. */
export const statusWords = {
  pending: "Waiting for you",
  revision_requested: "Being revised",
  approved: "Approved",
  rejected: "Rejected",
  cancelled: "Withdrawn",
  all: "All",
} as const;

export const decidedRevision = (revision: number): string => `You decide on revision ${revision},`;
export const sealRest = "If it changes before you answer, nothing is approved.";
export const noteFor = (name: string): string => `A note for ${name}, kept on record`;
export const changedMeanwhile = "This changed while you looked.";
export const noteNotSent = "Your note was not sent, and is still here:";

export const stepWords: Readonly<Record<string, string>> = {
  created: "asked for this",
  comment: "commented",
  revision_requested: "requested a revision",
  revised: "sent a new revision",
  approved: "approved it",
  rejected: "rejected it",
  cancelled: "withdrew it",
  expired: "expired",
  overtaken: "was overtaken by another change",
  reopened: "reopened it",
};

/** Steps that no person took: "The request expired". */
export const stepSubject = (kind: string, who = "The system"): string =>
  kind === "expired" || kind === "overtaken" ? "The request" : who;

export const consequences = (requester: string, agent: string | null, heldUp: number) => ({
  approve: `${agent === null ? "The change takes effect" : `${agent} can start`} immediately${heldUp === 0 ? "." : `, and ${heldUp} that waited ${heldUp === 1 ? "continues" : "continue"}.`}`,
  revise: `Goes back to ${requester} with your note.${agent === null ? "" : ` ${agent} stays pending.`}`,
  reject:
    agent === null
      ? `This is final. ${requester} gets your note.`
      : `This is final. ${agent} is not hired, and ${requester} gets your note.`,
});
