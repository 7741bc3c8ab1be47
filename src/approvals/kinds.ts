import type { ApprovalType, MoneyChange } from "../contract/approvals.ts";
import type { Viewer } from "../capabilities/visible.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import type { ReadTx } from "../store/store.ts";
import type { ApprovalRow, Payload } from "./approval.ts";
import type { Sections } from "./sections.ts";

/**
 * Decisions work the same way for every kind of request. The kind defines the effects of approving or rejecting. They run in
 * the transaction of the decision: afterwards either all of them have happened or none.
 */
export interface ApprovalKind {
  /** Announces to the store what approving or rejecting will read. */
  readonly ahead?: (tx: ReadTx, approval: ApprovalRow) => void;
  readonly approve: (call: Writing, approval: ApprovalRow) => Promise<void>;
  readonly deny: (call: Writing, approval: ApprovalRow, why: string) => Promise<void>;
  /**
   * Applies the changes to the payload and checks the result. Absent for kinds that can only be approved or rejected. A value
   * that comes back as "[redacted]" stands for the secret that was hidden.
   */
  readonly redraft?: (call: CallContext, approval: ApprovalRow, changes: Payload) => Promise<Payload>;
  /** The effects of approving, one sentence each. The first one is the title in lists. */
  readonly summary: (tx: ReadTx, approval: ApprovalRow) => Promise<string[]>;
  /** The same effects as data, as far as the viewer may see them. The fields of the payload are added. */
  readonly sections?: (tx: ReadTx, approval: ApprovalRow, viewer: Viewer) => Promise<Sections>;
}

/** The budgets that approving would change (budgets/requested.ts, which builds on this folder). */
export type MoneyOf = (tx: ReadTx, approval: ApprovalRow, viewer: Viewer) => Promise<MoneyChange[]>;

export type ApprovalKinds = Readonly<Record<ApprovalType, ApprovalKind>>;
