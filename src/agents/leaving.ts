import { Refusal } from "../contract/refusal.ts";
import { openApprovalsOf, setStatus } from "../approvals/table.ts";
import type { Surroundings } from "../capabilities/guarded.ts";
import { shiftHolder, shiftScope } from "../capabilities/table.ts";
import { notify } from "../mail/operations.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { addParent, assign, liveChildrenOf, outcomeById, saveOutcome } from "../outcomes/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
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
} from "./table.ts";
import { returnParts } from "./waiting-parts.ts";

/**
 * Three ways to leave, each in one transaction, after which nothing of the agent is accepted any more:
 *   fired      its mandate closes; its reports, its reviews and its live work go to its boss
 *   retired    the mandate it was made for ended; the same, but the mandate has its own ending
 *   reclaimed  its boss takes the mandate back: the agent and everybody below it end, all their live work is the boss's
 * Processes are ended afterwards, by whoever runs them: a session that is no longer live is stopped (runtime/).
 */
type Scene = Pick<Surroundings, "tx" | "actor" | "record" | "companyId" | "newId">;

export async function fire(call: Scene, agent: AgentRow, bossId: string, reason: string): Promise<void> {
  const { tx } = call;
  const moved = await depart(call, agent, bossId, reason);
  await shiftScope(tx, agent.mandate_id, 1);
  const mandate = await outcomeById(tx, agent.mandate_id);
  await saveOutcome(tx, { ...mandate, status: "closed", rationale: reason }, call.actor);
  await call.record(agent.mandate_id, { rationale: reason }, "outcome.close");
  await call.record(agent.id, { reason, boss: bossId, moved }, "agent.terminate");
}

/** Called when an outcome ends: if an agent was made for it, that agent has done what it was for. */
export async function retire(call: Scene, outcome: OutcomeRow): Promise<void> {
  const agent = await madeFor(call.tx, outcome.id);
  if (agent === undefined) return;
  await demandDone(call, outcome);
  const moved = await depart(call, agent, agent.boss_id, "its outcome ended");
  await call.record(agent.id, { reason: "its outcome ended", boss: agent.boss_id, moved }, "agent.retire");
}

/**
 * An agent made for the outcome waits for nothing it delegated. Asked when the outcome is submitted too: otherwise its boss
 * could only send it back, and it would be submitted again, for ever.
 */
export async function demandDone({ tx }: Pick<Scene, "tx">, { id }: Pick<OutcomeRow, "id">): Promise<void> {
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
  call: Scene,
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
      if (work.kind === "inbox") await endInbox(tx, work.id);
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
async function end(call: Scene, agent: AgentRow, reason: string): Promise<void> {
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
}

async function depart(call: Scene, agent: AgentRow, bossId: string, reason: string): Promise<string[]> {
  const { tx } = call;
  const boss = await agentById(tx, bossId);
  await end(call, agent, reason);
  await tx.run(reanchor, { from: agent.id, to: bossId });
  // What it verified, its boss verifies now, and is told of what waits: the message about it went to the one who left.
  for (const { id, title, status } of await tx.all(liveDelegationsOf, { agentId: agent.id }))
    if (status === "submitted")
      await notify(
        call,
        bossId,
        `"${title}" (kb://${id}) is submitted, and ${agent.name} has left: verify it.`,
      );
  await tx.run(reroute, { from: agent.id, to: bossId, now: tx.now });
  // What still lives below the mandate gets the boss's mandate as its why, before the mandate ends.
  for (const child of await liveChildrenOf(tx, agent.mandate_id))
    if (child.kind !== "inbox") await addParent(tx, child.id, boss.mandate_id);
  const moved: string[] = [];
  for (const work of await tx.all(liveWorkOf, { agentId: agent.id })) {
    if (work.id === agent.mandate_id) continue;
    if (work.kind === "inbox") {
      await endInbox(tx, work.id);
      continue;
    }
    // What it had submitted is open again: nobody is left to have done it, and its new owner decides anew.
    await assign(tx, work.id, { responsibleId: bossId, delegated: 0, delegatedBy: null, status: "open" });
    moved.push(work.id);
  }
  return moved;
}

async function endInbox(tx: Tx, id: string): Promise<void> {
  await shiftScope(tx, id, 1);
  await tx.run(closeInbox, { id, now: tx.now });
}

export async function demandThere(tx: ReadTx, id: string): Promise<AgentRow> {
  const agent = await agentById(tx, id);
  if (agent.status === "terminated")
    throw new Refusal(
      "refused",
      `${agent.name} has left.`,
      "An agent that left does not come back; make a new one.",
    );
  return agent;
}

const reportIds = query((db, p: { bossId: string }) =>
  db.selectFrom("agents").select("id").where("boss_id", "=", p.bossId).where("status", "<>", "terminated"),
);

const closeInbox = query((db, p: { id: string; now: number }) =>
  db
    .updateTable("outcomes")
    .set({ status: "closed", rationale: "its agent is gone", stale: 1, updated_at: p.now })
    .where("id", "=", p.id),
);
