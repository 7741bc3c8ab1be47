import type { Measure } from "../contract/budgets.ts";
import { usedUpBudget } from "../budgets/outcome-limits.ts";
import { type Draft, lastEvents, type Look, partyRef, outcomeRef } from "./attention-items.ts";
import { agentCalls, brainCalls, helperOf, outcomeCalls } from "./help.ts";
import type { Looked } from "./sight.ts";
import * as text from "./texts.ts";
import type { Cause, Trail } from "./trail.ts";

/** Items of the attention list that come from the ends of trails (`why`), not from a row. */
interface Found {
  readonly cause: Cause;
  readonly trail: Trail;
}

export async function causeItems(look: Look, found: readonly Found[]): Promise<Draft[]> {
  const mine = found.filter(({ cause }) => concerns(look, cause));
  const paused = mine.filter(({ cause }) => cause.about === "agent").map(({ cause }) => cause.on);
  const since = await lastEvents(look.tx, "agent.pause", paused);
  const items: Draft[] = [];
  for (const one of mine) {
    const item = await causeItem(look, one, since, await usedUpOf(look, one.cause));
    if (item !== undefined) items.push(item);
  }
  return items;
}

/** The measure of the budget that stopped the work. Only goals with a budget need a query, and only the board sets budgets. */
async function usedUpOf({ tx, sight }: Look, { kind, about, on }: Cause): Promise<Measure | undefined> {
  const outcome = kind === "budget" && about === "outcome" ? sight.known(on) : undefined;
  return outcome && usedUpBudget(tx, outcome);
}

/** Whether the viewer can do something about the cause. The board can do everything. */
function concerns({ sight }: Look, { kind, about, on }: Cause): boolean {
  const { you } = sight;
  if (you === null) return true;
  if (about === "agent") return sight.agentNamed(on)?.boss_id === you;
  const outcome = about === "outcome" ? sight.known(on) : undefined;
  if (outcome === undefined || kind === "budget") return false;
  if (kind === "verdict") return sight.deciderOf(outcome) === you;
  // Messages in an inbox are separate items.
  if (kind === "question") return outcome.responsible_id === you && outcome.kind !== "inbox";
  return outcome.responsible_id === you || outcome.delegated_by === you;
}

async function causeItem(
  look: Look,
  { cause, trail }: Found,
  since: (id: string) => number,
  usedUp: Measure | undefined,
): Promise<Draft | undefined> {
  const { tx, sight, leavesOf } = look;
  const { kind, about, on } = cause;
  const leaves = leavesOf(cause);
  const plain = { reason: trail.says, by: null, facts: {} };
  if (about === "agent") {
    const agent = sight.agentNamed(on);
    const abilities = await agentCalls(sight, sight.you, agent);
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
      show: () => ({ ...plain, ...shownOutcome(look, outcome, cause, usedUp) }),
    };
  }
  // Budgets and approvals have rows, so attention-items.ts lists them.
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
      abilities: brainCalls(helperOf(look), cause, concerned),
    }),
  };
}

function shownOutcome(look: Look, outcome: Looked, cause: Cause, usedUp: Measure | undefined) {
  const { sight } = look;
  const { kind } = cause;
  const { responsible_id: owner, delegated_by: from } = outcome;
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
    abilities: outcomeCalls(helperOf(look), outcome, cause, usedUp),
  };
}
