import { sql } from "kysely";
import { settingsOf, storedSettings } from "../dispatch/company-settings.ts";
import { tables } from "../store/schema.ts";
import { type Measure, measures } from "../contract/budgets.ts";
import { refusalOf } from "../contract/refusal.ts";
import type { ApprovalKind } from "../approvals/kinds.ts";
import type { ApprovalRow } from "../approvals/approval.ts";
import { overtake } from "../approvals/concluding.ts";
import { approvalById, openApproval } from "../approvals/table.ts";
import { fromUnits, inUnits, inWords, isUsedUp, monthOf, nextMonth, unspent } from "./budget.ts";
import { carve, weighBudget } from "./carving.ts";
import { moneyOf, raiseIn } from "./requested.ts";
import { lacking, poolOwnerOf, quantumOf } from "./reservations.ts";
import {
  alertOf,
  dropAlert,
  isLimited,
  type Place,
  budgetPlaceOf,
  type Pool,
  poolOf,
  putAlert,
} from "./table.ts";
import type { Writing } from "../dispatch/context.ts";
import { notify } from "../mail/notices.ts";
import { insertion } from "../store/inserts.ts";
import { deleting, query, selection, updating } from "../store/query.ts";
import { companyRow } from "../store/row-by-id.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { agentById, type AgentRow, endSessions, saveAgent } from "../agents/table.ts";
import {
  budgetChanged,
  coversNoCall,
  hasBudgetAgain,
  heldByOthers,
  impossibleUsage,
  noLimitLeft,
  notPossibleYet,
  pausedForUsage,
  raiseChanges,
  usedUp,
} from "./texts.ts";

/**
 * When a budget is used up, the session that noticed it ends, its agent is paused, and the board is asked for more, once
 * per month and budget. The agent works again as soon as the budget has something left: the board approved, the budget
 * was raised, or a new month began.
 */

/**
 * Ends the session and says why. The agent is paused only if the budget is used up, or has less than the call needs. If other
 * sessions reserved the rest, the agent waits for them.
 */
export async function halt(writing: Writing, agentId: string, pool: Pool, need = 0): Promise<string> {
  const { tx } = writing;
  const agent = await agentById(tx, agentId);
  const { words } = await poolOwnerOf(tx, pool);
  const isEmpty = isUsedUp(pool) || unspent(pool) < need;
  const reason = isUsedUp(pool) ? usedUp(words) : isEmpty ? coversNoCall(words) : heldByOthers(words);
  await saveAgent(tx, agent, { epoch: agent.epoch + 1 });
  await tx.run(endSessions, { agent_id: agentId, ended_at: tx.now, end_reason: reason });
  if (isEmpty) await pauseFor(writing, agentId, pool, reason);
  return reason;
}

/**
 * Whether a budget still stops agents: it is used up. Or it was too small for a call when the board was asked for more, and has
 * grown nothing since.
 */
export function isShort(pool: Pool, asked: ApprovalRow | undefined): boolean {
  if (isUsedUp(pool) || asked === undefined || pool.limit === null) return isUsedUp(pool);
  const { measure, limit, handedDown } = raiseIn(asked);
  return pool.limit - pool.handedDown <= inUnits(measure, limit) - inUnits(measure, handedDown);
}

/** Pauses an agent that reported an impossible usage, until a person has looked at it. The report is not counted. */
export async function distrust(writing: Writing, agentId: string): Promise<void> {
  const { tx } = writing;
  const agent = await agentById(tx, agentId);
  const reason = impossibleUsage;
  await saveAgent(tx, agent, { status: "paused", epoch: agent.epoch + 1 });
  await tx.run(endSessions, { agent_id: agentId, ended_at: tx.now, end_reason: reason });
  await writing.record(agentId, { reason }, "agent.pause");
  await notify(writing, agent.boss_id, pausedForUsage(agent.name));
}

/** Pauses an agent that has work but no budget for it. */
export async function pauseFor(
  writing: Writing,
  agentId: string,
  pool: Pool,
  because?: string,
): Promise<void> {
  const { tx } = writing;
  const { words } = await poolOwnerOf(tx, pool);
  await saveAgent(tx, await agentById(tx, agentId), { status: "paused" });
  await tx.run(notePause, { agent_id: agentId, company_id: writing.companyId, pool_id: pool.id });
  const reason = because ?? usedUp(words);
  await writing.record(agentId, { reason, pool: pool.id, measure: pool.measure }, "agent.pause");
  await askForMore(writing, pool);
}

/** Pauses an agent again that was resumed although its budget is still used up, unless a session of it is running. */
export async function haltAgain(writing: Writing, agentId: string): Promise<void> {
  const { tx } = writing;
  const agent = await agentById(tx, agentId);
  const lacks = lacking(await budgetPlaceOf(tx, agent));
  if (agent.status !== "idle" || lacks === undefined || !isUsedUp(lacks)) return;
  if ((await tx.first(liveSession, { agent_id: agentId })) === undefined)
    await pauseFor(writing, agentId, lacks);
}

