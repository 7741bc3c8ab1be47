import { sql, type SqlBool } from "kysely";
import type { ApprovalStatus, ApprovalType } from "../contract/approvals.ts";
import { notFound } from "../contract/refusal.ts";
import { canonicalJson } from "../contract/canonical.ts";
import { dynamic, insertion, query } from "../store/query.ts";
import { type NewRow, type Row, tables } from "../store/schema.ts";
import { tooManyRequests } from "./texts.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { append, system } from "../events/ledger.ts";
import { openStatuses, type Payload, payloadHash } from "./approval.ts";

/** Spelled exactly as in the partial indexes of open approvals: with parameters, neither store would use those indexes. */
const isOpen = sql<SqlBool>`status in ('pending', 'revision_requested')`;

/** Rows of approvals and of their comments. */
export type ApprovalRow = Row<"approvals">;

export interface NewApproval {
  readonly id: string;
  readonly companyId: string;
  readonly type: ApprovalType;
  readonly payload: Payload;
  readonly agentId: string | null;
  readonly nameKey: string | null;
  readonly requestedBy: string | null;
  readonly expiresAt: number | null;
}

export async function openApproval(tx: Tx, approval: NewApproval): Promise<ApprovalRow> {
  // The daemon asks for more budget in the agent's name when it stops the agent. That request is never limited.
  const isAsked = approval.requestedBy !== null && approval.type !== "budget_override";
  if (isAsked && (await isTooEager(tx, approval.requestedBy))) throw tooManyRequests(mostOpen);
  // The revision number changes the hash even if a payload is resubmitted unchanged.
  const payload = { ...approval.payload, revision: 1 };
  const row: NewRow<"approvals"> = {
    id: approval.id,
    company_id: approval.companyId,
    type: approval.type,
    status: "pending",
    payload: canonicalJson(payload),
    payload_hash: payloadHash(payload),
    agent_id: approval.agentId,
    name_key: approval.nameKey,
    requested_by: approval.requestedBy,
    decision_note: null,
    created_at: tx.now,
    updated_at: tx.now,
    decided_at: null,
    expires_at: approval.expiresAt,
    answered_at: null,
  };
  await tx.run(insertRow, row);
  return { ...row, num: 0 };
}

/** Whether the agent has the maximum number of open requests. */
export async function isTooEager(tx: ReadTx, agentId: string): Promise<boolean> {
  return (await tx.all(openByRequester, { agentId, limit: mostOpen })).length === mostOpen;
}

const mostOpen = 20;

const openByRequester = query((db, p: { agentId: string; limit: number }) =>
  db.selectFrom("approvals").select("id").where("requested_by", "=", p.agentId).where(isOpen).limit(p.limit),
);

/** How many of the newest comments in a row are by this agent. */
export async function commentsInARow(tx: ReadTx, approvalId: string, agentId: string): Promise<number> {
  const last = await tx.all(lastComments, { approvalId, limit: 100 });
  const others = last.findIndex(({ author_id }) => author_id !== agentId);
  return others < 0 ? last.length : others;
}

const lastComments = query((db, p: { approvalId: string; limit: number }) =>
  db
    .selectFrom("approval_comments")
    .select("author_id")
    .where("approval_id", "=", p.approvalId)
    .orderBy("num", "desc")
    .limit(p.limit),
);

export async function approvalById(tx: ReadTx, id: string): Promise<ApprovalRow> {
  const row = await tx.first(byId, { id });
  if (row === undefined) throw notFound("approval", id);
  return row;
}

/** The open approval of a pending agent. */
export function openApprovalOf(tx: ReadTx, agentId: string): Promise<ApprovalRow | undefined> {
  return tx.first(openOfAgent, { agentId });
}

/** Open approvals about the agent, and its own create_agent requests, whose agent does not exist yet. */
export async function openApprovalsOf(tx: ReadTx, agentId: string): Promise<ApprovalRow[]> {
  return tx.all(openAround, { agentId });
}

export function lastApprovalOf(tx: ReadTx, agentId: string): Promise<ApprovalRow | undefined> {
  return tx.first(lastOfAgent, { agentId });
}

export async function openApprovalOfName(
  tx: ReadTx,
  companyId: string,
  nameKey: string,
): Promise<ApprovalRow | undefined> {
  return tx.first(openOfName, { companyId, nameKey });
}

export async function dueApprovals(tx: ReadTx, limit: number): Promise<ApprovalRow[]> {
  return tx.all(due, { now: tx.now, limit });
}

export const nextExpiry = query((db, _: Record<never, never>) =>
  db
    .selectFrom("approvals")
    .select("expires_at")
    .where("expires_at", "is not", null)
    .where(isOpen)
    .orderBy("expires_at")
    .limit(1),
);

export async function setStatus(
  tx: Tx,
  row: ApprovalRow,
  status: ApprovalStatus,
  note: string | null,
): Promise<ApprovalRow> {
  const decidedAt = openStatuses.includes(status) ? null : tx.now;
  await tx.run(updateStatus, { id: row.id, status, note, now: tx.now, decidedAt });
  return { ...row, status, decision_note: note, updated_at: tx.now, decided_at: decidedAt };
}

export async function setPayload(tx: Tx, row: ApprovalRow, payload: Payload): Promise<ApprovalRow> {
  const before = payloadOf(row)["revision"];
  const next = { ...payload, revision: (typeof before === "number" ? before : 1) + 1 };
  const changed = { payload: canonicalJson(next), payload_hash: payloadHash(next) };
  await tx.run(updatePayload, {
    id: row.id,
    payload: changed.payload,
    payloadHash: changed.payload_hash,
    now: tx.now,
  });
  return { ...row, ...changed, updated_at: tx.now };
}

