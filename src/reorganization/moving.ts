import { Refusal } from "../contract/refusal.ts";
import { levelAt, resourceKind } from "../contract/resources.ts";
import { give, sourceFor } from "../capabilities/grants.ts";
import type { Writing } from "../dispatch/context.ts";
import { type Member, memberById, rootAgentOf } from "../capabilities/members.ts";
import { recordGrant } from "../permissions/operations.ts";
import { worthOf } from "../capabilities/rights.ts";
import { chainOf, givenTo, type GrantRow, markRevoked, rebase } from "../capabilities/table.ts";
import { demandRoomFor } from "../budgets/carving.ts";
import { agentById, type AgentRow, endSessions, saveAgent } from "../agents/table.ts";
import {
  assign,
  childrenOf,
  outcomeById,
  parentsOf,
  replaceParent,
  wouldWaitForItself,
} from "../outcomes/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";

/**
 * The two steps every change of the reporting lines is made of, besides hiring and leaving (agents/): an agent gets another
 * boss, and an outcome another owner of the same boss. `made` are the agents that this change makes: they begin with what
 * the reports they get were given, handed on by their own boss.
 */

/** What its boss handed to it, the new boss verifies; what its boss gave it, it keeps where the new boss holds it too. */
export async function moveReport(
  call: Writing,
  id: string,
  to: Member,
  made: ReadonlySet<string>,
): Promise<void> {
  const { tx } = call;
  const agent = await agentById(tx, id);
  const from = agent.boss_id === null ? undefined : await memberById(tx, agent.boss_id);
  if (from === undefined || from.id === to.id) return;
  await demandRoomFor(tx, agent, to.id);
  await rehang(tx, agent, from, to);
  await saveAgent(tx, { ...agent, boss_id: to.id });
  await tx.run(rerouteOf, { agentId: id, from: from.id, to: to.id, now: tx.now });
  const rootId = await rootAgentOf(tx, agent.company_id);
  for (const grant of await givenTo(tx, id, from.id)) {
    // The root agent says who may hire in the whole company, whoever the boss is.
    if (grant.resource === "org:hire" && from.id === rootId) continue;
    await reroot(call, grant, to, made.has(to.id));
  }
  await call.record(id, { from: from.id, boss: to.id }, "agent.move");
}

/** An outcome, and what below it is the same agent's own, gets another owner that has the same boss. */
export async function moveWork(call: Writing, id: string, from: AgentRow, to: Member): Promise<string[]> {
  const { tx } = call;
  const moved: string[] = [];
  const frontier = [id];
  const seen = new Set(frontier);
  for (let next = frontier.pop(); next !== undefined; next = frontier.pop()) {
    const { delegated, delegated_by: delegatedBy } = await outcomeById(tx, next);
    await assign(tx, next, { responsibleId: to.id, delegated, delegatedBy });
    moved.push(next);
    for (const child of await childrenOf(tx, next)) {
      const isOwn = child.responsible_id === from.id && child.delegated === 0 && child.kind !== "inbox";
      if (seen.has(child.id) || !isOwn) continue;
      seen.add(child.id);
      frontier.push(child.id);
    }
  }
  if ((await parentsOf(tx, id)).some((parent) => parent.id === from.mandate_id))
    await replaceParent(tx, id, from.mandate_id, to.mandate_id);
  await call.record(id, { from: from.id, to: to.id, moved }, "outcome.move");
  return moved;
}

/** What was given for outcomes that moved on goes with them: to the new owner from its boss, away from the old one. */
export async function moveRights(
  call: Writing,
  moved: ReadonlySet<string>,
  from: AgentRow,
  to: Member,
): Promise<GrantRow[]> {
  const { tx } = call;
  const left: GrantRow[] = [];
  for (const grant of await tx.all(heldBy, { agentId: from.id })) {
    if (!moved.has(grant.scope_id)) continue;
    left.push(grant);
    if (await isWhole(tx, grant)) await handOn(call, grant, to);
  }
  return left;
}

/** A session that was started for what moved on has nothing left to do. */
export async function stopWorkOn(call: Writing, agentId: string, moved: ReadonlySet<string>): Promise<void> {
  const session = await call.tx.first(atWork, { agentId });
  if (session?.first_outcome_id === undefined || session.first_outcome_id === null) return;
  if (!moved.has(session.first_outcome_id)) return;
  await call.tx.run(endSessions, { agentId, now: call.tx.now, reason: "its work went to somebody else" });
}

