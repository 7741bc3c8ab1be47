import { hash } from "node:crypto";
import type { ApprovalStatus } from "../contract/approvals.ts";
import { canonicalJson } from "../contract/canonical.ts";
import { Refusal } from "../contract/refusal.ts";

/**
 * Rules of an approval, without I/O.
 *
 *   pending ──────────approve──▶ approved        An approval is bound to its payload by a hash. Whoever decides may say
 *    │  ▲ ╲───────────reject───▶ rejected        which payload they saw; a payload changes only by resubmit, which
 *    │  │  ╲──────────cancel───▶ cancelled       always makes another hash.
 *    │  └─resubmit─╮       ▲ ▲
 *    └─request-revision─▶ revision_requested
 */
export type Payload = Readonly<Record<string, unknown>>;

const moves: Readonly<Record<ApprovalStatus, readonly ApprovalStatus[]>> = {
  pending: ["revision_requested", "approved", "rejected", "cancelled"],
  revision_requested: ["pending", "rejected", "cancelled"],
  approved: [],
  rejected: [],
  cancelled: [],
};

export const openStatuses: readonly ApprovalStatus[] = ["pending", "revision_requested"];

export function demandMove(from: ApprovalStatus, to: ApprovalStatus): void {
  if (moves[from].includes(to)) return;
  throw new Refusal("conflict", `The approval is ${from} and cannot become ${to}.`, hints[from], {
    status: from,
  });
}

const hints: Readonly<Record<ApprovalStatus, string>> = {
  pending: "It waits for a decision; only one that was sent back is resubmitted.",
  revision_requested: "It was sent back: whoever asked for it resubmits it first.",
  approved: "Somebody decided before; look at it anew.",
  rejected: "Somebody decided before; look at it anew.",
  cancelled: "It was taken back; ask anew.",
};

export function payloadHash(payload: Payload): string {
  return hash("sha256", canonicalJson(payload));
}