/** Rejects an approval whose time to decide is over. */
export async function expire(tx: Tx, approval: ApprovalRow | undefined): Promise<boolean> {
  const isOver =
    approval !== undefined &&
    openStatuses.includes(approval.status) &&
    approval.expires_at !== null &&
    approval.expires_at <= tx.now;
  if (!isOver) return false;
  await setStatus(tx, approval, "rejected", "timeout");
  await append(tx, {
    companyId: approval.company_id,
    actor: system,
    operation: "approval.expire",
    subject: approval.agent_id ?? approval.id,
    data: { approval: approval.id, type: approval.type, note: "timeout" },
  });
  return true;
}

/** The newest create_agent request of this agent for this name. */
export async function lastOfNameBy(
  tx: ReadTx,
  companyId: string,
  nameKey: string,
  requestedBy: string,
): Promise<ApprovalRow | undefined> {
  return tx.first(lastByName, { companyId, nameKey, requestedBy });
}

/** Stores the agent that the approval created. */
export const nameAgent = query((db, p: { id: string; agentId: string }) =>
  db.updateTable("approvals").set({ agent_id: p.agentId }).where("id", "=", p.id),
);

export const markAnswered = query((db, p: { id: string; now: number }) =>
  db
    .updateTable("approvals")
    .set({ answered_at: p.now })
    .where("id", "=", p.id)
    .where("answered_at", "is", null),
);

export function payloadOf(row: Pick<ApprovalRow, "payload">): Payload {
  return tables.approvals.payload.parse(row.payload);
}

export async function pageOfApprovals(
  tx: ReadTx,
  filter: {
    companyId: string;
    requestedBy: string | null;
    status: ApprovalStatus | undefined;
    before: number;
    limit: number;
  },
): Promise<ApprovalRow[]> {
  return tx.all(
    dynamic((db) => {
      let list = db
        .selectFrom("approvals")
        .selectAll()
        .where("company_id", "=", filter.companyId)
        .where("num", "<", filter.before);
      if (filter.requestedBy !== null) list = list.where("requested_by", "=", filter.requestedBy);
      if (filter.status !== undefined) list = list.where("status", "=", filter.status);
      return list.orderBy("num", "desc").limit(filter.limit);
    }),
    {},
  );
}

export type CommentRow = Row<"approval_comments">;

export async function insertComment(tx: Tx, comment: NewRow<"approval_comments">): Promise<void> {
  await tx.run(insertCommentRow, comment);
}

export function commentsOf(
  tx: ReadTx,
  approvalId: string,
  after: number,
  limit: number,
): Promise<(CommentRow & { author_name: string | null })[]> {
  return tx.all(commentsAfter, { approvalId, after, limit });
}

const byId = query((db, p: { id: string }) => db.selectFrom("approvals").selectAll().where("id", "=", p.id));

const openOfAgent = query((db, p: { agentId: string }) =>
  db
    .selectFrom("approvals")
    .selectAll()
    .where("agent_id", "=", p.agentId)
    .where("agent_id", "is not", null)
    .where(isOpen),
);

const openAround = query((db, p: { agentId: string }) =>
  db
    .selectFrom("approvals")
    .selectAll()
    .where("agent_id", "=", p.agentId)
    .where("agent_id", "is not", null)
    .where(isOpen)
    .unionAll(
      db
        .selectFrom("approvals")
        .selectAll()
        .where("requested_by", "=", p.agentId)
        .where("agent_id", "is", null)
        .where(isOpen),
    ),
);

const lastOfAgent = query((db, p: { agentId: string }) =>
  db.selectFrom("approvals").selectAll().where("agent_id", "=", p.agentId).orderBy("num", "desc").limit(1),
);

const openOfName = query((db, p: { companyId: string; nameKey: string }) =>
  db
    .selectFrom("approvals")
    .selectAll()
    .where("company_id", "=", p.companyId)
    .where("name_key", "=", p.nameKey)
    .where("name_key", "is not", null)
    .where(isOpen),
);

const lastByName = query((db, p: { companyId: string; nameKey: string; requestedBy: string }) =>
  db
    .selectFrom("approvals")
    .selectAll()
    .where("requested_by", "=", p.requestedBy)
    .where("company_id", "=", p.companyId)
    .where("name_key", "=", p.nameKey)
    .orderBy("num", "desc")
    .limit(1),
);

const due = query((db, p: { now: number; limit: number }) =>
  db
    .selectFrom("approvals")
    .selectAll()
    .where("expires_at", "<=", p.now)
    .where("expires_at", "is not", null)
    .where(isOpen)
    .orderBy("expires_at")
    .limit(p.limit),
);

const insertRow = insertion("approvals");

const updateStatus = query(
  (
    db,
    p: { id: string; status: ApprovalStatus; note: string | null; now: number; decidedAt: number | null },
  ) =>
    db
      .updateTable("approvals")
      .set({ status: p.status, decision_note: p.note, updated_at: p.now, decided_at: p.decidedAt })
      .where("id", "=", p.id),
);

const updatePayload = query((db, p: { id: string; payload: string; payloadHash: string; now: number }) =>
  db
    .updateTable("approvals")
    .set({ payload: p.payload, payload_hash: p.payloadHash, updated_at: p.now })
    .where("id", "=", p.id),
);

const insertCommentRow = insertion("approval_comments");

const commentsAfter = query((db, p: { approvalId: string; after: number; limit: number }) =>
  db
    .selectFrom("approval_comments as c")
    .leftJoin("agents as a", "a.id", "c.author_id")
    .selectAll("c")
    .select("a.name as author_name")
    .where("c.approval_id", "=", p.approvalId)
    .where("c.num", ">", p.after)
    .orderBy("c.num")
    .limit(p.limit),
);
