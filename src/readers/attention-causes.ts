import * as agents from "../contract/agents.ts";
import type { Ability } from "../contract/attention.ts";
import { updateCompany } from "../contract/companies.ts";
import { setGoalBudget } from "../contract/goals.ts";
import { sendMessage } from "../contract/mail.ts";
import { callTo } from "../contract/operation.ts";
import * as outcomes from "../contract/outcomes.ts";
import { delegateOutcome, decideOutcome } from "../contract/delegation.ts";
import { setSecret } from "../contract/secrets.ts";
import { isEscalated } from "../outcomes/review.ts";
import { type Draft, lastEvents, type Look, partyRef, outcomeRef } from "./attention-items.ts";
import type { Looked } from "./sight.ts";
import * as text from "./texts.ts";
import type { Cause, Trail } from "./trail.ts";

/** The items of the attention list for which no row stands: what the trails of `why` end at. */
interface Found {
  readonly cause: Cause;
  readonly trail: Trail;
}

export async function causeItems(look: Look, found: readonly Found[]): Promise<Draft[]> {
  const mine = found.filter(({ cause }) => concerns(look, cause));
  const paused = mine.filter(({ cause }) => cause.about === "agent").map(({ cause }) => cause.on);
  const since = await lastEvents(look.tx, "agent.pause", paused);
  return mine.flatMap((one) => causeItem(look, one, since) ?? []);
}

/** Whether the viewer can do something about it. The board can do everything. */
function concerns({ sight }: Look, { kind, about, on }: Cause): boolean {
  const { you } = sight;
  if (you === null) return true;
  if (about === "agent") return sight.agentNamed(on)?.boss_id === you;
  const outcome = about === "outcome" ? sight.known(on) : undefined;
  if (outcome === undefined || kind === "budget") return false;
  if (kind === "verdict") return sight.deciderOf(outcome) === you;
  // The messages in an inbox are items themselves.
  if (kind === "question") return outcome.responsible_id === you && outcome.kind !== "inbox";
  return outcome.responsible_id === you || outcome.delegated_by === you;
}

function causeItem(look: Look, { cause, trail }: Found, since: (id: string) => number): Draft | undefined {
  const { tx, sight, leavesOf } = look;
  const { kind, about, on } = cause;
  const leaves = leavesOf(cause);
  const plain = { reason: trail.says, by: null, facts: {} };
  if (about === "agent") {
    const agent = sight.agentNamed(on);
    const abilities = agent?.status === "paused" ? [callTo(agents.resumeAgent, { id: on })] : [];
    const title = text.agentStands(agent?.name ?? on, agent?.status ?? "missing");
    const show: Draft["show"] = () => ({ ...plain, title, abilities });
    return { kind, leaves, subject: partyRef(sight, on), since: since(on), show };
  }
  if (about === "outcome") {
    const outcome = sight.known(on);
    if (outcome === undefined) return undefined;
    return {
      kind,
      leaves,
      subject: outcomeRef(outcome),
      since: outcome.updated_at,
      show: () => ({ ...plain, ...shownOutcome(look, outcome, cause) }),
    };
  }
  // Budgets and approvals have rows (attention-items.ts).
  if (about === "approval" || about === "budget") return undefined;
  const concerned = new Set([...leaves].flatMap((id) => sight.known(id)?.responsible_id ?? []));
  return {
    kind,
    leaves,
    subject: { kind: about, id: on, title: on },
    since: Math.min(...[...leaves].map((id) => sight.known(id)?.updated_at ?? tx.now)),
    show: () => ({
      ...plain,
      title: text.brainFails[about](on),
      facts: { agents: [...concerned].map((id) => partyRef(sight, id)) },
      abilities:
        about === "secret"
          ? [callTo(setSecret, { companyId: look.companyId, name: on })]
          : about === "brain"
            ? [...concerned].map((id) => callTo(agents.updateAgent, { id }, ["adapterType"]))
            : [],
    }),
  };
}

function shownOutcome(look: Look, outcome: Looked, { kind }: Cause) {
  const { sight } = look;
  const { id, responsible_id: owner, delegated_by: from } = outcome;
  const calls = { verdict: verdictCalls, budget: budgetCalls, question: workCalls } as const;
  return {
    title:
      kind === "budget"
        ? text.costsTooMuch(outcome.title)
        : outcome.kind === "inbox"
          ? text.inboxOf(partyRef(sight, owner).title)
          : outcome.title,
    by:
      kind === "verdict" && owner !== null
        ? partyRef(sight, owner)
        : kind === "question" && outcome.delegated === 1
          ? partyRef(sight, from)
          : null,
    facts: {
      status: outcome.status,
      blocked: outcome.blocked_reason,
      responsible: owner === null ? null : partyRef(sight, owner),
    },
    abilities:
      kind === "verdict" || kind === "budget" || kind === "question"
        ? calls[kind](look, outcome)
        : stallCalls(look, outcome, id),
  };
}

const verdictCalls = (_: Look, { id }: Looked): Ability[] => [callTo(decideOutcome, { id })];

const budgetCalls = ({ companyId }: Look, { id, blocked_reason }: Looked): Ability[] => [
  blocked_reason?.includes("cost limit") === true
    ? callTo(updateCompany, { companyId }, ["maxOutcomeUsd"])
    : callTo(setGoalBudget, { id }),
  callTo(outcomes.closeOutcome, { id }),
];

/** What a person does with work of the position that he or she holds. */
const workCalls = (_: Look, { id, delegated }: Looked): Ability[] => [
  callTo(delegated === 1 ? outcomes.submitOutcome : outcomes.completeOutcome, { id }),
  callTo(outcomes.updateOutcome, { id }, ["blocked"]),
];

function stallCalls(look: Look, outcome: Looked, id: string): Ability[] {
  const { companyId, sight } = look;
  const { kind, status, responsible_id: owner, delegated_by: verifier } = outcome;
  const write = (to: string | null): Ability =>
    callTo(sendMessage, { companyId, ...(to !== null && { to }) }, ["body"]);
  // The next message unblocks an inbox (mail/post.ts), and makes a verifier look again.
  if (kind === "inbox") return [write(owner)];
  if (status === "submitted") return [write(verifier), ...verdictCalls(look, outcome)];
  // Escalated work is decided, not unblocked.
  if (sight.you !== null && isEscalated(outcome)) return [write(verifier)];
  return [
    outcome.blocked_reason !== null
      ? callTo(outcomes.updateOutcome, { id, blocked: null })
      : owner === null
        ? callTo(delegateOutcome, { id }, ["to"])
        : callTo(outcomes.updateOutcome, { id }),
    callTo(outcomes.closeOutcome, { id }),
  ];
}
