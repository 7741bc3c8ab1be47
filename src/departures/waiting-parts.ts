import type { Writing } from "../dispatch/context.ts";
import { memberById } from "../capabilities/members.ts";
import { notify } from "../mail/operations.ts";
import { delegateDown } from "../outcomes/delegation.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { outcomeById, saveOutcome } from "../outcomes/table.ts";
import { query } from "../store/query.ts";
import type { Tx } from "../store/store.ts";
import type { AgentRow } from "../agents/table.ts";

/**
 * Work for an agent that is not approved yet. Such an agent is given nothing; the work stays with its boss, blocked, and says
 * for whom it waits. A yes hands it over, in the same transaction; a no, or any other end, gives it back with the reason.
 */

export async function holdFor(
  tx: Tx,
  outcomeId: string,
  agent: Pick<AgentRow, "id" | "name">,
): Promise<void> {
  const reason = `it waits until ${agent.name} is approved`;
  await tx.run(setHeld, { id: outcomeId, agentId: agent.id, reason });
}

/** What it is called has changed while it waits. */
export async function renameHeld(tx: Tx, agent: Pick<AgentRow, "id" | "name">): Promise<void> {
  for (const { id } of await tx.all(heldFor, { agentId: agent.id })) await holdFor(tx, id, agent);
}

export async function releaseParts(call: Writing, agent: AgentRow): Promise<OutcomeRow[]> {
  const { tx } = call;
  const released = [];
  const kept = new Map<string | null, OutcomeRow[]>();
  const to = await memberById(tx, agent.id);
  for (const { id } of await tx.all(heldFor, { agentId: agent.id })) {
    const outcome = await outcomeById(tx, id);
    const free = await saveOutcome(tx, { ...outcome, for_agent_id: null, blocked_reason: null }, call.actor);
    // Whoever holds it now may be somebody else than the boss of that agent; then it is simply theirs.
    if (to === undefined || outcome.responsible_id !== agent.boss_id || agent.boss_id === null) {
      kept.set(outcome.responsible_id, [...(kept.get(outcome.responsible_id) ?? []), outcome]);
      continue;
    }
    const moved = await delegateDown(tx, free, agent.boss_id, to);
    await saveOutcome(tx, await outcomeById(tx, id), call.actor);
    await call.record(id, { from: agent.boss_id, to: agent.id, moved }, "outcome.delegate");
    released.push(free);
  }
  await tellOwners(call, kept, `${agent.name} is not your report`);
  return released;
}

export async function returnParts(call: Writing, agent: AgentRow, why: string): Promise<void> {
  const { tx } = call;
  const returned = new Map<string | null, OutcomeRow[]>();
  for (const { id } of await tx.all(heldFor, { agentId: agent.id })) {
    const outcome = await outcomeById(tx, id);
    await saveOutcome(tx, { ...outcome, for_agent_id: null, blocked_reason: null }, call.actor);
    await call.record(id, { changed: ["blocked"], blocked: null, reason: why }, "outcome.update");
    returned.set(outcome.responsible_id, [...(returned.get(outcome.responsible_id) ?? []), outcome]);
  }
  await tellOwners(call, returned, `${agent.name} does not come: ${why}`);
}

async function tellOwners(
  call: Writing,
  returned: ReadonlyMap<string | null, readonly OutcomeRow[]>,
  why: string,
): Promise<void> {
  for (const [owner, outcomes] of returned)
    await notify(
      call,
      owner,
      [
        `${why}. What was meant for it is yours to do or to give to somebody else:`,
        ...outcomes.map(({ id, title }) => `- "${title}" (kb://${id})`),
      ].join("\n"),
    );
}

const heldFor = query((db, p: { agentId: string }) =>
  db
    .selectFrom("outcomes")
    .select("id")
    .where("for_agent_id", "=", p.agentId)
    .where("status", "=", "open")
    .orderBy("num"),
);

const setHeld = query((db, p: { id: string; agentId: string; reason: string }) =>
  db
    .updateTable("outcomes")
    .set({ for_agent_id: p.agentId, blocked_reason: p.reason, stale: 1 })
    .where("id", "=", p.id),
);
