import { Refusal } from "../contract/refusal.ts";
import type { Member } from "../capabilities/members.ts";
import type { Tx } from "../store/store.ts";
import { isLive, type OutcomeRow } from "./outcome.ts";
import { assign, childrenOf } from "./table.ts";

/**
 * Handing an outcome down (taking it back is in agents/, because it can end agents). Delegation moves responsibility for
 * the outcome and for all below it that is the delegator's own; what it had already handed to others stays with them, and
 * what its boss handed to it stays with it.
 */
export function demandDelegable(outcome: OutcomeRow): void {
  if (!isLive(outcome) || outcome.status === "submitted")
    throw new Refusal("refused", `The outcome is ${outcome.status}.`, "Delegate an open outcome.");
  if (outcome.kind === "perpetual" || outcome.kind === "mandate" || outcome.delegated === 1)
    throw new Refusal(
      "refused",
      "This outcome was handed to its owner, who answers for it.",
      "Create an outcome below it and delegate that one.",
    );
  if (outcome.kind === "inbox")
    throw new Refusal("refused", "An inbox cannot be delegated.", "Turn messages into outcomes first.");
}

export async function handDown(tx: Tx, outcome: OutcomeRow, from: string, to: Member): Promise<string[]> {
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
