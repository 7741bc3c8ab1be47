import * as contract from "../contract/outcomes.ts";
import { delegateOutcome, reclaimOutcome } from "../contract/delegation.ts";
import type { Input } from "../contract/operation.ts";
import type { CallContext } from "../dispatch/context.ts";
import { type Call, guarded } from "../dispatch/guarded.ts";
import { isActive, type Member, memberById, memberName } from "../capabilities/members.ts";
import { revokeFor } from "../capabilities/table.ts";
import { grantRight, tellOfServer } from "../permissions/giving.ts";
import { holds } from "../capabilities/rights.ts";
import { notify } from "../mail/notices.ts";
import { post } from "../mail/post.ts";
import { demandDelegable } from "../outcomes/outcome.ts";
import { delegateDown } from "../outcomes/table.ts";
import { demandDepth, demandFanOut, demandRoomForOutcomes, depthOf } from "../outcomes/limits.ts";
import { demandLive, isLive, type OutcomeRow } from "../outcomes/outcome.ts";
import { presentOutcome } from "../outcomes/presenting.ts";
import { assign, childrenOf, outcomeById, parentsOf, saveOutcome } from "../outcomes/table.ts";
import { fileById } from "../knowledge/table.ts";
import type { ReadTx } from "../store/store.ts";
import { takeOn } from "../hiring/hiring.ts";
import { reclaimAgents } from "../departures/leaving.ts";
import { sendOrder } from "../agents/orders.ts";
import { agentById, agentOfMandate, type AgentRow, stopWorkOn } from "../agents/table.ts";
import { excerpt } from "../outcomes/results.ts";
import { findReport } from "./team.ts";
import { tellOwner } from "../mail/notices.ts";
import { tellOwners } from "./telling.ts";
import * as texts from "./texts.ts";

/** Delegating an outcome to a report, and reclaiming it. */

const onDelegate = guarded(delegateOutcome, async (call) => {
  const { tx, input } = call;
  const outcome = await outcomeById(tx, input.id);
  demandDelegable(outcome);
  const from = await outcomeOwnerOf(tx, outcome);
  await demandHandedOn(call, outcome);
  const { to, hired } = await receiverOf(call, outcome, from);
  const moved = await delegateDown(tx, outcome, from.id, to);
  await demandRoomForOutcomes(call, to.id, 0);
  // An agent hired for the outcome gets the rights with the hire, or once the hire is approved.
  if (!hired) await giveRights(call, outcome, from, to);
  const saved = await saveOutcome(tx, await outcomeById(tx, outcome.id), call.actor);
  await call.record(outcome.id, { from: from.id, to: to.id, moved });
  if (isActive(to)) await sendOrder(call, from.id, await agentById(tx, to.id), outcome, input.message);
  return presentOutcome(call, saved);
});

const onReclaim = guarded(reclaimOutcome, async (call) => {
  const { tx, input } = call;
  const outcome = await outcomeById(tx, input.id);
  demandLive(outcome);
  const agent = await tx.first(agentOfMandate, { mandate_id: outcome.id });
  return agent === undefined ? reclaimWork(call, outcome) : reclaimMandate(call, outcome, agent);
});

export const delegationHandlers = [onDelegate, onReclaim];

type Hire = NonNullable<Input<typeof delegateOutcome>["hire"]>;
type Delegation = Call<{
  to?: string | undefined;
  hire?: Hire | undefined;
  grants?: Input<typeof delegateOutcome>["grants"];
  message?: string | undefined;
}>;

async function receiverOf(
  call: Delegation,
  outcome: OutcomeRow,
  from: Member,
): Promise<{ to: Member; hired: boolean }> {
  const { to, hire } = call.input;
  if (to !== undefined && hire === undefined)
    return { to: await findReport(call.tx, from, to), hired: false };
  if (hire !== undefined && to === undefined)
    return { to: await hireFor(call, outcome, from, hire), hired: true };
  throw texts.toOrHire();
}

/**
 * Hires a report for the outcome. If the company requires approval, the new agent waits for it, unless the board itself hires.
 */
async function hireFor(call: Delegation, outcome: OutcomeRow, from: Member, hire: Hire): Promise<Member> {
  if (!(await holds(call.tx, from.id, "org:hire", "use"))) throw texts.mayNotHire(from);
  const { requireBoardApprovalForNewAgents } = await call.settings();
  const { agent } = await takeOn(call, {
    input: { ...hire, grants: call.input.grants },
    boss: from,
    waits: requireBoardApprovalForNewAgents && call.actor.agentId !== null,
    made: { outcome, message: call.input.message },
  });
  return agent;
}

async function giveRights(call: Delegation, outcome: OutcomeRow, from: Member, to: Member): Promise<void> {
  for (const { resource, level } of call.input.grants ?? []) {
    const row = await grantRight(call, { giver: from, receiver: to, resource, level, scopeId: outcome.id });
    await tellOfServer(call, row, true);
  }
}