/** Opens at most one approval per pool and month. Only after that one was approved can another one follow. */
async function askForMore(writing: Writing, pool: Pool): Promise<void> {
  const { tx, companyId } = writing;
  const key = { pool_id: pool.id, month: monthOf(tx.now), kind: override(pool.measure) };
  if ((await tx.first(alertOf, key)) !== undefined) return;
  const owner = await poolOwnerOf(tx, pool);
  const { measure } = pool;
  const limit = pool.limit ?? 0;
  // Approving must let work continue, so the raise also covers what the last report spent beyond the limit.
  const beyond = Math.max(0, pool.spent + pool.handedDown - limit);
  const more = Math.max(Math.round(limit / 2), quantumOf(await settingsOf(tx, companyId), measure));
  const raiseBy = beyond + more;
  const approval = await openApproval(writing, {
    type: "budget_override",
    payload: {
      pool: pool.id,
      budget: owner.words,
      measure,
      limit: fromUnits(measure, limit),
      spent: fromUnits(measure, pool.spent),
      handedDown: fromUnits(measure, pool.handedDown),
      raiseBy: fromUnits(measure, raiseBy),
    },
    requestedBy: owner.agentId,
    // A new month has a new budget, so the request expires with the month.
    expiresAt: nextMonth(tx.now),
  });
  await tx.run(putAlert, { ...key, approval_id: approval.id });
}

/** The request for more of this pool in this month, if there is one. */
export async function overrideOf(
  tx: ReadTx,
  pool: Pick<Pool, "id" | "measure">,
): Promise<ApprovalRow | undefined> {
  const alert = await tx.first(alertOf, {
    pool_id: pool.id,
    month: monthOf(tx.now),
    kind: override(pool.measure),
  });
  const id = alert?.approval_id ?? null;
  return id === null ? undefined : approvalById(tx, id);
}

/** All requests of this month for more, by pool and measure. */
export async function overridesIn(tx: ReadTx, companyId: string): Promise<Map<string, ApprovalRow>> {
  const rows = await tx.all(overridesOf, { companyId, month: monthOf(tx.now) });
  return new Map(rows.map((row) => [`${row.pool_id} ${row.alert.replace(override(""), "")}`, row]));
}

/**
 * Called after a change of a budget: cancels requests that are no longer needed and resumes agents whose budget has something
 * left.
 */
export async function afterChange(writing: Writing, poolId: string): Promise<void> {
  const { tx, companyId } = writing;
  for (const measure of measures) {
    const asked = await overrideOf(tx, { id: poolId, measure });
    if (asked === undefined) continue;
    const pool = await poolOf(tx, { companyId, id: poolId, measure });
    if (isShort(pool, asked) && (await isLimited(tx, pool))) continue;
    if (asked.status === "pending") await overtake(writing, asked, budgetChanged, moneyOf);
    await tx.run(dropAlert, { pool_id: poolId, kind: override(measure) });
  }
  await resumeHalted(writing);
}

const override = (measure: Measure | ""): string => `override ${measure}`;

/** Resumes every agent of the company that a budget paused and whose budget has something left now. */
export async function resumeHalted(writing: Writing): Promise<void> {
  const { tx, companyId } = writing;
  for (const { agent_id: id, pool_id } of await tx.all(pausedByBudget, { company_id: companyId })) {
    const agent = await agentById(tx, id);
    const place = await budgetPlaceOf(tx, agent);
    if (lacking(place) !== undefined || (await shortAmong(tx, place, pool_id)) !== undefined) continue;
    await tx.run(forgetPause, { agent_id: id });
    if (agent.status !== "paused") continue;
    await saveAgent(tx, agent, { status: "idle", idle_sessions: 0, not_before: 0 });
    await writing.record(id, { reason: hasBudgetAgain }, "agent.resume");
  }
}

/** The pool that paused the agent and still stops it. */
export async function shortAmong(tx: ReadTx, { pools }: Place, pausedBy: string): Promise<Pool | undefined> {
  for (const pool of Object.values(pools))
    if (pool.id === pausedBy && isShort(pool, await overrideOf(tx, pool))) return pool;
  return undefined;
}

export const companiesWithHalted = query((db, _: Record<never, never>) =>
  db.selectFrom("budget_pauses").select("company_id").distinct(),
);

