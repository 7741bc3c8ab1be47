import * as agents from "../contract/agents.ts";
import * as approvals from "../contract/approvals.ts";
import type { Ability } from "../contract/attention.ts";
import { type Measure, measures, setBudget } from "../contract/budgets.ts";
import { type CompanyState, thawCompany, unarchiveCompany, updateCompany } from "../contract/companies.ts";
import { delegateOutcome, decideOutcome } from "../contract/delegation.ts";
import { setGoalBudget } from "../contract/goals.ts";
import { sendMessage } from "../contract/mail.ts";
import { callTo } from "../contract/operation.ts";
import * as outcomes from "../contract/outcomes.ts";
import { setSecret } from "../contract/secrets.ts";
import type { ApprovalRow } from "../approvals/approval.ts";
import type { ApprovalKinds } from "../approvals/kinds.ts";
import { approvalById } from "../approvals/table.ts";
import { otherMustDecide } from "../approvals/thread.ts";
import { isEscalated } from "../outcomes/review.ts";
import type { ReadTx } from "../store/store.ts";
import type { Looked, LookedAgent, Sight } from "./sight.ts";
import type { Cause, Trail } from "./trail.ts";

/** The calls that settle the end of a trail. `why` and the attention list offer the same calls. */

/** The viewer: a position or, for null, the board. */
export interface Helper {
  readonly companyId: string;
  readonly you: string | null;
  readonly personId?: string | null;
}

export const helperOf = ({
  companyId,
  sight: { you },
}: {
  readonly companyId: string;
  readonly sight: { readonly you: string | null };
}): Helper => ({ companyId, you });

export const agentCalls = (agent: LookedAgent | undefined): Ability[] =>
  agent?.status === "paused" ? [callTo(agents.resumeAgent, { id: agent.id })] : [];

export function outcomeCalls(helper: Helper, outcome: Looked, kind: Cause["kind"]): Ability[] {
  if (kind === "verdict") return verdictCalls(outcome);
  if (kind === "budget") return limitCalls(helper, outcome);
  return kind === "question" ? workCalls(outcome) : stallCalls(helper, outcome);
}

const verdictCalls = ({ id }: Looked): Ability[] => [callTo(decideOutcome, { id })];

const limitCalls = ({ companyId }: Helper, { id, blocked_reason }: Looked): Ability[] => [
  blocked_reason?.includes("cost limit") === true
    ? callTo(updateCompany, { companyId }, ["maxOutcomeUsd"])
    : callTo(setGoalBudget, { id }),
  callTo(outcomes.closeOutcome, { id }),
];

/** The calls of a person for work of their own position. */
const workCalls = ({ id, delegated }: Looked): Ability[] => [
  callTo(delegated === 1 ? outcomes.submitOutcome : outcomes.completeOutcome, { id }),
  callTo(outcomes.updateOutcome, { id }, ["blocked"]),
];

function stallCalls({ companyId, you }: Helper, outcome: Looked): Ability[] {
  const { id, kind, status, responsible_id: owner, delegated_by: verifier } = outcome;
  const write = (to: string | null): Ability =>
    callTo(sendMessage, { companyId, ...(to !== null && { to }) }, ["body"]);
  // The next message unblocks an inbox (mail/post.ts), and makes a verifier look again.
  if (kind === "inbox") return [write(owner)];
  if (status === "submitted") return [write(verifier), ...verdictCalls(outcome)];
  // Escalated work must be decided; it can't be unblocked.
  if (you !== null && isEscalated(outcome)) return [write(verifier)];
  return [
    outcome.blocked_reason !== null
      ? { ...callTo(outcomes.updateOutcome, { id, blocked: null }), command: `agency unblock ${id}` }
      : owner === null
        ? callTo(delegateOutcome, { id }, ["to"])
        : callTo(outcomes.updateOutcome, { id }),
    callTo(outcomes.closeOutcome, { id }),
  ];
}

/**
 * The calls on an open request, by the board or by the requester from its position. `isOthers` means that another board person
 * has to decide it, because this person or their position asked for it.
 */
export function requestCalls(
  { you }: Helper,
  row: ApprovalRow,
  kinds: ApprovalKinds,
  isOthers = false,
): Ability[] {
  const decide = { id: row.id, payloadHash: row.payload_hash };
  const isPending = row.status === "pending";
  const isYours = you === null && !isOthers;
  const canRevise = isPending && isYours && kinds[row.type].redraft !== undefined;
  return [
    ...(isPending ? [] : [callTo(approvals.resubmit, { id: row.id })]),
    ...(isPending && isYours ? [callTo(approvals.approve, decide)] : []),
    isYours ? callTo(approvals.reject, decide) : callTo(approvals.cancelApproval, { id: row.id }),
    ...(canRevise ? [callTo(approvals.requestRevision, decide)] : []),
  ];
}

export const poolCalls = ({ companyId }: Helper, id: string, measure: Measure): Ability[] => [
  id === companyId
    ? callTo(updateCompany, { companyId }, ["monthlyBudget"])
    : callTo(setBudget, { id }, [measure]),
];

/** The calls for a brain that can't be used: set the missing secret, or give its agents another brain. */
export function brainCalls(
  { companyId }: Helper,
  { about, on }: Cause,
  concerned: Iterable<string>,
): Ability[] {
  if (about === "secret") return [callTo(setSecret, { companyId, name: on })];
  if (about !== "brain") return [];
  return [...concerned].map((id) => callTo(agents.updateAgent, { id }, ["adapterType"]));
}

/** The calls that start a stopped company again. Only a person can make them. */
export const startCalls = (companyId: string, state: CompanyState): Ability[] =>
  state === "active" ? [] : [callTo(state === "frozen" ? thawCompany : unarchiveCompany, { companyId })];

/** The calls that help at the end of one trail. From a position, only those that the position can make. */
export async function callsFor(
  tx: ReadTx,
  sight: Sight,
  helper: Helper,
  trail: Trail,
  kinds: ApprovalKinds,
): Promise<Ability[]> {
  const { cause, leaf } = trail;
  if (cause === undefined) return [];
  const { kind, about, on } = cause;
  const { you } = helper;
  if (about === "agent") {
    const agent = await sight.agent(on);
    return you === null || agent?.boss_id === you ? agentCalls(agent) : [];
  }
  if (about === "outcome") {
    const outcome = await sight.outcome(on);
    const isYours = you === null || [outcome.responsible_id, outcome.delegated_by].includes(you);
    return isYours ? outcomeCalls(helper, outcome, kind) : [];
  }
  if (about === "budget") {
    const [id = "", measure] = on.split(" ");
    const known = measures.find((each) => each === measure);
    const isYours = you === null || (await sight.agent(id))?.boss_id === you;
    return known !== undefined && isYours ? poolCalls(helper, id, known) : [];
  }
  // Only the board decides requests, sets secrets and chooses brains.
  if (you !== null) return [];
  if (about === "approval") {
    const row = await approvalById(tx, on);
    const isOthers = (await otherMustDecide(tx, helper.personId ?? null, row)) !== undefined;
    return requestCalls(helper, row, kinds, isOthers);
  }
  let end = trail;
  while (end.next !== undefined) end = end.next;
  const { step } = end;
  const thinker = step.kind === "agent" ? step.id : leaf && (await sight.outcome(leaf)).responsible_id;
  return brainCalls(helper, cause, thinker ? [thinker] : []);
}
