import { hash } from "node:crypto";
import type { ApprovalStatus } from "../contract/approvals.ts";
import { canonicalJson } from "../contract/canonical.ts";
import { notPossibleFrom } from "./texts.ts";

/**
 * Rules of an approval, without I/O.
 *
 *   pending ──────────approve──▶ approved        An approval is bound to its payload by a hash. A decision may name the
 *    │  ▲ ╲───────────reject───▶ rejected        hash of the payload it was based on. Only resubmitting changes the
 *    │  │  ╲──────────cancel───▶ cancelled       payload, and it always changes the hash.
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
  throw notPossibleFrom(from, to);
}

export function payloadHash(payload: Payload): string {
  return hash("sha256", canonicalJson(payload));
}