export async function takeAway(call: Writing, grant: GrantRow): Promise<void> {
  await markRevoked(call.tx, grant.id);
  await recordGrant(call, "permission.revoke", { ...grant, revoked_at: call.tx.now });
}

/**
 * The standing mandate hangs below the new boss's; so does work that hung directly below the old one's. What serves other
 * work of the old boss goes on doing so.
 */
async function rehang(tx: Tx, agent: AgentRow, from: Member, to: Member): Promise<void> {
  for (const { id, kind } of await tx.all(handedTo, { agentId: agent.id, from: from.id })) {
    if (!(await parentsOf(tx, id)).some((parent) => parent.id === from.mandate_id)) continue;
    if (!(await wouldWaitForItself(tx, to.mandate_id, id)))
      await replaceParent(tx, id, from.mandate_id, to.mandate_id);
    else if (kind === "mandate")
      throw new Refusal(
        "refused",
        `What ${to.name} is for would wait for itself if ${agent.name} reported to it.`,
        "Something below one depends on the other: take that dependency away first.",
      );
  }
}

async function reroot(call: Writing, grant: GrantRow, to: Member, isMade: boolean): Promise<void> {
  const { tx } = call;
  // What is not worth its level now must not become so by moving.
  const source = (await isWhole(tx, grant))
    ? ((await sourceOn(tx, to, grant)) ??
      (isMade && (await handOn(call, grant, to)) ? await sourceOn(tx, to, grant) : null))
    : null;
  if (source === null) return takeAway(call, grant);
  await rebase(tx, grant.id, {
    giverId: to.id,
    parentId: source.parent_id,
    structural: source.structural,
  });
}

type Source = Awaited<ReturnType<typeof sourceFor>>;

async function isWhole(tx: ReadTx, grant: GrantRow): Promise<boolean> {
  return grant.broken === 0 && (await worthOf(tx, grant, grant.resource)) === grant.level;
}

async function sourceOn(tx: ReadTx, to: Member, grant: GrantRow): Promise<Source | null> {
  const source = await orNothing(sourceFor(tx, to, grant.resource, grant.level, grant.scope_id));
  if (source === null || source.parent_id === null) return source;
  return (await chainOf(tx, source.parent_id)).some(({ id }) => id === grant.id) ? null : source;
}

/** Its boss gives a newcomer what it is to hand on, if it can. */
async function handOn(call: Writing, grant: GrantRow, to: Member): Promise<boolean> {
  const { tx, companyId } = call;
  const boss = to.boss_id === null ? undefined : await memberById(tx, to.boss_id);
  const level = levelAt(resourceKind(grant.resource), grant.level);
  if (boss === undefined || level === null) return false;
  const gift = { id: call.newId(), companyId, giver: boss, receiver: to, resource: grant.resource };
  try {
    const row = await give(tx, { ...gift, level, scopeId: grant.scope_id });
    await recordGrant(call, "permission.grant", row);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

async function orNothing<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

const handedTo = query((db, p: { agentId: string; from: string }) =>
  db
    .selectFrom("outcomes")
    .select(["id", "kind"])
    .where("responsible_id", "=", p.agentId)
    .where("delegated_by", "=", p.from)
    .where("status", "in", ["open", "submitted"])
    .orderBy("num"),
);

/** Ended outcomes too: one that is reopened later has somebody to verify it. */
const rerouteOf = query((db, p: { agentId: string; from: string; to: string; now: number }) =>
  db
    .updateTable("outcomes")
    .set({ delegated_by: p.to, stale: 1, updated_at: p.now })
    .where("responsible_id", "=", p.agentId)
    .where("delegated_by", "=", p.from),
);

const heldBy = query((db, p: { agentId: string }) =>
  db
    .selectFrom("grants")
    .selectAll()
    .where("grantee_id", "=", p.agentId)
    .where("revoked_at", "is", null)
    .orderBy("num"),
);

const atWork = query((db, p: { agentId: string }) =>
  db
    .selectFrom("sessions")
    .select("first_outcome_id")
    .where("agent_id", "=", p.agentId)
    .where("ended_at", "is", null),
);
