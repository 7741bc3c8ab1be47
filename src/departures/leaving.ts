import { Refusal } from "../contract/refusal.ts";
import { openApprovalOf, openApprovalsOf, payloadOf, setPayload, setStatus } from "../approvals/table.ts";
import { dissolveAll } from "../budgets/carving.ts";
import type { Writing } from "../dispatch/context.ts";
import { reportsOf } from "../capabilities/members.ts";
import { recordGrant } from "../permissions/operations.ts";
import { givenTo, markRevoked, shiftHolder, shiftScope } from "../capabilities/table.ts";
import { inheritMail } from "../mail/post.ts";
import { isLive, type OutcomeRow } from "../outcomes/outcome.ts";
import {
  addParent,
  assign,
  freeDependents,
  liveChildrenOf,
  outcomeById,
  replaceParent,
  saveOutcome,
  wouldWaitForItself,
} from "../outcomes/table.ts";
import { query } from "../store/query.ts";
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
import { returnParts } from "./waiting-parts.ts";

/**
 * Three ways to leave, each in one transaction, after which nothing of the agent is accepted any more:
 *   fired      its reports, its reviews, its live work and its unanswered mail go to its boss, or to another heir; a
 *              standing mandate closes, an outcome it was made for goes on like any other work
 *   retired    the mandate it was made for ended; the same, but the mandate has its own ending
 *   reclaimed  its boss takes the mandate back: the agent and everybody below it end, all their live work is the boss's
 * Processes are ended afterwards, by whoever runs them: a session that is no longer live is stopped (runtime/).
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

/** Called when an outcome ends: if an agent was made for it, that agent has done what it was for. */
export async function retire(call: Writing, outcome: OutcomeRow): Promise<void> {
  const agent = await madeFor(call.tx, outcome.id);
  if (agent === undefined) return;
  await demandDone(call.tx, outcome);
  const moved = await depart(call, agent, agent.boss_id, "its outcome ended", false);
  await call.record(agent.id, { reason: "its outcome ended", boss: agent.boss_id, moved }, "agent.retire");
}

/**
 * An agent made for the outcome waits for nothing it delegated. Asked when the outcome is submitted too: otherwise its boss
 * could only send it back, and it would be submitted again, for ever.
 */
export async function demandDone(tx: ReadTx, { id }: Pick<OutcomeRow, "id">): Promise<void> {
  const agent = await madeFor(tx, id);
  const open = agent === undefined ? [] : await tx.all(liveDelegationsOf, { agentId: agent.id });
  if (agent !== undefined && open.length > 0)
    throw new Refusal(
      "refused",
      `${agent.name} still waits for ${open.length} outcome${open.length === 1 ? "" : "s"} it delegated: ${open
        .slice(0, 5)
        .map(({ id, title }) => `"${title.slice(0, 60)}" (${id})`)
        .join(", ")}.`,
      "Let them end first, or reclaim the outcome.",
    );
}

/** The agent that retires when this outcome ends. */
async function madeFor(tx: ReadTx, id: string): Promise<(AgentRow & { boss_id: string }) | undefined> {
  const agent = await agentOfMandate(tx, id);
  return agent === undefined || agent.made_for_mandate === 0 || agent.boss_id === null
    ? undefined
    : { ...agent, boss_id: agent.boss_id };
}