async function reclaimWork(call: Call<{ reason: string }>, outcome: OutcomeRow): Promise<contract.Outcome> {
  const { tx, input } = call;
  const from = outcome.responsible_id;
  const { owner, taken } = await takeBack(call, outcome);
  const moved = taken.map(({ id }) => id);
  await stopWorkOn(call, new Set(moved), texts.workReclaimed);
  const saved = await saveOutcome(tx, await outcomeById(tx, outcome.id), call.actor);
  await call.record(outcome.id, { from, to: owner.id, moved, reason: input.reason });
  const reason = excerpt(input.reason, null, 2000);
  await tellOwners(call, outcome, taken, (who, own) => texts.reclaimedWithIt(who, outcome, own, reason));
  await tellOwner(call, saved, (who) => texts.reclaimedForYou(who, outcome, reason));
  return presentOutcome(call, saved);
}

/**
 * Takes an outcome back together with what its owner made of it below: the outcomes the owner kept and those it delegated
 * further, to any depth. Agents that were created for a part of it leave. Outcomes that other agents put below it stay theirs;
 * otherwise a manager could take another manager's work through a second parent. Every right that was granted for one of the
 * reclaimed outcomes is revoked.
 */
async function takeBack(
  call: Call<{ reason: string }>,
  outcome: OutcomeRow,
): Promise<{ owner: Member; taken: Pick<OutcomeRow, "id" | "title" | "responsible_id">[] }> {
  const { tx } = call;
  const owner = await memberById(tx, outcome.delegated_by);
  if (outcome.delegated === 0 || owner === undefined) throw texts.notReclaimable(outcome);
  const taken = [];
  const frontier: Pick<OutcomeRow, "id" | "responsible_id">[] = [outcome];
  const seen = new Set([outcome.id]);
  for (let next = frontier.pop(); next !== undefined; next = frontier.pop()) {
    const { id, responsible_id: holder } = next;
    const row = await outcomeById(tx, id);
    const agent = id === outcome.id ? undefined : await tx.first(agentOfMandate, { mandate_id: id });
    // An agent that was created for this part leaves, and everything it was responsible for comes back.
    if (agent !== undefined) await reclaimAgents(call, agent, owner.id, call.input.reason);
    // A submitted part is open again, because the agent that reclaims it decides what happens with it.
    const status = row.status === "submitted" ? { status: "open" as const } : {};
    await assign(tx, id, { responsibleId: owner.id, delegated: 0, delegatedBy: null, ...status });
    taken.push({ id, title: row.title, responsible_id: holder });
    await revokeFor(tx, id, owner.id);
    for (const child of await childrenOf(tx, id)) {
      const isHolders = child.responsible_id === holder && child.delegated === 0;
      const wasHandedOn = child.delegated_by === holder && child.kind !== "mandate";
      if (seen.has(child.id) || !(isHolders || wasHandedOn)) continue;
      seen.add(child.id);
      frontier.push(child);
    }
  }
  return { owner, taken };
}

/** Reclaims a mandate: its agent and every agent below leave. The manager gets their state documents and logs. */
async function reclaimMandate(
  call: Call<{ reason: string }>,
  outcome: OutcomeRow,
  agent: AgentRow,
): Promise<contract.Outcome> {
  const { tx, input } = call;
  if (agent.boss_id === null) throw texts.rootMandateNotReclaimable(agent);
  const ended = await reclaimAgents(call, agent, agent.boss_id, input.reason);
  await call.record(outcome.id, {
    from: agent.id,
    to: agent.boss_id,
    ended: ended.map(({ id }) => id),
    reason: input.reason,
  });
  // Each document is sent as a message, because receiving a message is what gives the right to read its file.
  for (const { state_file_id, log_file_id } of ended)
    for (const fileId of [state_file_id, log_file_id])
      if (fileId !== null) await sendDocument(call, agent.boss_id, fileId);
  const who = await memberName(tx, call.actor.agentId);
  await notify(call, agent.boss_id, texts.mandateReclaimed(who, outcome, input.reason, ended));
  return presentOutcome(call, await outcomeById(tx, outcome.id));
}

async function sendDocument(call: CallContext, to: string, fileId: string): Promise<void> {
  const version = (await fileById(call.tx, fileId))?.version ?? 1;
  await post(call, { from: null, bySystem: true, to, content: { fileId, version } });
}

/** Checks the limits on depth and number of parts. A delegated outcome counts as one part of each of its parents. */
async function demandHandedOn(call: CallContext, outcome: OutcomeRow): Promise<void> {
  await demandFanOut(call, outcome, 0);
  await demandDepth(call, (await depthOf(call.tx, outcome.id)) + 1, outcome.id);
  for (const parent of await parentsOf(call.tx, outcome.id))
    if (isLive(parent)) await demandFanOut(call, parent, 1);
}

export async function outcomeOwnerOf(tx: ReadTx, outcome: OutcomeRow): Promise<Member> {
  const owner = await memberById(tx, outcome.responsible_id);
  if (owner === undefined) throw texts.unassigned(outcome);
  return owner;
}
