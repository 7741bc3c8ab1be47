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
import { usedUpBudget } from "../budgets/outcome-limits.ts";
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

/** What starts an agent again. A person in a position can't resume an agent that the board paused. */
export async function agentCalls(
  sight: Sight,
  you: string | null,
  agent: LookedAgent | undefined,
): Promise<Ability[]> {
  if (agent?.status !== "paused") return [];
  if (you !== null && (await sight.isPausedByBoard(agent.id))) return [];
  return [callTo(agents.resumeAgent, { id: agent.id })];
}

/** `usedUp` is the measure of the outcome's own budget that is used up. */
export function outcomeCalls(
  helper: Helper,
  outcome: Looked,
  { kind, closed }: Cause,
  usedUp: Measure | undefined,
): Ability[] {
  if (kind === "verdict") return verdictCalls(outcome);
  if (kind === "budget") return limitCalls(helper, outcome, usedUp);
  return kind === "question" ? workCalls(outcome) : stallCalls(helper, outcome, closed);
}

const verdictCalls = ({ id }: Looked): Ability[] => [callTo(decideOutcome, { id })];

/** Only the board changes a budget or a limit. */
function limitCalls({ companyId, you }: Helper, { id }: Looked, usedUp: Measure | undefined): Ability[] {
  if (you !== null) return [];
  return [
    usedUp === undefined
      ? callTo(updateCompany, { companyId }, ["maxOutcomeUsd"])
      : callTo(setGoalBudget, { id }, [`budget.${usedUp}`]),
    callTo(outcomes.closeOutcome, { id }),
  ];
}

/** The calls of a person for work of their own position. */
const workCalls = ({ id, delegated }: Looked): Ability[] => [
  callTo(delegated === 1 ? outcomes.submitOutcome : outcomes.completeOutcome, { id }),
  callTo(outcomes.updateOutcome, { id }, ["blocked.reason"]),
];

function stallCalls({ companyId, you }: Helper, outcome: Looked, closed: string | undefined): Ability[] {
  const { id, kind, status, responsible_id: owner, delegated_by: verifier } = outcome;
  const write = (to: string | null): Ability =>
    callTo(sendMessage, { companyId, ...(to !== null && { to }) }, ["body"]);
  // The next message unblocks an inbox (mail/inbox.ts), and makes a verifier look again.
  if (kind === "inbox") return [write(owner)];
  if (status === "submitted") return [write(verifier), ...verdictCalls(outcome)];
  // Escalated work must be decided; it can't be unblocked.
  if (you !== null && isEscalated(outcome)) return [write(verifier)];
  // An agent that was given the work can't close it (capabilities/structure.ts).
  const mayClose = you === null || verifier === you || (owner === you && outcome.delegated === 0);
  const close = mayClose ? [callTo(outcomes.closeOutcome, { id })] : [];
  if (outcome.blocked_reason !== null)
    return [
      { ...callTo(outcomes.updateOutcome, { id, blocked: null }), command: `agency unblock ${id}` },
      ...close,
    ];
  if (owner === null) return [callTo(delegateOutcome, { id }, ["to"]), ...close];
  // Nothing blocks the outcome itself, so what it waits for must change. Its owner can change that, or its manager.
  return [
    ...(closed !== undefined && you === null ? [callTo(outcomes.reopenOutcome, { id: closed })] : []),
    write(owner === you ? (verifier ?? "boss") : owner),
    ...close,
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
    ? callTo(updateCompany, { companyId }, [`monthlyBudget.${measure}`])
    : callTo(setBudget, { id }, [measure]),
];

/** The command reads the value from a prompt. */
export const secretCall = ({ companyId }: { readonly companyId: string }, name: string): Ability => ({
  ...callTo(setSecret, { companyId, name }),
  command: `agency secrets set ${name}`,
});

/** The calls for a brain that can't be used: set the missing secret, or give its agents another brain. */
export function brainCalls(helper: Helper, { about, on }: Cause, concerned: Iterable<string>): Ability[] {
  if (about === "secret") return [secretCall(helper, on)];
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
  const { about, on } = cause;
  const { you } = helper;
  if (about === "agent") {
    const agent = await sight.agent(on);
    return you === null || agent?.boss_id === you ? agentCalls(sight, you, agent) : [];
  }
  if (about === "outcome") {
    const outcome = await sight.outcome(on);
    const isYours = you === null || [outcome.responsible_id, outcome.delegated_by].includes(you);
    const usedUp = cause.kind === "budget" ? await usedUpBudget(tx, outcome) : undefined;
    return isYours ? outcomeCalls(helper, outcome, cause, usedUp) : [];
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
