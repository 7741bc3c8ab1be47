import type { Member } from "../capabilities/members.ts";
import type { Tx } from "../store/store.ts";
import { isLive, type OutcomeRow } from "./outcome.ts";
import { assign, childrenOf } from "./table.ts";
import { alreadyDelegated, inboxNotDelegable, notOpen } from "./texts.ts";

/**
 * Delegating an outcome. Reclaiming is in delegation/, because it can end agents.
 *
 * Delegation moves responsibility for the outcome and for everything below it that the delegator kept. What the delegator
 * had already delegated to others stays with them, and what the delegator's own manager delegated to it stays with it.
 */
export function demandDelegable(outcome: OutcomeRow): void {
  if (!isLive(outcome) || outcome.status === "submitted") throw notOpen(outcome, "delegated");
  if (outcome.kind === "perpetual" || outcome.kind === "mandate" || outcome.delegated === 1)
    throw alreadyDelegated(outcome);
  if (outcome.kind === "inbox") throw inboxNotDelegable(outcome);
}

export async function delegateDown(tx: Tx, outcome: OutcomeRow, from: string, to: Member): Promise<string[]> {
  const moved = [outcome.id];
  await assign(tx, outcome.id, { responsibleId: to.id, delegated: 1, delegatedBy: from });
  const frontier = [outcome.id];
  const seen = new Set(frontier);
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    for (const child of await childrenOf(tx, id)) {
      if (seen.has(child.id) || child.responsible_id !== from || child.delegated === 1) continue;
      seen.add(child.id);
      await assign(tx, child.id, { responsibleId: to.id, delegated: 0, delegatedBy: null });
      moved.push(child.id);
      frontier.push(child.id);
    }
  }
  return moved;
}
