import { JsonObject } from "../contract/words.ts";
import * as contract from "../contract/approvals.ts";
import { notFound } from "../contract/refusal.ts";
import { type Call, type Guarded, guarded } from "../dispatch/guarded.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { isActive, memberById, memberName, rootAgentOf } from "../capabilities/members.ts";
import { notify } from "../mail/operations.ts";
import { pageByNumber } from "../dispatch/page.ts";
import { brainMarks } from "../brains/registry.ts";
import { redact, redactText } from "../redaction/redact.ts";
import type { NewRow } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { demandMove, type Payload } from "./approval.ts";
import {
  type ApprovalRow,
  approvalById,
  commentsInARow,
  insertComment,
  openApproval,
  payloadOf,
  setPayload,
  setStatus,
} from "./table.ts";
import {
  changedSinceSeen,
  concluded,
  expired,
  newComment,
  onlyRequester,
  onlyRootProposes,
  revisionWanted,
  tooManyComments,
  yesOrNo,
} from "./texts.ts";

/**
 * Decisions work the same way for every kind of request. The kind says what approving or rejecting does, in the
 * transaction of the decision: afterwards either all of it has happened or nothing.
 */
export interface ApprovalKind {
  readonly approve: (call: Writing, approval: ApprovalRow) => Promise<void>;
  readonly deny: (call: Writing, approval: ApprovalRow, why: string) => Promise<void>;
  /**
   * Applies the changes to the payload and checks the result. Absent for kinds that can only be approved or rejected. A
   * value that comes back as "[redacted]" stands for the secret that was hidden.
   */
  readonly redraft?: (call: CallContext, approval: ApprovalRow, changes: Payload) => Promise<Payload>;
  readonly changes: (tx: ReadTx, approval: ApprovalRow) => Promise<string[]>;
  /** Names the request in notices to the requester. */
  readonly title: (approval: ApprovalRow) => string;
}

export type ApprovalKinds = Readonly<Record<contract.ApprovalType, ApprovalKind>>;

const mostInARow = 20;

type Decision = {
  id: string;
  decisionNote?: string | undefined;
  payloadHash?: string | undefined;
};

export function approvalHandlers(kinds: ApprovalKinds): Guarded[] {
  const conclude = concluder(kinds);

  /** The approval, if the caller may see it, it can move to this status, and its payload is the one the caller saw. */
  async function considered(call: Call<Decision>, to: contract.ApprovalStatus): Promise<ApprovalRow> {
    const approval = await visible(call, call.input.id);
    demandMove(approval.status, to);
    if (approval.expires_at !== null && approval.expires_at <= call.tx.now) throw expired();
    const seen = call.input.payloadHash;
    if (seen !== undefined && seen !== approval.payload_hash) throw changedSinceSeen(approval.payload_hash);
    return approval;
  }

  const decide = (to: "approved" | "rejected" | "cancelled") => async (call: Call<Decision>) => {
    const approval = await considered(call, to);
    if (to === "cancelled") await demandRequester(call, approval);
    return presentApproval(call.tx, await conclude(call, approval, to, call.input.decisionNote ?? null));
  };

  const onRequest = guarded(contract.requestApproval, async (call) => {
    const { tx, actor, companyId, input } = call;
    if (actor.agentId === null || actor.agentId !== (await rootAgentOf(tx, companyId)))
      throw onlyRootProposes();
    const payload = { requestedByAgentId: actor.agentId, plan: input.payload.plan };
    const request = { type: input.type, payload, requestedBy: actor.agentId };
    return presentApproval(tx, await openApproval(call, request, contract.requestApproval.name));
  });

  const onRequestRevision = guarded(contract.requestRevision, async (call) => {
    const approval = await considered(call, "revision_requested");
    const kind = kinds[approval.type];
    if (kind.redraft === undefined) throw yesOrNo();
    const saved = await setStatus(call.tx, approval, "revision_requested", call.input.decisionNote ?? null);
    await recordOf(call, saved);
    if (approval.requested_by !== null)
      await tell(
        call,
        approval,
        revisionWanted(redactText(kind.title(approval)), approval.id, call.input.decisionNote),
      );
    return presentApproval(call.tx, saved);
  });

  const onResubmit = guarded(contract.resubmit, async (call) => {
    const approval = await considered(call, "pending");
    await demandRequester(call, approval);
    const { redraft } = kinds[approval.type];
    const payload =
      redraft === undefined ? payloadOf(approval) : await redraft(call, approval, call.input.payload ?? {});
    const drafted = await setPayload(call.tx, approval, payload);
    const saved = await setStatus(call.tx, drafted, "pending", call.input.decisionNote ?? null);
    await recordOf(call, saved);
    return presentApproval(call.tx, saved);
  });

  const onView = guarded(contract.viewApproval, async (call) => {
    const approval = await visible(call, call.input.id);
    const changes = await kinds[approval.type].changes(call.tx, approval);
    return { ...(await presentApproval(call.tx, approval)), changes: changes.map(redactText) };
  });

  const onList = guarded(contract.listApprovals, async ({ tx, actor, companyId, input }) => {
    const seesAll = actor.agentId === null || actor.agentId === (await rootAgentOf(tx, companyId));
    const requested_by = seesAll ? undefined : actor.agentId;
    const where = { company_id: companyId, requested_by, status: input.status };
    const { page, nextCursor } = await pageByNumber(tx, "approvals", where, "newest first", input);
    const approvals = [];
    for (const row of page) {
      const [title = ""] = await kinds[row.type].changes(tx, row);
      approvals.push({ ...(await presentApproval(tx, row)), title: redactText(title) });
    }
    return { approvals, nextCursor };
  });

  const onComment = guarded(contract.commentOnApproval, async (call) => {
    const { tx, actor, companyId, input } = call;
    const approval = await visible(call, input.id);
    if (actor.agentId !== null && (await commentsInARow(tx, approval.id, actor.agentId)) >= mostInARow)
      throw tooManyComments(mostInARow);
    const comment = {
      id: call.newId(),
      company_id: companyId,
      approval_id: approval.id,
      author_id: actor.agentId,
      body: input.body,
      created_at: tx.now,
    };
    await tx.run(insertComment, comment);
    await call.record(approval.agent_id ?? approval.id, { approval: approval.id, comment: comment.id });
    const title = redactText(kinds[approval.type].title(approval));
    if (actor.agentId !== approval.requested_by)
      await tell(
        call,
        approval,
        newComment(title, approval.id, await memberName(tx, actor.agentId), input.body),
      );
    return presentComment(tx, comment);
  });

  const onComments = guarded(contract.listComments, async (call) => {
    const approval = await visible(call, call.input.id);
    const where = { approval_id: approval.id };
    const { page, nextCursor } = await pageByNumber(
      call.tx,
      "approval_comments",
      where,
      "oldest first",
      call.input,
    );
    const comments = [];
    for (const row of page) comments.push(await presentComment(call.tx, row));
    return { comments, nextCursor };
  });

  async function tell(call: CallContext, approval: ApprovalRow, text: string): Promise<void> {
    if (approval.requested_by === null || !(await isThere(call.tx, approval.requested_by))) return;
    await notify(call, approval.requested_by, text);
  }

  return [
    onRequest,
    onView,
    onList,
    guarded(contract.approve, decide("approved")),
    guarded(contract.reject, decide("rejected")),
    guarded(contract.cancelApproval, decide("cancelled")),
    onRequestRevision,
    onResubmit,
    onComment,
    onComments,
  ];
}

