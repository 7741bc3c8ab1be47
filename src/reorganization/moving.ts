import { sql } from "kysely";
import { Refusal } from "../contract/refusal.ts";
import { overtake } from "../approvals/concluding.ts";
import { openApprovalOf } from "../approvals/table.ts";
import { mandateCircle, movedAway } from "./texts.ts";
import { sourceFor } from "../capabilities/grants.ts";
import type { Writing } from "../dispatch/context.ts";
import { type Member, memberById, rootAgentOf } from "../capabilities/members.ts";
import { grantRight, takeAway } from "../permissions/giving.ts";
import { worthOf } from "../capabilities/rights.ts";
import { chainOf, givenTo, type GrantRow, levelOf, rebase } from "../capabilities/table.ts";
import { demandRoomFor } from "../budgets/carving.ts";
import { demandOwnToShare } from "../budgets/operations.ts";
import { moneyOf } from "../budgets/requested.ts";
import { agentById, type AgentRow, saveAgent } from "../agents/table.ts";
import {
  assign,
  childrenOf,
  outcomeById,
  parentsOf,
  replaceParent,
  wouldWaitForItself,
} from "../outcomes/table.ts";
import { recordChange, outcomeFields } from "../outcomes/history.ts";
import { statusIsLive } from "../outcomes/outcome.ts";
import { query, selection } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";

/**
 * The two steps of every reorganization, besides hiring and leaving: an agent gets another manager, and an outcome gets another
 * owner with the same manager. `made` lists the agents that this change creates. They start with the rights that their new
 * reports had. Their own manager passes these rights on.
 */

/**
 * Moves a report. The new manager verifies the delegated work. The agent keeps a right from its old manager if the new one
 * holds it too.
 */
export async function moveReport(
  call: Writing,
  id: string,
  to: Member,
  made: ReadonlySet<string>,
): Promise<void> {
  const { tx } = call;
  const agent = await agentById(tx, id);
  const from = await memberById(tx, agent.boss_id);
  if (from === undefined || from.id === to.id) return;
  await demandOwnToShare(call, { boss_id: to.id }, await demandRoomFor(tx, agent, to.id));
  // The former manager can no longer propose this change. The request keeps the budgets that the change would have touched, so
  // it ends before the agent moves.
  const open = await tx.first(openApprovalOf, { agent_id: id });
  if (open?.type === "change_agent") await overtake(call, open, movedAway(agent.name, to.name), moneyOf);
  const mandate = await outcomeById(tx, agent.mandate_id);
  const before = await outcomeFields(tx, mandate);
  await rehang(tx, agent, from, to);
  await recordChange(call, mandate.id, before, { note: movedAway(agent.name, to.name) });
  await saveAgent(tx, agent, { boss_id: to.id });
  await tx.run(rerouteOf, { agentId: id, from: from.id, to: to.id, now: tx.now });
  const rootId = await rootAgentOf(tx, agent.company_id);
  for (const grant of await givenTo(tx, id, from.id)) {
    // A right to hire from the root agent stays, because the root agent may give it at every level.
    if (grant.resource === "org:hire" && from.id === rootId) continue;
    await reroot(call, grant, to, made.has(to.id));
  }
  await call.record(id, { from: from.id, boss: to.id }, "agent.move");
}

/** Gives an outcome, and its descendants of the same owner, to another agent with the same manager. */
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
  const isBelowMandate = (await parentsOf(tx, id)).some((parent) => parent.id === from.mandate_id);
  if (isBelowMandate && !(await wouldWaitForItself(tx, to.mandate_id, id)))
    await replaceParent(tx, id, from.mandate_id, to.mandate_id);
  await call.record(id, { from: from.id, to: to.id, moved }, "outcome.move");
  return moved;
}

/** Moves rights that were scoped to the moved outcomes: the manager grants them to the new owner, and the old one loses them. */
export async function moveRights(
  call: Writing,
  moved: ReadonlySet<string>,
  from: AgentRow,
  to: Member,
): Promise<GrantRow[]> {
  const { tx } = call;
  const left: GrantRow[] = [];
  for (const grant of await tx.all(heldBy, { grantee_id: from.id })) {
    if (!moved.has(grant.scope_id)) continue;
    left.push(grant);
    if (await isWhole(tx, grant)) await handOn(call, grant, to);
  }
  return left;
}

/**
 * Moves the standing mandate, and work directly below the old manager's mandate, below the new manager's mandate. Work below
 * other outcomes of the old manager stays there.
 */
async function rehang(tx: Tx, agent: AgentRow, from: Member, to: Member): Promise<void> {
  for (const { id, kind } of await tx.all(handedTo, { responsible_id: agent.id, delegated_by: from.id })) {
    if (!(await parentsOf(tx, id)).some((parent) => parent.id === from.mandate_id)) continue;
    if (!(await wouldWaitForItself(tx, to.mandate_id, id)))
      await replaceParent(tx, id, from.mandate_id, to.mandate_id);
    else if (kind === "mandate") throw mandateCircle(agent, to);
  }
}

async function reroot(call: Writing, grant: GrantRow, to: Member, isMade: boolean): Promise<void> {
  const { tx } = call;
  // A grant that gives less than its level now must not gain by moving.
  const source = (await isWhole(tx, grant))
    ? ((await sourceOn(tx, to, grant)) ??
      (isMade && (await handOn(call, grant, to)) ? await sourceOn(tx, to, grant) : null))
    : null;
  if (source === null) return takeAway(call, grant);
  await rebase(tx, grant.id, { granted_by: to.id, ...source });
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

/** Grants a right to a new agent that has to pass it on, if the new agent's manager holds the right. */
async function handOn(call: Writing, grant: GrantRow, to: Member): Promise<boolean> {
  const giver = await memberById(call.tx, to.boss_id);
  if (giver === undefined) return false;
  const { resource, scope_id: scopeId } = grant;
  const gift = { giver, receiver: to, resource, level: levelOf("grants", grant), scopeId };
  return (await orNothing(grantRight(call, gift))) !== null;
}

async function orNothing<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

const handedTo = selection(
  "outcomes",
  ["responsible_id", "delegated_by"],
  sql`and ${statusIsLive} order by num`,
);

/** Ended outcomes are included. If one is reopened later, the new manager verifies it. */
const rerouteOf = query((db, p: { agentId: string; from: string; to: string; now: number }) =>
  db
    .updateTable("outcomes")
    .set({ delegated_by: p.to, stale: 1, updated_at: p.now })
    .where("responsible_id", "=", p.agentId)
    .where("delegated_by", "=", p.from),
);

const heldBy = selection("grants", ["grantee_id"], sql`and revoked_at is null order by num`);
