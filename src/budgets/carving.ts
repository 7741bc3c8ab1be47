import { type BudgetChange, type Measure, measures } from "../contract/budgets.ts";
import type { Settings } from "../contract/companies.ts";
import { Refusal } from "../contract/refusal.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { fromUnits, inWords, left, partsOf } from "./budget.ts";
import { poolOwnerOf } from "./reservations.ts";
import {
  amountOf,
  budgetsUnder,
  charge,
  companyLimit,
  drawnFrom,
  dropAmount,
  moveReservations,
  type Pool,
  poolOf,
  setAmount,
} from "./table.ts";

/**
 * Giving budgets and taking them back. A budget is carved out of the pool above it when its agent becomes active, and
 * returns to it when the agent leaves or the budget is taken away; what was spent of it stays spent there.
 */
export interface Holder {
  readonly id: string;
  readonly company_id: string;
  readonly boss_id: string | null;
}

/** Refuses what does not fit, with the figures; answers what would have to be taken from above. */
export async function weighBudget(tx: ReadTx, agent: Holder, change: BudgetChange): Promise<void> {
  for (const [measure, wanted] of partsOf(change)) {
    const former = await amountOf(tx, agent.id, measure);
    const above = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
    const own = former === undefined ? undefined : await poolOf(tx, poolKey(agent, measure));
    // What hangs below it already counts above as long as it has no budget of its own.
    const below =
      own?.handedDown ??
      (await budgetsUnder(tx, agent.id)).reduce((sum, b) => sum + (b.measure === measure ? b.amount : 0), 0);
    const kept = below + (own?.reserved ?? 0);
    if (wanted < kept)
      throw new Refusal(
        "refused",
        `${inWords(measure, wanted)} is less than what is handed down (${inWords(measure, below)}) and set aside for sessions that run (${inWords(measure, kept - below)}).`,
        `Give at least ${inWords(measure, kept)}, or take from those below first.`,
        { measure, least: fromUnits(measure, kept) },
      );
    const more = wanted - (former ?? below);
    if (more > Math.max(0, left(above)))
      throw new Refusal(
        "refused",
        `${inWords(measure, wanted)} does not fit: ${(await poolOwnerOf(tx, above)).called} has ${inWords(measure, Math.max(0, left(above)))} left (limit ${inWords(measure, above.limit ?? 0)}, spent ${inWords(measure, above.spent)}, set aside ${inWords(measure, above.reserved)}, handed down ${inWords(measure, above.handedDown)}).`,
        `Give at most ${inWords(measure, (former ?? below) + Math.max(0, left(above)))}, or raise the budget above first.`,
        { measure, most: fromUnits(measure, (former ?? below) + Math.max(0, left(above))) },
      );
  }
}

/** Sets what is said of the budget, null takes it away. */
export async function carve(tx: Tx, agent: Holder, change: BudgetChange): Promise<void> {
  await weighBudget(tx, agent, change);
  for (const [measure, wanted] of partsOf(change)) {
    if ((await amountOf(tx, agent.id, measure)) !== undefined) {
      // Lowered below what is spent: that much was spent all the same, by the pool above.
      const own = await poolOf(tx, poolKey(agent, measure));
      const excess = Math.max(0, own.spent + own.reserved + own.handedDown - wanted);
      const above = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
      await charge(tx, agent.id, measure, -excess);
      await charge(tx, above.id, measure, excess);
    }
    await tx.run(setAmount, { agentId: agent.id, measure, companyId: agent.company_id, amount: wanted });
  }
  for (const measure of measures) if (change[measure] === null) await dissolve(tx, agent, measure);
}

/** Before the agent leaves: all of its budget returns. */
export async function dissolveAll(tx: Tx, agent: Holder): Promise<void> {
  for (const measure of measures) await dissolve(tx, agent, measure);
}

async function dissolve(tx: Tx, agent: Holder, measure: Measure): Promise<void> {
  if ((await amountOf(tx, agent.id, measure)) === undefined) return;
  const own = await poolOf(tx, poolKey(agent, measure));
  const above = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
  await tx.run(dropAmount, { agentId: agent.id, measure });
  await charge(tx, agent.id, measure, -own.spent);
  await charge(tx, above.id, measure, own.spent);
  await tx.run(moveReservations, { from: agent.id, to: above.id, measure });
}

/** Refuses if the budgets that would come with this agent do not fit what its new boss draws from. */
export async function demandRoomFor(tx: ReadTx, agent: Holder, newBossId: string | null): Promise<void> {
  const moving = await budgetsUnder(tx, agent.id);
  for (const measure of measures) {
    const sum = moving.reduce((total, part) => total + (part.measure === measure ? part.amount : 0), 0);
    const from = await drawnFrom(tx, agent.company_id, agent.boss_id, measure);
    const to = await drawnFrom(tx, agent.company_id, newBossId, measure);
    if (sum === 0 || from.id === to.id || sum <= left(to)) continue;
    throw new Refusal(
      "refused",
      `Budgets of ${inWords(measure, sum)} would move, and ${(await poolOwnerOf(tx, to)).called} has ${inWords(measure, Math.max(0, left(to)))} left.`,
      "Lower them or raise that one first.",
    );
  }
}

/** The company's own budget may not be less than what it has handed down; what is spent does not come back. */
export async function demandCovers(tx: ReadTx, companyId: string, settings: Settings): Promise<void> {
  for (const measure of measures) {
    const limit = companyLimit(settings, measure);
    const { handedDown } = await poolOf(tx, { companyId, id: companyId, measure }, settings);
    if (limit !== null && limit < handedDown)
      throw new Refusal(
        "refused",
        `The budgets of agents amount to ${inWords(measure, handedDown)}, which is more than ${inWords(measure, limit)}.`,
        "Lower theirs first; to stop everything at once, set maxSessions to 0.",
      );
  }
}

const poolKey = (agent: Holder, measure: Measure): Pick<Pool, "companyId" | "id" | "measure"> => ({
  companyId: agent.company_id,
  id: agent.id,
  measure,
});