/** Ends an approval and does what follows from it. The caller checks that it is open and that the actor may decide. */
export function concluder(kinds: ApprovalKinds) {
  return async (
    call: Writing,
    approval: ApprovalRow,
    to: "approved" | "rejected" | "cancelled",
    note: string | null,
  ): Promise<ApprovalRow> => {
    const kind = kinds[approval.type];
    const saved = await setStatus(call.tx, approval, to, note);
    if (to === "approved") await kind.approve(call, saved);
    else await kind.deny(call, saved, note ?? `it was ${to}`);
    await recordOf(call, saved);
    const { requested_by: requester } = approval;
    if (requester !== null && requester !== call.actor.agentId && (await isThere(call.tx, requester)))
      await notify(call, requester, concluded(redactText(kind.title(approval)), approval.id, to, note));
    return saved;
  };
}

async function recordOf(call: Writing, approval: ApprovalRow): Promise<void> {
  const { id, agent_id, type, status, decision_note, payload_hash } = approval;
  await call.record(
    agent_id ?? id,
    { approval: id, type, status, note: decision_note, payloadHash: payload_hash },
    events[status],
  );
}

const events: Readonly<Record<contract.ApprovalStatus, string>> = {
  pending: "approval.resubmit",
  revision_requested: "approval.request_revision",
  approved: "approval.approve",
  rejected: "approval.reject",
  cancelled: "approval.cancel",
};

/** The board and the root agent see every approval. Other agents see their own requests and those about their reports. */
async function visible(call: Writing, id: string): Promise<ApprovalRow> {
  const { tx, actor, companyId } = call;
  const approval = await approvalById(tx, id);
  if (actor.agentId === null || approval.requested_by === actor.agentId) return approval;
  if (actor.agentId === (await rootAgentOf(tx, companyId))) return approval;
  const about = await memberById(tx, approval.agent_id);
  if (about?.boss_id === actor.agentId) return approval;
  throw notFound("approval", id);
}

async function demandRequester(call: Writing, approval: ApprovalRow): Promise<void> {
  if (call.actor.agentId === null || call.actor.agentId === approval.requested_by) return;
  throw onlyRequester();
}

export async function presentApproval(tx: ReadTx, row: ApprovalRow): Promise<contract.Approval> {
  const requester = await memberById(tx, row.requested_by);
  const shown = redact(payloadOf(row), brainMarks);
  return {
    id: row.id,
    type: row.type,
    status: row.status,
    payload: JsonObject.parse(shown.value),
    payloadHash: row.payload_hash,
    redactedPaths: shown.redactedPaths,
    agentId: row.agent_id,
    requestedBy: row.requested_by === null ? null : { id: row.requested_by, name: requester?.name ?? "" },
    decisionNote: row.decision_note === null ? null : redactText(row.decision_note),
    createdAt: new Date(row.created_at).toISOString(),
    updatedAt: new Date(row.updated_at).toISOString(),
    decidedAt: row.decided_at === null ? null : new Date(row.decided_at).toISOString(),
    expiresAt: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
  };
}

async function presentComment(tx: ReadTx, row: NewRow<"approval_comments">) {
  const author = await memberById(tx, row.author_id);
  return {
    id: row.id,
    approvalId: row.approval_id,
    author: row.author_id === null ? null : { id: row.author_id, name: author?.name ?? "" },
    body: row.body,
    createdAt: new Date(row.created_at).toISOString(),
  };
}

async function isThere(tx: ReadTx, agentId: string): Promise<boolean> {
  const member = await memberById(tx, agentId);
  return member !== undefined && isActive(member);
}
