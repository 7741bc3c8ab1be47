import type { ApprovalStatus, StepKind } from "../contract/approvals.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { bySystem, type Writing } from "../dispatch/context.ts";
import { isActive, memberById, membersAhead } from "../capabilities/members.ts";
import { byAhead, nameOfBy, presentBy } from "../capabilities/people.ts";
import { notify } from "../mail/notices.ts";
import { redactText } from "../redaction/redact.ts";
import { type ApprovalRow, openStatuses } from "./approval.ts";
import type { ApprovalKinds, MoneyOf } from "./kinds.ts";
import { approvalAhead, approvalById, setStatus } from "./table.ts";
import { addStep, lastStep, lastStepAhead } from "./thread.ts";
import { concluded, titleOf } from "./texts.ts";

/**
 * How approvals end: a person decides, the requester withdraws, the time is over, or another change overtakes the request. Each
 * end adds a step with its reason to the thread, records an event, and sends a notice to everyone concerned.
 */
export type Conclusion = Extract<StepKind, "approved" | "rejected" | "cancelled" | "expired" | "overtaken">;

const statuses: Readonly<Record<Conclusion, ApprovalStatus>> = {
  approved: "approved",
  rejected: "rejected",
  cancelled: "cancelled",
  expired: "rejected",
  overtaken: "cancelled",
};

/** Ends an approval and carries out the effects. The caller checks that it is open and that the actor may decide. */
export function concluder(kinds: ApprovalKinds, moneyOf: MoneyOf) {
  return async (
    call: Writing,
    approval: ApprovalRow,
    to: "approved" | "rejected" | "cancelled",
    note: string | null,
  ): Promise<ApprovalRow> => {
    const kind = kinds[approval.type];
    byAhead(call.tx, call.actor);
    membersAhead(call.tx, approval.requested_by);
    kind.ahead?.(call.tx, approval);
    const saved = await close(call, approval, to, note, moneyOf);
    approvalAhead(call.tx, approval.id);
    lastStepAhead(call.tx, approval.id);
    if (to === "approved") await kind.approve(call, saved);
    else await kind.deny(call, saved, note ?? `it was ${to}`);
    // Approving a create_agent request stores the agent that it made.
    await announceEnd(call, await approvalById(call.tx, approval.id), to);
    return approvalById(call.tx, approval.id);
  };
}

/**
 * Closes the approval, and keeps the budgets as they were and as approving would make them. The effects come next, then
 * announceEnd().
 */
async function close(
  call: Writing,
  approval: ApprovalRow,
  end: Conclusion,
  note: string | null,
  moneyOf: MoneyOf,
): Promise<ApprovalRow> {
  const money = await moneyOf(call.tx, approval, { agentId: null });
  const saved = await setStatus(call.tx, approval, statuses[end], note);
  await addStep(call, saved, end, note, money);
  return saved;
}

export async function announceEnd(
  call: Writing,
  approval: ApprovalRow,
  end: Conclusion,
  untold: readonly string[] = [],
): Promise<void> {
  await recordStep(call, approval, end);
  // A budget that was raised, or that starts again with a new month, needs no decision. Its agents simply continue.
  if (approval.type === "budget_override" && (end === "expired" || end === "overtaken")) return;
  await tellConcerned(call, approval, end, untold);
}

/** Ends an open approval because another change left nothing to decide. The agents in `untold` get no notice. */
export async function overtake(
  call: Writing,
  approval: ApprovalRow,
  why: string,
  moneyOf: MoneyOf,
  untold: readonly string[] = [],
): Promise<void> {
  await announceEnd(call, await close(call, approval, "overtaken", why, moneyOf), "overtaken", untold);
}

/** Rejects an approval whose time to decide is over. */
export async function expire(
  call: Writing,
  approval: ApprovalRow | undefined,
  moneyOf: MoneyOf,
): Promise<boolean> {
  const isOver =
    approval !== undefined &&
    openStatuses.includes(approval.status) &&
    approval.expires_at !== null &&
    approval.expires_at <= call.tx.now;
  if (!isOver || (await companyState(call.tx, approval.company_id)).state === "archived") return false;
  const clock = bySystem(call.tx, approval.company_id, call.newId);
  await announceEnd(clock, await close(clock, approval, "expired", "timeout", moneyOf), "expired");
  return true;
}

export async function recordStep(call: Writing, approval: ApprovalRow, kind: StepKind): Promise<void> {
  const { id, agent_id, type, status, decision_note, payload_hash } = approval;
  const isOwn = (await lastStep(call.tx, id))?.self_decided === 1;
  const step = { approval: id, type, status, note: decision_note, payloadHash: payload_hash };
  const data = { ...step, ...(isOwn && { selfDecided: true }) };
  await call.record(agent_id ?? id, data, events[kind] ?? `approval.${kind}`);
}

const events: Readonly<Partial<Record<StepKind, string>>> = {
  revised: "approval.resubmit",
  revision_requested: "approval.request_revision",
  approved: "approval.approve",
  rejected: "approval.reject",
  cancelled: "approval.cancel",
  overtaken: "approval.cancel",
  expired: "approval.expire",
};

/**
 * Tells the requester how its request ended, and the manager of the agent that the request is about. The requester's own
 * manager is told too, but without the note, because it can't read the thread. The acting agent is not told.
 */
async function tellConcerned(
  call: Writing,
  approval: ApprovalRow,
  end: Conclusion,
  untold: readonly string[],
): Promise<void> {
  const { tx } = call;
  const requester = await memberById(tx, approval.requested_by);
  const about = await memberById(tx, approval.agent_id);
  const by = nameOfBy(await presentBy(tx, call.actor));
  const told = new Set([call.actor.agentId, null, ...untold]);
  const receivers = [
    { id: approval.requested_by, isReader: true },
    { id: about?.boss_id ?? null, isReader: true },
    { id: requester?.boss_id ?? null, isReader: false },
  ];
  for (const { id, isReader } of receivers) {
    const receiver = told.has(id) ? undefined : await memberById(tx, id);
    told.add(id);
    if (receiver === undefined || !isActive(receiver)) continue;
    const others = receiver.id === approval.requested_by ? {} : { requester: requester?.name ?? "the board" };
    const of = { title: redactText(titleOf(approval)), id: approval.id, by, ...others };
    await notify(call, receiver.id, concluded(of, end, isReader ? approval.decision_note : null));
  }
}