/** The effects of a decision on a raise. */
export const overriding: ApprovalKind = {
  approve: async (call, approval) => {
    const { tx, companyId } = call;
    const { pool: id, measure, raiseBy } = raiseIn(approval);
    const pool = await poolOf(tx, { companyId, id, measure });
    if (pool.limit === null || !(await isLimited(tx, pool))) throw noLimitLeft();
    const limit = fromUnits(measure, pool.limit + inUnits(measure, raiseBy));
    if (id === companyId) await raiseCompany(tx, companyId, measure, limit);
    else await raiseAgent(tx, await agentById(tx, id), measure, limit);
    await call.record(id, { budget: { [measure]: limit } }, "agent.set_budget");
    await tx.run(dropAlert, { pool_id: id, kind: override(measure) });
    await resumeHalted(call);
  },
  deny: async () => undefined,
  summary: async (tx, approval) => {
    const { pool: id, budget, measure, raiseBy } = raiseIn(approval);
    const { limit, spent } = await poolOf(tx, { companyId: approval.company_id, id, measure });
    const paused = await tx.all(pausedByPool, { poolId: id });
    return raiseChanges(
      {
        budget,
        now: inWords(measure, limit ?? 0),
        after: inWords(measure, (limit ?? 0) + inUnits(measure, raiseBy)),
        spent: inWords(measure, spent),
      },
      paused.map(({ name }) => name),
    );
  },
  sections: async (tx, approval, viewer) => {
    const { pool: id, measure, raiseBy } = raiseIn(approval);
    const companyId = approval.company_id;
    const pool = await poolOf(tx, { companyId, id, measure });
    const after = (pool.limit ?? 0) + inUnits(measure, raiseBy);
    const paused = await tx.all(pausedByPool, { poolId: id });
    return {
      heldUp: paused.map(({ id: agent, name }) => ({ kind: "agent", id: agent, title: name })),
      obstacles: viewer.agentId === null ? await obstacle(tx, approval, after) : [],
    };
  },
};

/** The reason why the raise can't be approved: the budget above has no room for it. It is shown before the decision. */
async function obstacle(tx: ReadTx, approval: ApprovalRow, limit: number): Promise<string[]> {
  const { pool: id, measure } = raiseIn(approval);
  if (id === approval.company_id) return [];
  const raised = { [measure]: fromUnits(measure, limit) };
  const refusal = await refusalOf(weighBudget(tx, await agentById(tx, id), raised));
  return refusal === undefined ? [] : [notPossibleYet(refusal)];
}

async function raiseCompany(tx: Tx, companyId: string, measure: Measure, limit: number): Promise<void> {
  const { settings } = (await tx.first(companyRow, { id: companyId })) ?? { settings: "{}" };
  const stored = storedSettings(settings);
  const raised = { ...stored, monthlyBudget: { ...stored.monthlyBudget, [measure]: limit } };
  await tx.run(saveSettings, { id: companyId, settings: JSON.stringify(raised) });
}

async function raiseAgent(tx: Tx, agent: AgentRow, measure: Measure, limit: number): Promise<void> {
  await carve(tx, agent, { [measure]: limit });
  await saveAgent(tx, agent, { budget: withParts(agent.budget, { [measure]: limit }) });
}

/** The budget as it is stored with the agent, after a change. */
export function withParts(
  stored: string | null,
  change: Readonly<Partial<Record<Measure, number | null | undefined>>>,
): string | null {
  const before = tables.agents.budget.parse(stored) ?? {};
  const said = Object.entries(change).filter(([, amount]) => amount !== undefined);
  const parts = Object.entries({ ...before, ...Object.fromEntries(said) }).filter(
    ([, amount]) => amount !== null,
  );
  return parts.length === 0 ? null : JSON.stringify(Object.fromEntries(parts));
}

const notePause = insertion(
  "budget_pauses",
  sql`on conflict (agent_id) do update set pool_id = excluded.pool_id`,
);

/** Forgets that a budget caused the pause. */
export const forgetPause = deleting("budget_pauses", ["agent_id"]);

export const pauseOf = selection("budget_pauses", ["agent_id"]);
const pausedByBudget = selection("budget_pauses", ["company_id"], sql`order by agent_id`);

const pausedByPool = query((db, p: { poolId: string }) =>
  db
    .selectFrom("budget_pauses as b")
    .innerJoin("agents as a", "a.id", "b.agent_id")
    .select(["a.id", "a.name"])
    .where("b.pool_id", "=", p.poolId)
    .orderBy("a.name"),
);

const liveSession = selection("sessions", ["agent_id"], sql`and ended_at is null`);
const overridesOf = query((db, p: { companyId: string; month: string }) =>
  db
    .selectFrom("budget_alerts as b")
    .innerJoin("approvals as a", "a.id", "b.approval_id")
    .selectAll("a")
    .select(["b.pool_id", "b.kind as alert"])
    .where("a.company_id", "=", p.companyId)
    .where("b.month", "=", p.month),
);
const saveSettings = updating("companies", ["settings"], ["id"]);