/** The agent of a reclaimed mandate and everybody below it; answers who ended. */
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
    for (const { id: below } of await tx.all(reportIds, { bossId: id })) frontier.push(below);
  }
  for (const member of ended) {
    await end(call, member, reason);
    // Also of what has ended: when it is reopened, there is somebody to verify it.
    await tx.run(reroute, { from: member.id, to: bossId, now: tx.now });
    for (const work of await tx.all(liveWorkOf, { agentId: member.id })) {
      if (work.kind === "inbox") await endOutcome(call, work.id, "its agent is gone");
      else await saveOutcome(tx, takenBack(await outcomeById(tx, work.id), bossId), call.actor);
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

/** No credential, session or right of the agent works from here on. */
async function end(call: Writing, agent: AgentRow, reason: string): Promise<void> {
  const { tx } = call;
  await saveAgent(tx, { ...agent, status: "terminated", epoch: agent.epoch + 1, ended_at: tx.now });
  await tx.run(endCredentials, { agentId: agent.id, now: tx.now });
  // Nobody is left for whom an open approval could say yes; requests of its own end with it as well.
  for (const approval of await openApprovalsOf(tx, agent.id)) {
    const {
      id,
      type,
      decision_note: note,
    } = await setStatus(tx, approval, "cancelled", `${agent.name} has left`);
    await call.record(agent.id, { approval: id, type, status: "cancelled", note }, "approval.cancel");
  }
  await returnParts(call, agent, reason);
  await tx.run(endSessions, { agentId: agent.id, now: tx.now, reason: "the agent left" });
  await shiftHolder(tx, agent.id, 1);
  await tx.run(forgetPause, { agentId: agent.id });
  // Whoever drew from its budget draws from the one above now.
  await dissolveAll(tx, agent);
  await resumeHalted(call);
}

/** What it leaves, the heir has: its boss, or one that has the same boss. Answers which outcomes moved. */
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
    for (const grant of await givenTo(tx, report.id, agent.id)) {
      await markRevoked(tx, grant.id);
      await recordGrant(call, "permission.revoke", { ...grant, revoked_at: tx.now });
    }
    if (report.status === "pending_approval") await expectBy(call, report.id, heir);
  }
  await end(call, agent, reason);
  await tx.run(reanchor, { from: agent.id, to: heirId });
  await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });
  await tx.run(withdrawRequests, { agentId: agent.id, now: tx.now });
  await rehang(tx, agent, heir, mandateGoesOn);
  const moved: string[] = [];
  for (const work of await tx.all(liveWorkOf, { agentId: agent.id })) {
    if (work.id === agent.mandate_id && !mandateGoesOn) continue;
    if (work.kind === "inbox") {
      await endOutcome(call, work.id, "its agent is gone");
      await call.record(work.id, { rationale: "its agent is gone" }, "outcome.close");
      continue;
    }
    // Who handed it down has it back, open again: nobody is left to have done it, and its new owner decides anew.
    const back = { delegated: 0, delegatedBy: null, status: "open" };
    const same = { delegated: work.delegated, delegatedBy: work.delegated_by };
    const isBack = work.delegated === 0 || work.delegated_by === heirId;
    await assign(tx, work.id, { responsibleId: heirId, ...(isBack ? back : same) });
    moved.push(work.id);
  }
  await inheritMail(tx, agent, heirId, call.newId);
  return moved;
}

/** A hire that waits is the heir's. The approval names another boss now: who has seen it as it was looks again. */
async function expectBy(call: Writing, agentId: string, heir: AgentRow): Promise<void> {
  const approval = await openApprovalOf(call.tx, agentId);
  if (approval?.type !== "hire_agent") return;
  const payload = payloadOf(approval);
  const asked = { ...Object(payload["requestedConfigurationSnapshot"]), reportsTo: heir.id };
  await setPayload(call.tx, approval, { ...payload, requestedConfigurationSnapshot: asked });
  await call.record(agentId, { approval: approval.id, boss: heir.id }, "approval.update");
}

/** What lives below a mandate that ends, and the standing mandates of its reports in any case, serve the heir's from now on. */
async function rehang(tx: Tx, agent: AgentRow, heir: AgentRow, mandateGoesOn: boolean): Promise<void> {
  for (const child of await liveChildrenOf(tx, agent.mandate_id)) {
    if (child.kind === "inbox" || (mandateGoesOn && child.kind !== "mandate")) continue;
    // Somewhere above is always the boss's own mandate; the heir's may itself wait for the child.
    const isCircle = await wouldWaitForItself(tx, heir.mandate_id, child.id);
    const boss = agent.boss_id === null ? undefined : await agentById(tx, agent.boss_id);
    const parent = isCircle ? boss?.mandate_id : heir.mandate_id;
    if (parent === undefined || (isCircle && (await wouldWaitForItself(tx, parent, child.id)))) continue;
    if (mandateGoesOn) await replaceParent(tx, child.id, agent.mandate_id, parent);
    else await addParent(tx, child.id, parent);
  }
}

/** Ends what nobody is left to end. Whoever waited for its completion, or would if reopened, does not: that cannot come. */
async function endOutcome(call: Writing, id: string, rationale: string): Promise<void> {
  const { tx } = call;
  await shiftScope(tx, id, 1);
  await tx.run(closeRow, { id, rationale, now: tx.now });
  for (const waiter of await freeDependents(tx, id)) {
    if (!isLive(await outcomeById(tx, waiter))) continue;
    const note = `it does not wait for ${id} any more: ${rationale}`;
    await call.record(waiter, { changed: ["dependsOn"], note }, "outcome.update");
  }
}

const reportIds = query((db, p: { bossId: string }) =>
  db.selectFrom("agents").select("id").where("boss_id", "=", p.bossId).where("status", "<>", "terminated"),
);

const closeRow = query((db, p: { id: string; rationale: string; now: number }) =>
  db
    .updateTable("outcomes")
    .set({ status: "closed", rationale: p.rationale, stale: 1, updated_at: p.now })
    .where("id", "=", p.id),
);

const withdrawRequests = query((db, p: { agentId: string; now: number }) =>
  db
    .updateTable("permission_requests")
    .set({ answered_at: p.now })
    .where("agent_id", "=", p.agentId)
    .where("answered_at", "is", null),
);
