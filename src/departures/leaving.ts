import { sql } from "kysely";
import { JsonObject } from "../contract/words.ts";
import { payloadOf } from "../approvals/approval.ts";
import { overtake } from "../approvals/concluding.ts";
import { openApprovalOf, openRequestsBy, revise } from "../approvals/table.ts";
import { dissolveAll } from "../budgets/carving.ts";
import { moneyOf } from "../budgets/requested.ts";
import type { Writing } from "../dispatch/context.ts";
import { reportsOf } from "../capabilities/members.ts";
import { takeAway } from "../permissions/giving.ts";
import { givenTo, revokeFor, shiftHolder, shiftScope } from "../capabilities/table.ts";
import { inheritMail } from "../mail/inbox.ts";
import { recorded } from "../outcomes/history.ts";
import { isLive, type OutcomeRow } from "../outcomes/outcome.ts";
import {
  addParent,
  assign,
  dependenciesOf,
  freeDependents,
  liveChildrenOf,
  outcomeById,
  replaceParent,
  saveOutcome,
  wouldWaitForItself,
} from "../outcomes/table.ts";
import { updating } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { forgetPause, resumeHalted } from "../budgets/halting.ts";
import {
  agentById,
  agentOfMandate,
  type AgentRow,
  endCredentials,
  endSessions,
  liveDelegationsOf,
  liveWorkOf,
  reanchor,
  reroute,
  saveAgent,
} from "../agents/table.ts";
import {
  agentGone,
  hasLeftNote,
  managerChanged,
  noLongerWaits,
  openDelegations,
  outcomeEnded,
} from "./texts.ts";
import { returnParts } from "./waiting-parts.ts";

/**
 * An agent leaves in one of three ways. Each is one transaction, and after it no call of the agent is accepted:
 *   fired      Its reports, reviews, live work and unread mail go to its manager or to another heir. A standing mandate
 *              closes. An outcome that the agent was hired for stays open and moves like other work.
 *   retired    The outcome it was hired for ended. The rest is as for a fired agent.
 *   reclaimed  Its manager takes the mandate back. The agent and all agents below it leave, and all their live work goes to
 *              that manager.
 * The nodes that run the processes stop them afterwards, when they find that the sessions have ended (runtime/).
 */

export async function fire(
  call: Writing,
  agent: AgentRow,
  bossId: string,
  reason: string,
  heirId = bossId,
): Promise<void> {
  const moved = await depart(call, agent, heirId, reason, agent.made_for_mandate === 1);
  if (agent.made_for_mandate === 0) {
    await endOutcome(call, agent.mandate_id, reason);
    await call.record(agent.mandate_id, { rationale: reason }, "outcome.close");
  }
  await call.record(agent.id, { reason, boss: heirId, moved }, "agent.terminate");
}

/**
 * Called when an outcome ends. An agent that was hired for this outcome retires. If the outcome is given up, the agent's
 * manager verifies from now on what the agent delegated elsewhere. If it is completed, no such work may be open.
 */
export async function retire(
  call: Writing,
  outcome: OutcomeRow,
  how: "completed" | "abandoned",
): Promise<void> {
  const agent = await madeFor(call.tx, outcome.id);
  if (agent === undefined) return;
  if (how === "completed") await demandDone(call.tx, outcome);
  const moved = await depart(call, agent, agent.boss_id, outcomeEnded, false);
  await call.record(agent.id, { reason: outcomeEnded, boss: agent.boss_id, moved }, "agent.retire");
}

/**
 * Refuses to end an outcome while the agent hired for it still waits for work it delegated. Submitting is refused too: the
 * manager could not complete the submission, and it would go back and forth without end.
 */
export async function demandDone(tx: ReadTx, { id }: Pick<OutcomeRow, "id">): Promise<void> {
  const agent = await madeFor(tx, id);
  const open = agent === undefined ? [] : await tx.all(liveDelegationsOf, { delegated_by: agent.id });
  if (agent !== undefined && open.length > 0) throw openDelegations(agent.name, open);
}

