import { sql, type SqlBool } from "kysely";
import type { ApprovalStatus, ApprovalType } from "../contract/approvals.ts";
import { notFound } from "../contract/refusal.ts";
import { canonicalJson } from "../contract/canonical.ts";
import type { Writing } from "../dispatch/context.ts";
import { type Db, insertion, query, selection, updating } from "../store/query.ts";
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
  readonly type: ApprovalType;
  readonly payload: Payload;
  readonly requestedBy: string | null;
  /** The agent that waits for it. */
  readonly agentId?: string;
  /** The name that it holds for an agent that does not exist yet. */
  readonly nameKey?: string;
  readonly expiresAt?: number;
}

/** Opens an approval and records it, as `approval.create` unless another name is given. */
export async function openApproval(
  call: Writing,
  { type, payload: asked, requestedBy, agentId, nameKey, expiresAt }: NewApproval,
  operation = "approval.create",
): Promise<ApprovalRow> {
  const { tx } = call;
  // The daemon asks for more budget in the agent's name when it stops the agent. That request is never limited.
  const isAsked = requestedBy !== null && type !== "budget_override";
  if (isAsked && (await isTooEager(tx, requestedBy))) throw tooManyRequests(mostOpen);
  // The revision number changes the hash even if a payload is resubmitted unchanged.
  const payload = { ...asked, revision: 1 };
  const row: NewRow<"approvals"> = {
    id: call.newId(),
    company_id: call.companyId,
    type,
    status: "pending",
    payload: canonicalJson(payload),
    payload_hash: payloadHash(payload),
    agent_id: agentId ?? null,
    name_key: nameKey ?? null,
    requested_by: requestedBy,
    decision_note: null,
    created_at: tx.now,
    updated_at: tx.now,
    decided_at: null,
    expires_at: expiresAt ?? null,
    answered_at: null,
  };
  await tx.run(insertRow, row);
  const { id: approval, payload_hash } = row;
  await call.record(agentId ?? approval, { approval, type, payloadHash: payload_hash }, operation);
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
  const last = await tx.all(lastComments, { approval_id: approvalId });
  const others = last.findIndex(({ author_id }) => author_id !== agentId);
  return others < 0 ? last.length : others;
}

const lastComments = selection("approval_comments", ["approval_id"], sql`order by num desc limit 100`);

export async function approvalById(tx: ReadTx, id: string): Promise<ApprovalRow> {
  const row = await tx.first(byId, { id });
  if (row === undefined) throw notFound("approval", id);
  return row;
}

const byId = selection("approvals", ["id"]);

/** The open approval of a pending agent. */
export const openApprovalOf = selection(
  "approvals",
  ["agent_id"],
  sql`and agent_id is not null and ${isOpen}`,
);

/** An agent's own open create_agent requests, whose agent does not exist yet. */
export const openCreationsBy = selection(
  "approvals",
  ["requested_by"],
  sql`and agent_id is null and ${isOpen}`,
);

export const lastApprovalOf = selection("approvals", ["agent_id"], sql`order by num desc limit 1`);

/** The open approval that holds a name. */
export const openApprovalOfName = selection(
  "approvals",
  ["company_id", "name_key"],
  sql`and name_key is not null and ${isOpen}`,
);

/** The newest create_agent request of this agent for this name. */
export const lastOfNameBy = selection(
  "approvals",
  ["requested_by", "company_id", "name_key"],
  sql`order by num desc limit 1`,
);

const expiring = (db: Db) =>
  db
    .selectFrom("approvals")
    .selectAll()
    .where("expires_at", "is not", null)
    .where(isOpen)
    .orderBy("expires_at");
export const dueApprovals = query((db, p: { now: number; limit: number }) =>
  expiring(db).where("expires_at", "<=", p.now).limit(p.limit),
);
export const nextExpiry = query((db, _: Record<never, never>) => expiring(db).limit(1));

export async function setStatus(
  tx: Tx,
  row: ApprovalRow,
  status: ApprovalStatus,
  note: string | null,
): Promise<ApprovalRow> {
  const decidedAt = openStatuses.includes(status) ? null : tx.now;
  const changed = { status, decision_note: note, updated_at: tx.now, decided_at: decidedAt };
  await tx.run(updateStatus, { id: row.id, ...changed });
  return { ...row, ...changed };
}

export async function setPayload(tx: Tx, row: ApprovalRow, payload: Payload): Promise<ApprovalRow> {
  const before = payloadOf(row)["revision"];
  const next = { ...payload, revision: (typeof before === "number" ? before : 1) + 1 };
  const changed = { payload: canonicalJson(next), payload_hash: payloadHash(next), updated_at: tx.now };
  await tx.run(updatePayload, { id: row.id, ...changed });
  return { ...row, ...changed };
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
  append(tx, {
    companyId: approval.company_id,
    actor: system,
    operation: "approval.expire",
    subject: approval.agent_id ?? approval.id,
    data: { approval: approval.id, type: approval.type, note: "timeout" },
  });
  return true;
}

/** Stores the agent that the approval created. */
export const nameAgent = updating("approvals", ["agent_id"], ["id"]);

export const markAnswered = updating("approvals", ["answered_at"], ["id"], sql`and answered_at is null`);

export function payloadOf(row: Pick<ApprovalRow, "payload">): Payload {
  return tables.approvals.payload.parse(row.payload);
}

const insertRow = insertion("approvals");
const updateStatus = updating("approvals", ["status", "decision_note", "updated_at", "decided_at"], ["id"]);
const updatePayload = updating("approvals", ["payload", "payload_hash", "updated_at"], ["id"]);

export const insertComment = insertion("approval_comments");
