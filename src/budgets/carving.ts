import { type BudgetChange, type Measure, measures } from "../contract/budgets.ts";
import type { Settings } from "../contract/companies.ts";
import type { MoneyChange } from "../contract/approvals.ts";
import { memberById } from "../capabilities/members.ts";
import type { Viewer } from "../capabilities/visible.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { type Figures, fromUnits, inUnits, left, partsOf } from "./budget.ts";
import { poolOwnerOf } from "./reservations.ts";
import {
  amountOf,
  budgetsUnder,
  charge,
  companyLimit,
  drawnFrom,
  dropAmount,
  moveReservations,
  budgetPlaceOf,
  type PoolKey,
  poolOf,
  setAmount,
} from "./table.ts";
import { aboveWhatIsLeft, belowWhatIsTaken, budgetsDoNotFit, lessThanGiven } from "./texts.ts";

/**
 * Gives budgets and takes them back. A budget is carved out of the pool above it when its agent becomes active. It returns
 * there when the agent leaves or the budget is removed. Its spending then counts as spent above.
 */
export interface Holder {
  readonly id: string;
  readonly company_id: string;
  readonly boss_id: string | null;
}

/** Refuses a budget that does not fit, with the figures. */
export async function weighBudget(tx: ReadTx, agent: Holder, change: BudgetChange): Promise<void> {
  for (const [measure, wanted] of partsOf(change)) {
    const former = await amountOf(tx, agent.id, measure);
    const above = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
    const own = former === undefined ? undefined : await poolOf(tx, poolKey(agent, measure));
    // While the agent has no separate budget, the budgets below it already count in the pool above.
    const below =
      own?.handedDown ??
      (await budgetsUnder(tx, agent.id)).reduce((sum, b) => sum + (b.measure === measure ? b.amount : 0), 0);
    const kept = below + (own?.reserved ?? 0);
    if (wanted < kept) throw belowWhatIsTaken(measure, { wanted, below, reserved: kept - below });
    const free = Math.max(0, left(above));
    const most = (former ?? below) + free;
    if (wanted > most) {
      const { called } = await poolOwnerOf(tx, above);
      const { limit, spent, reserved, handedDown } = above;
      const figures = { called, left: free, limit: limit ?? 0, spent, reserved, handedDown };
      throw aboveWhatIsLeft(measure, { wanted, most }, figures);
    }
  }
}

/** Sets the given parts of the budget. Null removes a part. */
export async function carve(tx: Tx, agent: Holder, change: BudgetChange): Promise<void> {
  await weighBudget(tx, agent, change);
  for (const [measure, wanted] of partsOf(change)) {
    if ((await amountOf(tx, agent.id, measure)) !== undefined) {
      // If the new limit is below the amount already spent, the pool above takes over the difference.
      const own = await poolOf(tx, poolKey(agent, measure));
      const excess = Math.max(0, own.spent + own.reserved + own.handedDown - wanted);
      const above = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
      await charge(tx, agent.id, measure, -excess);
      await charge(tx, above.id, measure, excess);
    }
    await tx.run(setAmount, { agent_id: agent.id, measure, company_id: agent.company_id, amount: wanted });
  }
  for (const measure of measures) if (change[measure] === null) await dissolve(tx, agent, measure);
}

/** Returns the whole budget before the agent leaves. */
export async function dissolveAll(tx: Tx, agent: Holder): Promise<void> {
  for (const measure of measures) await dissolve(tx, agent, measure);
}

async function dissolve(tx: Tx, agent: Holder, measure: Measure): Promise<void> {
  if ((await amountOf(tx, agent.id, measure)) === undefined) return;
  const own = await poolOf(tx, poolKey(agent, measure));
  const above = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
  await tx.run(dropAmount, { agent_id: agent.id, measure });
  await charge(tx, agent.id, measure, -own.spent);
  await charge(tx, above.id, measure, own.spent);
  await tx.run(moveReservations, { from: agent.id, to: above.id, measure });
}

