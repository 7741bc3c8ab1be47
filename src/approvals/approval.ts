import { hash } from "node:crypto";
import type { ApprovalStatus, ApprovalType } from "../contract/approvals.ts";
import { canonicalJson } from "../contract/canonical.ts";
import { type Row, tables } from "../store/schema.ts";

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
export type ApprovalRow = Row<"approvals">;

const moves: Readonly<Record<ApprovalStatus, readonly ApprovalStatus[]>> = {
  pending: ["revision_requested", "approved", "rejected", "cancelled"],
  revision_requested: ["pending", "rejected", "cancelled"],
  approved: [],
  rejected: [],
  cancelled: [],
};

export const openStatuses: readonly ApprovalStatus[] = ["pending", "revision_requested"];

export const canMove = (from: ApprovalStatus, to: ApprovalStatus): boolean => moves[from].includes(to);

/** Types that the board can send back for a revision. Other requests are only approved or rejected. */
const revisable: readonly ApprovalType[] = ["hire_agent", "change_agent", "approve_ceo_strategy"];
export const isRevisable = (type: ApprovalType): boolean => revisable.includes(type);

export function payloadHash(payload: Payload): string {
  return hash("sha256", canonicalJson(payload));
}

export function payloadOf(row: Pick<ApprovalRow, "payload">): Payload {
  return tables.approvals.payload.parse(row.payload);
}

/** Every payload carries a revision number, so the hash changes even if a request is resubmitted unchanged. */
export function revisionOf(row: Pick<ApprovalRow, "payload">): number {
  const { revision } = payloadOf(row);
  return typeof revision === "number" ? revision : 1;
}
