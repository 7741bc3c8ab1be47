import { sql } from "kysely";
import type { MoneyChange, StepKind } from "../contract/approvals.ts";
import type { Writing } from "../dispatch/context.ts";
import { boardPeople, holderOf, presentBy } from "../capabilities/people.ts";
import type { By } from "../contract/actors.ts";
import type { Refusal } from "../contract/refusal.ts";
import { insertion } from "../store/inserts.ts";
import { selection } from "../store/query.ts";
import type { NewRow } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { type ApprovalRow, revisionOf } from "./approval.ts";
import { ownRequest } from "./texts.ts";

/** The thread of an approval: one row for each step and each comment. Rows never change. */
export type StepRow = NewRow<"approval_comments">;

export async function addStep(
  call: Writing,
  approval: ApprovalRow,
  kind: StepKind,
  body: string | null,
  money: readonly MoneyChange[] | null = null,
): Promise<StepRow> {
  const { tx, actor } = call;
  const step: StepRow = {
    id: call.newId(),
    company_id: approval.company_id,
    approval_id: approval.id,
    kind,
    author_kind: actor.kind,
    author_id: actor.agentId,
    author_person_id: actor.personId,
    body,
    self_decided: selfDecidable.includes(kind) && (await isOwnRequest(tx, actor.personId, approval)) ? 1 : 0,
    money: money === null ? null : JSON.stringify(money),
    revision: revisionOf(approval),
    created_at: tx.now,
  };
  await tx.run(insertStep, step);
  return step;
}

/** The last step of the approval, apart from comments. */
export async function lastStep(tx: ReadTx, approvalId: string): Promise<StepRow | undefined> {
  return tx.first(newestStep, { approval_id: approvalId });
}

/** Announces to the store that the last step will be read. */
export const lastStepAhead = (tx: ReadTx, approvalId: string): void =>
  tx.ahead(newestStep, { approval_id: approvalId });

/** The newest steps, at most 100, the oldest of them first. */
export async function newestSteps(tx: ReadTx, approvalId: string): Promise<StepRow[]> {
  return (await tx.all(newest, { approval_id: approvalId })).toReversed();
}

/** The number of this agent's comments at the end of the thread. */
export async function commentsInARow(tx: ReadTx, approvalId: string, agentId: string): Promise<number> {
  const last = await tx.all(newest, { approval_id: approvalId });
  const others = last.findIndex(({ kind, author_id }) => kind !== "comment" || author_id !== agentId);
  return others < 0 ? last.length : others;
}

export const presentAuthor = (tx: ReadTx, step: StepRow): Promise<By> =>
  presentBy(tx, { kind: step.author_kind, agentId: step.author_id, personId: step.author_person_id });

/** Refuses a person who decides a request of their own position while another board person can. */
export async function otherMustDecide(
  tx: ReadTx,
  personId: string | null,
  approval: ApprovalRow,
): Promise<Refusal | undefined> {
  if (!(await isOwnRequest(tx, personId, approval))) return undefined;
  const others = (await boardPeople(tx)).filter(({ id }) => id !== personId);
  return others.length === 0 ? undefined : ownRequest(others.map(({ name }) => name));
}

/** Whether this person made the request, or holds the position that did. */
async function isOwnRequest(tx: ReadTx, personId: string | null, approval: ApprovalRow): Promise<boolean> {
  if (personId === null || approval.requested_by === null) return false;
  return (
    approval.requested_person_id === personId || (await holderOf(tx, approval.requested_by))?.id === personId
  );
}

const selfDecidable: readonly StepKind[] = ["approved", "rejected", "revision_requested"];

export const isEnd = (kind: StepKind): kind is keyof typeof whyEnded => kind in whyEnded;

/** The reason why an approval ended, by its last step. */
export const whyEnded = {
  approved: "decided",
  rejected: "decided",
  cancelled: "withdrawn",
  expired: "timeout",
  overtaken: "overtaken",
} as const satisfies Partial<Record<StepKind, string>>;

/** The step that wrote a revision. */
export const stepOfRevision = selection(
  "approval_comments",
  ["approval_id", "revision"],
  sql`and kind in ('created', 'revised')`,
);

const insertStep = insertion("approval_comments");
const newest = selection("approval_comments", ["approval_id"], sql`order by num desc limit 100`);
const newestStep = selection(
  "approval_comments",
  ["approval_id"],
  sql`and kind <> 'comment' order by num desc limit 1`,
);