/** The effects of a budget change on the pools it touches. A measure that is left out is shared with the pool above. */
export async function foreseenMoney(
  tx: ReadTx,
  viewer: Viewer,
  agent: Holder,
  change: BudgetChange,
): Promise<MoneyChange[]> {
  const changes: PoolChange[] = [];
  const known = measures.map(async (measure) => {
    const [former, above] = await Promise.all([
      amountOf(tx, agent.id, measure),
      drawnFrom(tx, agent.company_id, agent.boss_id, measure),
    ]);
    return { measure, former, above };
  });
  for (const { measure, former, above } of await Promise.all(known)) {
    const wanted = change[measure];
    const own = former === undefined ? undefined : await poolOf(tx, poolKey(agent, measure));
    if (wanted === undefined) {
      const shared = own ?? above;
      if (shared.limit !== null) changes.push({ pool: shared, before: shared, after: shared });
      continue;
    }
    const under = (await budgetsUnder(tx, agent.id)).filter((part) => part.measure === measure);
    const below = own?.handedDown ?? under.reduce((sum, { amount }) => sum + amount, 0);
    const limit = wanted === null ? null : inUnits(measure, wanted);
    const taken = own ?? { spent: 0, reserved: 0, handedDown: below };
    const after = limit === null ? null : { ...taken, limit };
    if (own !== undefined || after !== null)
      changes.push({ pool: poolKey(agent, measure), before: own ?? null, after });
    const freed = limit === null ? left(own ?? { ...taken, limit: below }) : (former ?? below) - limit;
    changes.push({ pool: above, before: above, after: { ...above, handedDown: above.handedDown - freed } });
  }
  return shownPools(tx, viewer, changes);
}

interface PoolChange {
  readonly pool: PoolKey;
  readonly before: Figures | null;
  readonly after: Figures | null;
}

/** People see all budgets. An agent sees its own and those of the agents below it. */
export async function shownPools(
  tx: ReadTx,
  { agentId }: Viewer,
  changes: readonly PoolChange[],
): Promise<MoneyChange[]> {
  const shown: MoneyChange[] = [];
  for (const { pool, before, after } of changes) {
    const isCompanys = pool.id === pool.companyId;
    if (agentId !== null) {
      if (isCompanys) continue;
      const { chain } = await budgetPlaceOf(tx, { id: pool.id, company_id: pool.companyId });
      if (!chain.includes(agentId)) continue;
    }
    const { measure } = pool;
    const amount = (units: number): number | null =>
      Number.isFinite(units) ? fromUnits(measure, units) : null;
    const figures = (of: Figures | null) =>
      of && { limit: of.limit === null ? null : amount(of.limit), left: amount(left(of)) };
    const title = isCompanys ? "the company" : ((await memberById(tx, pool.id))?.name ?? null);
    const owner = { kind: isCompanys ? "company" : "agent", id: pool.id, title };
    shown.push({ pool: owner, measure, before: figures(before), after: figures(after) });
  }
  return shown;
}

/**
 * Refuses a move if the budgets that move with the agent do not fit the pool of its new manager. Returns the measures that the
 * agent takes from another pool after the move.
 */
export async function demandRoomFor(tx: ReadTx, agent: Holder, newBossId: string | null): Promise<Measure[]> {
  const moving = await budgetsUnder(tx, agent.id);
  const taken: Measure[] = [];
  for (const measure of measures) {
    const sum = moving.reduce((total, part) => total + (part.measure === measure ? part.amount : 0), 0);
    const from = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
    const to = await drawnFrom(tx, agent.company_id, newBossId, measure);
    if (sum === 0 || from.id === to.id) continue;
    if (sum > left(to))
      throw budgetsDoNotFit(measure, sum, (await poolOwnerOf(tx, to)).called, Math.max(0, left(to)));
    taken.push(measure);
  }
  return taken;
}

/** Refuses a budget of the company that is less than the budgets given to agents. */
export async function demandCovers(tx: ReadTx, companyId: string, settings: Settings): Promise<void> {
  for (const measure of measures) {
    const limit = companyLimit(settings, measure);
    const { handedDown } = await poolOf(tx, { companyId, id: companyId, measure }, settings);
    if (limit !== null && limit < handedDown) throw lessThanGiven(measure, limit, handedDown);
  }
}

const poolKey = (agent: Holder, measure: Measure): PoolKey => ({
  companyId: agent.company_id,
  id: agent.id,
  measure,
});
