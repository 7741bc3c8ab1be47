import { z } from "zod";
import { JsonObject } from "../contract/words.ts";
import * as contract from "../contract/approvals.ts";
import { notFound } from "../contract/refusal.ts";
import { type Call, type Guarded, guarded } from "../dispatch/guarded.ts";
import type { CallContext, Writing } from "../dispatch/context.ts";
import { isActive, isAtOrBelow, memberById, rootAgentOf } from "../capabilities/members.ts";
import { nameOfBy } from "../capabilities/people.ts";
import { holds } from "../capabilities/rights.ts";
import type { Viewer } from "../capabilities/visible.ts";
import { notify } from "../mail/notices.ts";
import { defaultPage, numberCursor, pageAfter } from "../dispatch/page.ts";
import { brainMarks } from "../brains/registry.ts";
import { redact, redactText } from "../redaction/redact.ts";
import { hasWords, wordsOf } from "../store/search-words.ts";
import type { ReadTx } from "../store/store.ts";
import { abilitiesOf } from "./abilities.ts";
import {
  type ApprovalRow,
  canMove,
  isRevisable,
  openStatuses,
  type Payload,
  payloadOf,
  revisionOf,
} from "./approval.ts";
import { noSections } from "./sections.ts";
import { concluder, recordStep } from "./concluding.ts";
import type { ApprovalKinds, MoneyOf } from "./kinds.ts";
import { diffOf, changedFields } from "./fields.ts";
import {
  approvalById,
  approvalsPage,
  approvalsThat,
  openApproval,
  revise,
  revisionAt,
  revisionsAfter,
  setStatus,
  stepsPage,
} from "./table.ts";
import {
  addStep,
  commentsInARow,
  isEnd,
  lastStep,
  newestSteps,
  otherMustDecide,
  presentAuthor,
  whyEnded,
  stepOfRevision,
  type StepRow,
} from "./thread.ts";
import {
  changedSinceSeen,
  expiredUndecided,
  namesIn,
  newComment,
  notPossibleFrom,
  onlyRequester,
  onlyRootProposes,
  revisionWanted,
  titleOf,
  tooManyComments,
  yesOrNo,
} from "./texts.ts";

const mostInARow = 20;

type Decision = {
  id: string;
  decisionNote?: string | undefined;
  payloadHash?: string | undefined;
};