/** The agent that retires when this outcome ends. */
async function madeFor(tx: ReadTx, id: string): Promise<(AgentRow & { boss_id: string }) | undefined> {
  const agent = await tx.first(agentOfMandate, { mandate_id: id });
  return agent === undefined || agent.made_for_mandate === 0 || agent.boss_id === null
    ? undefined
    : { ...agent, boss_id: agent.boss_id };
}

/** Ends the agent of a reclaimed mandate and all agents below it, and returns them. */
export async function reclaimAgents(
  call: Writing,
  agent: AgentRow,
  bossId: string,
  reason: string,
): Promise<AgentRow[]> {
  const { tx } = call;
  const ended: AgentRow[] = [];
  const frontier = [agent.id];
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    const member = await agentById(tx, id);
    ended.push(member);
    for (const below of await reportsOf(tx, id)) frontier.push(below.id);
  }
  for (const member of ended) await fence(call, member);
  // Before the first budget is dissolved: a request keeps the budgets that approving would have changed.
  await endRequests(call, ended, reason);
  for (const member of ended) {
    await release(call, member, reason);
    // Ended outcomes are rerouted too: if one is reopened, the manager verifies it.
    await tx.run(reroute, { from: member.id, to: bossId, now: tx.now });
    for (const work of await tx.all(liveWorkOf, { responsible_id: member.id })) {
      if (work.kind === "inbox") await endOutcome(call, work.id, agentGone);
      else {
        // Such a right may be held by another agent, or by one that was below and has moved away.
        await revokeFor(tx, work.id, bossId);
        await saveOutcome(tx, takenBack(work, bossId), call.actor);
      }
    }
    await call.record(member.id, { reason, boss: bossId }, "agent.reclaim");
  }
  return ended;
}

function takenBack(row: OutcomeRow, bossId: string): OutcomeRow {
  return {
    ...row,
    kind: row.kind === "mandate" ? "work" : row.kind,
    status: "open",
    responsible_id: bossId,
    delegated: 0,
    delegated_by: null,
    reworks: 0,
  };
}

/** Ends the agent: from now on none of its credentials, sessions or rights is valid. */
async function fence({ tx }: Writing, agent: AgentRow): Promise<void> {
  await saveAgent(tx, agent, { status: "terminated", epoch: agent.epoch + 1, ended_at: tx.now });
  await tx.run(endCredentials, { agent_id: agent.id, revoked_at: tx.now });
}

/**
 * An approval about an agent that leaves has nothing to approve, and requests by that agent end with it. If several agents leave
 * with one change, all requests end before the first budget is dissolved. The agents that leave are not told.
 */
export async function endRequests(
  call: Writing,
  leaving: readonly AgentRow[],
  reason: string,
): Promise<void> {
  const { tx } = call;
  const ids = leaving.map(({ id }) => id);
  for (const agent of leaving) {
    const about = await tx.all(openApprovalOf, { agent_id: agent.id });
    const requested = await tx.all(openRequestsBy, { requested_by: agent.id });
    const why = agent.status === "pending_approval" ? reason : hasLeftNote(agent.name);
    for (const approval of [...about, ...requested]) await overtake(call, approval, why, moneyOf, ids);
  }
}

/** Ends the sessions of the agent, and gives back what it holds for others. */
async function release(call: Writing, agent: AgentRow, reason: string): Promise<void> {
  const { tx } = call;
  await returnParts(call, agent, reason);
  await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: "the agent left" });
  await shiftHolder(tx, agent.id, 1);
  await tx.run(forgetPause, { agent_id: agent.id });
  // Agents that drew from this budget now draw from the one above it.
  await dissolveAll(tx, agent);
  await resumeHalted(call);
}

