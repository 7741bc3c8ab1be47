import { sql } from "kysely";
import type { Writing } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { notify } from "../mail/notices.ts";
import { delegateDown } from "../outcomes/table.ts";
import { recordChange, outcomeFields } from "../outcomes/history.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { outcomeById, saveOutcome } from "../outcomes/table.ts";
import { selection, updating } from "../store/query.ts";
import type { Tx } from "../store/store.ts";
import type { AgentRow } from "../agents/table.ts";
import { doesNotCome, notYourReportAnyMore, waitsForApproval, workReturned } from "./texts.ts";

/**
 * Work that is planned for a pending agent. A pending agent can't be assigned work. So the outcome stays with its manager, is
 * blocked, and names the agent it waits for. Approving the hire delegates the outcome in the same transaction. If the hire is
 * rejected or ends in another way, the work returns with the reason.
 */

export async function holdFor(
  tx: Tx,
  outcomeId: string,
  agent: Pick<AgentRow, "id" | "name">,
): Promise<void> {
  await tx.run(setHeld, {
    id: outcomeId,
    for_agent_id: agent.id,
    blocked_reason: waitsForApproval(agent.name),
    stale: 1,
  });
}

/** Updates the blocked reason after a pending agent was renamed. */
export async function renameHeld(tx: Tx, agent: Pick<AgentRow, "id" | "name">): Promise<void> {
  for (const { id } of await tx.all(heldFor, { for_agent_id: agent.id })) await holdFor(tx, id, agent);
}

export async function releaseParts(call: Writing, agent: AgentRow): Promise<OutcomeRow[]> {
  const { tx } = call;
  const released = [];
  const kept = new Map<string | null, OutcomeRow[]>();
  const held = await tx.all(heldFor, { for_agent_id: agent.id });
  const to = held.length === 0 ? undefined : await memberById(tx, agent.id);
  for (const { id } of held) {
    const outcome = await outcomeById(tx, id);
    const free = await saveOutcome(tx, { ...outcome, for_agent_id: null, blocked_reason: null }, call.actor);
    // The outcome may have moved to an owner that is not this agent's manager. It then stays with that owner.
    if (to === undefined || outcome.responsible_id !== agent.boss_id || agent.boss_id === null) {
      kept.set(outcome.responsible_id, [...(kept.get(outcome.responsible_id) ?? []), outcome]);
      continue;
    }
    const moved = await delegateDown(tx, free, agent.boss_id, to);
    await saveOutcome(tx, await outcomeById(tx, id), call.actor);
    await call.record(id, { from: agent.boss_id, to: agent.id, moved }, "outcome.delegate");
    released.push(free);
  }
  await tellOwners(call, kept, notYourReportAnyMore(agent.name));
  return released;
}

export async function returnParts(call: Writing, agent: AgentRow, why: string): Promise<void> {
  const { tx } = call;
  const returned = new Map<string | null, OutcomeRow[]>();
  for (const outcome of await tx.all(heldFor, { for_agent_id: agent.id })) {
    const { id } = outcome;
    const before = await outcomeFields(tx, outcome);
    await saveOutcome(tx, { ...outcome, for_agent_id: null, blocked_reason: null }, call.actor);
    await recordChange(call, id, before, { reason: why });
    returned.set(outcome.responsible_id, [...(returned.get(outcome.responsible_id) ?? []), outcome]);
  }
  await tellOwners(call, returned, doesNotCome(agent.name, why));
}

async function tellOwners(
  call: Writing,
  returned: ReadonlyMap<string | null, readonly OutcomeRow[]>,
  why: string,
): Promise<void> {
  for (const [owner, outcomes] of returned) await notify(call, owner, workReturned(why, outcomes));
}

/** The open outcomes that wait for a pending agent. */
export const heldFor = selection("outcomes", ["for_agent_id"], sql`and status = 'open' order by num`);

const setHeld = updating("outcomes", ["for_agent_id", "blocked_reason", "stale"], ["id"]);
