import { sql, type SqlBool } from "kysely";
import type { ApprovalStatus, ApprovalType } from "../contract/approvals.ts";
import { notFound } from "../contract/refusal.ts";
import { canonicalJson } from "../contract/canonical.ts";
import { inUse } from "../dispatch/company-settings.ts";
import type { Writing } from "../dispatch/context.ts";
import { countOf, cursorRow, pageAfter, pageByNumber, type PageInput } from "../dispatch/page.ts";
import { insertion, laterRow } from "../store/inserts.ts";
import { query, selection, updating } from "../store/query.ts";
import type { NewRow, Row } from "../store/schema.ts";
import { tooManyRequests } from "./texts.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { type ApprovalRow, openStatuses, type Payload, payloadHash, revisionOf } from "./approval.ts";
import { addStep } from "./thread.ts";

/** Spelled exactly as in the partial indexes of open approvals. With parameters, neither store would use these indexes. */
const isOpen = sql<SqlBool>`status in ('pending', 'revision_requested')`;

/** Rows of approvals and of their revisions. */
export interface NewApproval {
  readonly type: ApprovalType;
  readonly payload: Payload;
  readonly requestedBy: string | null;
  /** The pending agent that waits for this approval. */
  readonly agentId?: string;
  /** The name that the approval reserves for an agent that does not exist yet. */
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
  // The daemon asks for a bigger budget in the agent's name when it stops the agent. That request is never limited.
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
    requested_person_id: call.actor.personId,
    decision_note: null,
    created_at: tx.now,
    updated_at: tx.now,
    decided_at: null,
    expires_at: expiresAt ?? null,
    answered_at: null,
  };
  await tx.run(insertRow, row);
  const { id: approval, payload_hash } = row;
  await tx.run(insertRevision, revisionRow(row));
  await addStep(call, { ...row, num: 0 }, "created", null);
  await call.record(agentId ?? approval, { approval, type, payloadHash: payload_hash }, operation);
  return { ...row, num: 0 };
}

/** Whether the agent has the maximum number of open requests. */
export async function isTooEager(tx: ReadTx, agentId: string): Promise<boolean> {
  return (await tx.all(openByRequester, { agentId, limit: mostOpen })).length === mostOpen;
}

/** The most requests of one agent that are open at the same time. */
export const mostOpen = 20;

export async function hasOpenRequest(tx: ReadTx, agentId: string): Promise<boolean> {
  return (await tx.first(openByRequester, { agentId, limit: 1 })) !== undefined;
}

/** The undecided requests of an agent, oldest first. */
export const openByRequester = query((db, p: { agentId: string; limit: number }) =>
  db
    .selectFrom("approvals")
    .select(["id", "type", "status"])
    .where("requested_by", "=", p.agentId)
    .where(isOpen)
    .orderBy("num")
    .limit(p.limit),
);

/** A page of approvals, newest first. With `agent`, only this agent's requests and those about it. */
export async function approvalsPage(
  tx: ReadTx,
  where: { [C in "company_id" | "requested_by" | "status" | "type"]?: ApprovalRow[C] | undefined },
  { agent, ...page }: PageInput & { readonly agent?: string | undefined },
): Promise<{ page: ApprovalRow[]; count: number; nextCursor: string | null }> {
  const isOfAgent = agent && sql`(agent_id = ${agent} or requested_by = ${agent})`;
  return {
    ...(await pageByNumber(tx, "approvals", where, "newest first", page, isOfAgent)),
    count: await countOf(tx, "approvals", where, isOfAgent),
  };
}

/** A page of those that `matches` accepts. Their words are in the content of requests, which no query searches. */
export async function approvalsThat(
  matches: (row: ApprovalRow) => Promise<boolean>,
  ...[tx, where, { agent, limit, cursor }]: Parameters<typeof approvalsPage>
): ReturnType<typeof approvalsPage> {
  const found: ApprovalRow[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const { page, nextCursor } = await approvalsPage(tx, where, { agent, limit: 500, cursor: after });
    for (const row of page) if (await matches(row)) found.push(row);
    after = nextCursor;
  }
  const last = await cursorRow(cursor, async (id) => found.find((row) => row.id === id));
  const rest = last === undefined ? found : found.slice(found.indexOf(last) + 1);
  return { ...pageAfter(rest, limit, ({ id }) => id), count: found.length };
}

/** The thread, oldest first. With `said`, only its comments and notes. */
export async function stepsPage(tx: ReadTx, approvalId: string, page: PageInput, said = false) {
  const where = { approval_id: approvalId };
  return pageByNumber(tx, "approval_comments", where, "oldest first", page, said && sql`body is not null`);
}

export async function approvalById(tx: ReadTx, id: string): Promise<ApprovalRow> {
  const row = await tx.first(byId, { id });
  if (row === undefined) throw notFound("approval", id);
  return row;
}

/** Announces to the store that the approval will be read. */
export const approvalAhead = (tx: ReadTx, id: string): void => tx.ahead(byId, { id });

const byId = selection("approvals", ["id"]);

/** The open approval of a pending agent. */
export const openApprovalOf = selection(
  "approvals",
  ["agent_id"],
  sql`and agent_id is not null and ${isOpen}`,
);

/** The open requests of an agent that end when it leaves. A pending hire stays, with the agent's heir as manager. */
export const openRequestsBy = selection(
  "approvals",
  ["requested_by"],
  sql`and type <> 'hire_agent' and ${isOpen}`,
);

/** The last request to hire this agent. Other requests about the agent only exist once it is employed. */
export const lastHireOf = selection(
  "approvals",
  ["agent_id"],
  sql`and type = 'hire_agent' order by num desc limit 1`,
);

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

/** Requests that expire. In an archived company nothing changes, so its requests expire once the company is active again. */
export const undecided = sql`expires_at is not null and ${isOpen} and ${inUse("approvals")}`;

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

/** Replaces the payload. The former payload stays as a revision, and the thread says who changed it. */
export async function revise(
  call: Writing,
  row: ApprovalRow,
  payload: Payload,
  note: string | null,
): Promise<ApprovalRow> {
  const { tx } = call;
  const next = { ...payload, revision: revisionOf(row) + 1 };
  const changed = { payload: canonicalJson(next), payload_hash: payloadHash(next), updated_at: tx.now };
  await tx.run(updatePayload, { id: row.id, ...changed });
  const revised = { ...row, ...changed };
  await tx.run(insertRevision, revisionRow(revised));
  await addStep(call, revised, "revised", note);
  return revised;
}

const revisionRow = (row: Omit<ApprovalRow, "num">): Row<"approval_revisions"> => ({
  approval_id: row.id,
  revision: revisionOf(row),
  company_id: row.company_id,
  payload: row.payload,
  hash: row.payload_hash,
});

export const revisionsAfter = selection(
  "approval_revisions",
  ["approval_id"],
  (p: { after: number; limit: number }) => sql`and revision > ${p.after} order by revision limit ${p.limit}`,
);
export const revisionAt = selection("approval_revisions", ["approval_id", "revision"]);

/** Stores the agent that the approval created. */
export const nameAgent = updating("approvals", ["agent_id"], ["id"]);

export const markAnswered = updating("approvals", ["answered_at"], ["id"], sql`and answered_at is null`);

const insertRow = insertion("approvals");
const updateStatus = updating("approvals", ["status", "decision_note", "updated_at", "decided_at"], ["id"]);
const updatePayload = updating("approvals", ["payload", "payload_hash", "updated_at"], ["id"]);
const insertRevision = laterRow("approval_revisions");