/** Moves everything the agent leaves to the heir, which is its manager or a colleague. Returns the outcomes that moved. */
async function depart(
  call: Writing,
  agent: AgentRow,
  heirId: string,
  reason: string,
  mandateGoesOn: boolean,
): Promise<string[]> {
  const { tx } = call;
  const heir = await agentById(tx, heirId);
  for (const report of await reportsOf(tx, agent.id)) {
    for (const grant of await givenTo(tx, report.id, agent.id)) await takeAway(call, grant);
    if (report.status === "pending_approval") await expectBy(call, report.id, heir);
  }
  await fence(call, agent);
  await endRequests(call, [agent], reason);
  await release(call, agent, reason);
  await tx.run(reanchor, { from: agent.id, to: heirId });
  await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });
  await tx.run(withdrawRequests, { agent_id: agent.id, answered_at: tx.now });
  await rehang(tx, agent, heir, mandateGoesOn);
  const moved: string[] = [];
  for (const work of await tx.all(liveWorkOf, { responsible_id: agent.id })) {
    if (work.id === agent.mandate_id && !mandateGoesOn) continue;
    if (work.kind === "inbox") {
      await endOutcome(call, work.id, agentGone);
      await call.record(work.id, { rationale: agentGone }, "outcome.close");
      continue;
    }
    // Work that the heir delegated comes back to the heir, open: a submission of a departed agent can't be reworked.
    const back = { delegated: 0, delegatedBy: null, status: "open" } as const;
    const same = { delegated: work.delegated, delegatedBy: work.delegated_by };
    const isBack = work.delegated === 0 || work.delegated_by === heirId;
    await assign(tx, work.id, { responsibleId: heirId, ...(isBack ? back : same) });
    moved.push(work.id);
  }
  await inheritMail(tx, agent, heirId, call.newId);
  return moved;
}

/** A pending hire of the agent goes to the heir. The payload changes, so a decision on the earlier hash is refused. */
async function expectBy(call: Writing, agentId: string, heir: AgentRow): Promise<void> {
  const approval = await call.tx.first(openApprovalOf, { agent_id: agentId });
  if (approval?.type !== "hire_agent") return;
  const payload = payloadOf(approval);
  const asked = { ...JsonObject.parse(payload["requestedConfigurationSnapshot"]), reportsTo: heir.id };
  const revised = { ...payload, requestedConfigurationSnapshot: asked };
  await revise(call, approval, revised, managerChanged(heir.name));
  await call.record(agentId, { approval: approval.id, boss: heir.id }, "approval.update");
}

/** Moves live children of an ending mandate below the heir's mandate. Standing mandates of its reports always move. */
async function rehang(tx: Tx, agent: AgentRow, heir: AgentRow, mandateGoesOn: boolean): Promise<void> {
  for (const child of await liveChildrenOf(tx, agent.mandate_id)) {
    if (child.kind === "inbox" || (mandateGoesOn && child.kind !== "mandate")) continue;
    // If the heir's mandate depends on the child, the move would close a circle. The manager's mandate lies above both.
    const isCircle = await wouldWaitForItself(tx, heir.mandate_id, child.id);
    const boss = agent.boss_id === null ? undefined : await agentById(tx, agent.boss_id);
    const parent = isCircle ? boss?.mandate_id : heir.mandate_id;
    if (parent === undefined || (isCircle && (await wouldWaitForItself(tx, parent, child.id)))) continue;
    if (mandateGoesOn) await replaceParent(tx, child.id, agent.mandate_id, parent);
    else await addParent(tx, child.id, parent);
  }
}

/** Closes an outcome without an owner. Outcomes that depended on it no longer do, because it can't complete. */
async function endOutcome(call: Writing, id: string, rationale: string): Promise<void> {
  const { tx } = call;
  await shiftScope(tx, id, 1);
  await tx.run(closeRow, { id, status: "closed", rationale, stale: 1, updated_at: tx.now });
  for (const waiter of await freeDependents(tx, id)) {
    if (!isLive(await outcomeById(tx, waiter))) continue;
    const note = noLongerWaits(id, rationale);
    const after = (await dependenciesOf(tx, waiter)).map((dependency) => dependency.id);
    const changes = { dependsOn: { before: [...after, id], after } };
    await call.record(waiter, { ...recorded(changes), note }, "outcome.update");
  }
}

const closeRow = updating("outcomes", ["status", "rationale", "stale", "updated_at"], ["id"]);

const withdrawRequests = updating(
  "permission_requests",
  ["answered_at"],
  ["agent_id"],
  sql`and answered_at is null`,
);