export function approvalHandlers(kinds: ApprovalKinds, moneyOf: MoneyOf): Guarded[] {
  const conclude = concluder(kinds, moneyOf);

  /** Returns the approval if the caller may see it, it can move to this status, and its payload is the one the caller saw. */
  async function considered(call: Call<Decision>, to: contract.ApprovalStatus): Promise<ApprovalRow> {
    const { tx } = call;
    const approval = await visible(call, call.input.id);
    if (!canMove(approval.status, to))
      throw notPossibleFrom(approval.status, to, await settledBy(tx, approval));
    if (to !== "cancelled" && to !== "pending") {
      const refusal = await otherMustDecide(tx, call.actor.personId, approval);
      if (refusal !== undefined) throw refusal;
    }
    if (approval.expires_at !== null && approval.expires_at <= tx.now) throw expiredUndecided();
    const seen = call.input.payloadHash;
    if (seen !== undefined && seen !== approval.payload_hash) throw changedSinceSeen(approval.payload_hash);
    return approval;
  }

  const decide = (to: "approved" | "rejected" | "cancelled") => async (call: Call<Decision>) => {
    const approval = await considered(call, to);
    if (to === "cancelled") await demandRequester(call, approval);
    const note = call.input.decisionNote ?? null;
    return presentApproval(call.tx, await conclude(call, approval, to, note), call.actor);
  };

  const onRequest = guarded(contract.requestApproval, async (call) => {
    const { tx, actor, companyId, input } = call;
    if (actor.agentId === null || actor.agentId !== (await rootAgentOf(tx, companyId)))
      throw onlyRootProposes();
    const payload = { requestedByAgentId: actor.agentId, plan: input.payload.plan };
    const request = { type: input.type, payload, requestedBy: actor.agentId };
    return presentApproval(tx, await openApproval(call, request, contract.requestApproval.name), actor);
  });

  const onRequestRevision = guarded(contract.requestRevision, async (call) => {
    const approval = await considered(call, "revision_requested");
    if (!isRevisable(approval.type)) throw yesOrNo();
    const note = call.input.decisionNote ?? null;
    const saved = await setStatus(call.tx, approval, "revision_requested", note);
    const step = await addStep(call, saved, "revision_requested", note);
    await recordStep(call, saved, "revision_requested");
    const by = await authorName(call.tx, step);
    await tell(call, approval, revisionWanted(redactText(titleOf(approval)), approval.id, by, note));
    return presentApproval(call.tx, saved, call.actor);
  });

  const onResubmit = guarded(contract.resubmit, async (call) => {
    const approval = await considered(call, "pending");
    await demandRequester(call, approval);
    const { redraft } = kinds[approval.type];
    const payload =
      redraft === undefined ? payloadOf(approval) : await redraft(call, approval, call.input.payload ?? {});
    const note = call.input.decisionNote ?? null;
    const saved = await setStatus(call.tx, await revise(call, approval, payload, note), "pending", note);
    await recordStep(call, saved, "revised");
    return presentApproval(call.tx, saved, call.actor);
  });

  const onView = guarded(contract.viewApproval, async (call) => {
    const { tx, actor } = call;
    const approval = await visible(call, call.input.id);
    const { summary, sections } = kinds[approval.type];
    const isOpen = openStatuses.includes(approval.status);
    const known = { ...noSections, ...(await sections?.(tx, approval, actor)) };
    const other =
      isOpen && actor.agentId === null ? await otherMustDecide(tx, actor.personId, approval) : undefined;
    const changes = {
      ...known,
      obstacles: [...(other === undefined ? [] : [`${other.message} ${other.hint}`]), ...known.obstacles],
      money: await (isOpen ? moneyOf : moneyThen)(tx, approval, actor),
      summary: (await summary(tx, approval)).map(redactText),
      fields: changedFields(await readable(tx, approval, actor)),
    };
    const timeline = await presentSteps(tx, approval, await newestSteps(tx, approval.id));
    return { ...(await presentApproval(tx, approval, actor)), changes, timeline };
  });

  const onList = guarded(contract.listApprovals, async ({ tx, actor, companyId, input }) => {
    const seesAll = actor.agentId === null || actor.agentId === (await rootAgentOf(tx, companyId));
    const requested_by = seesAll ? undefined : actor.agentId;
    const where = { company_id: companyId, requested_by, status: input.status, type: input.type };
    const words = input.text === undefined ? undefined : wordsOf(input.text);
    const hasThem = async (row: ApprovalRow): Promise<boolean> => {
      const requester = await memberById(tx, row.requested_by);
      const text = `${redactText(namesIn(row))} ${requester?.name ?? ""} ${requester?.role ?? ""}`;
      return words !== undefined && words.length > 0 && hasWords(text, words);
    };
    const { page, count, nextCursor } =
      words === undefined
        ? await approvalsPage(tx, where, input)
        : await approvalsThat(hasThem, tx, where, input);
    const approvals = [];
    for (const row of page) {
      const [title = ""] = await kinds[row.type].summary(tx, row);
      approvals.push({ ...(await presentApproval(tx, row, actor)), title: redactText(title) });
    }
    return { approvals, count, nextCursor };
  });

  const onTimeline = guarded(contract.approvalTimeline, async (call) => {
    const { tx, input } = call;
    const approval = await visible(call, input.id);
    const { page, nextCursor } = await stepsPage(tx, approval.id, input);
    return { timeline: await presentSteps(tx, approval, page), nextCursor };
  });

  const onRevisions = guarded(contract.listRevisions, async (call) => {
    const { tx, actor, input } = call;
    const approval = await visible(call, input.id);
    const after = numberCursor(input.cursor);
    const limit = (input.limit ?? defaultPage) + 1;
    const rows = await tx.all(revisionsAfter, { approval_id: approval.id, after, limit });
    const { page, nextCursor } = pageAfter(rows, input.limit, ({ revision }) => String(revision));
    const revisions = [];
    for (const row of page) {
      const step = await tx.first(stepOfRevision, { approval_id: approval.id, revision: row.revision });
      if (step === undefined) throw new Error(`revision ${row.revision} of ${approval.id} has no step`);
      const shown = redact(await readable(tx, row, actor), brainMarks);
      revisions.push({
        revision: row.revision,
        payload: JsonObject.parse(shown.value),
        redactedPaths: shown.redactedPaths,
        payloadHash: row.hash,
        by: await presentAuthor(tx, step),
        note: step.body === null ? null : redactText(step.body),
        at: new Date(step.created_at).toISOString(),
        diff: await diffBefore(tx, approval, row.revision),
      });
    }
    return { revisions, nextCursor };
  });

  const onComment = guarded(contract.commentOnApproval, async (call) => {
    const { tx, actor, input } = call;
    const approval = await visible(call, input.id);
    if (actor.agentId !== null && (await commentsInARow(tx, approval.id, actor.agentId)) >= mostInARow)
      throw tooManyComments(mostInARow);
    const step = await addStep(call, approval, "comment", input.body);
    await call.record(approval.agent_id ?? approval.id, { approval: approval.id, comment: step.id });
    const title = redactText(titleOf(approval));
    if (actor.agentId !== approval.requested_by)
      await tell(call, approval, newComment(title, approval.id, await authorName(tx, step), input.body));
    return presentComment(tx, step);
  });

  const onComments = guarded(contract.listComments, async (call) => {
    const approval = await visible(call, call.input.id);
    const { page, nextCursor } = await stepsPage(call.tx, approval.id, call.input, true);
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
    onTimeline,
    onRevisions,
    onComment,
    onComments,
  ];
}

async function presentSteps(tx: ReadTx, approval: ApprovalRow, steps: readonly StepRow[]) {
  const shown = [];
  for (const step of steps)
    shown.push({
      kind: step.kind,
      by: await presentAuthor(tx, step),
      at: new Date(step.created_at).toISOString(),
      note: step.body === null ? null : redactText(step.body),
      revision: step.revision,
      selfDecided: step.self_decided === 1,
      diff: step.kind === "revised" ? await diffBefore(tx, approval, step.revision) : [],
    });
  return shown;
}

/** The budgets as they were when the approval ended. An agent sees its own and those of the agents below it. */
async function moneyThen(
  tx: ReadTx,
  approval: ApprovalRow,
  { agentId }: Viewer,
): Promise<contract.MoneyChange[]> {
  const kept = (await lastStep(tx, approval.id))?.money ?? null;
  if (kept === null) return [];
  const shown = [];
  for (const change of z.array(contract.MoneyChange).parse(JSON.parse(kept)))
    if (agentId === null || (await isAtOrBelow(tx, change.pool.id, agentId))) shown.push(change);
  return shown;
}

/** The changes of a revision. */
async function diffBefore(
  tx: ReadTx,
  approval: ApprovalRow,
  revision: number,
): Promise<contract.FieldChange[]> {
  const at = (number: number) => tx.first(revisionAt, { approval_id: approval.id, revision: number });
  const [former, later] = [await at(revision - 1), await at(revision)];
  return former === undefined || later === undefined ? [] : diffOf(payloadOf(former), payloadOf(later));
}

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

/** Whether the caller sees how agents are configured. People, the root agent and agents that may hire do. */
export async function seesConfigurations(
  tx: ReadTx,
  { agentId }: Viewer,
  companyId: string,
): Promise<boolean> {
  if (agentId === null || agentId === (await rootAgentOf(tx, companyId))) return true;
  return holds(tx, agentId, "org:hire", "use");
}

/** The payload as the viewer may see it. The former values of a proposed change are part of the agent's configuration. */
async function readable(
  tx: ReadTx,
  row: Pick<ApprovalRow, "company_id" | "payload">,
  viewer: Viewer,
): Promise<Payload> {
  const { before, ...payload } = payloadOf(row);
  if (before === undefined || !(await seesConfigurations(tx, viewer, row.company_id))) return payload;
  return { ...payload, before };
}

async function demandRequester(call: Writing, approval: ApprovalRow): Promise<void> {
  if (call.actor.agentId === null || call.actor.agentId === approval.requested_by) return;
  throw onlyRequester();
}

export async function presentApproval(
  tx: ReadTx,
  row: ApprovalRow,
  viewer: Viewer,
): Promise<contract.Approval> {
  const requester = await memberById(tx, row.requested_by);
  const shown = redact(await readable(tx, row, viewer), brainMarks);
  const note = row.decision_note === null ? null : redactText(row.decision_note);
  const decision = await decisionOn(tx, row);
  return {
    id: row.id,
    type: row.type,
    status: row.status,
    payload: JsonObject.parse(shown.value),
    payloadHash: row.payload_hash,
    revision: revisionOf(row),
    redactedPaths: shown.redactedPaths,
    agentId: row.agent_id,
    requestedBy: row.requested_by === null ? null : { id: row.requested_by, name: requester?.name ?? "" },
    decisionNote: note,
    decision,
    abilities: await abilitiesOf(tx, row, viewer),
    createdAt: new Date(row.created_at).toISOString(),
    updatedAt: new Date(row.updated_at).toISOString(),
    decidedAt: row.decided_at === null ? null : new Date(row.decided_at).toISOString(),
    decidedBy: decision?.by ?? null,
    expiresAt: row.expires_at === null ? null : new Date(row.expires_at).toISOString(),
  };
}

async function decisionOn(tx: ReadTx, row: ApprovalRow): Promise<contract.Approval["decision"]> {
  const { status } = row;
  if (status === "pending" || status === "revision_requested") return null;
  const step = await lastStep(tx, row.id);
  if (step === undefined || !isEnd(step.kind)) throw new Error(`approval ${row.id} ended without a step`);
  return {
    result: status,
    reason: whyEnded[step.kind],
    by: await presentAuthor(tx, step),
    at: new Date(step.created_at).toISOString(),
    note: step.body === null ? null : redactText(step.body),
    selfDecided: step.self_decided === 1,
  };
}

async function presentComment(tx: ReadTx, row: StepRow) {
  const by = await presentAuthor(tx, row);
  return {
    id: row.id,
    approvalId: row.approval_id,
    kind: row.kind,
    by,
    author: by.agent ?? null,
    body: row.body ?? "",
    createdAt: new Date(row.created_at).toISOString(),
  };
}

/** The name of a step's author in texts. */
const authorName = async (tx: ReadTx, step: StepRow): Promise<string> =>
  nameOfBy(await presentAuthor(tx, step));

/** Who took the last step, and how long ago. */
async function settledBy(tx: ReadTx, { id }: ApprovalRow) {
  const last = await lastStep(tx, id);
  if (last === undefined) return undefined;
  const { kind, created_at: at } = last;
  return { kind, by: await authorName(tx, last), at, ago: tx.now - at };
}

async function isThere(tx: ReadTx, agentId: string): Promise<boolean> {
  const member = await memberById(tx, agentId);
  return member !== undefined && isActive(member);
}
