import * as contract from "../contract/budgets.ts";
import { Refusal } from "../contract/refusal.ts";
import { partsOf } from "./budget.ts";
import { carve } from "./carving.ts";
import { budgetLines } from "./costs.ts";
import { drawnFrom, placeOf } from "./table.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { Writing } from "../dispatch/context.ts";
import { afterChange, withParts } from "./halting.ts";
import { demandBossOrBoard } from "../agents/standing.ts";
import { agentById, type AgentRow, saveAgent } from "../agents/table.ts";

/** Budgets of agents: who gives them to whom. What fits is for budgets/carving.ts to say. */
const onSet = guarded(contract.setBudget, async (call) => {
  const { id, ...change } = call.input;
  const agent = await demandBossOrBoard(call);
  await demandOwnToShare(call, agent, change);
  await changeBudget(call, id, change);
  await call.record(id, { budget: change });
  return {
    agent: { id, name: agent.name },
    budget: await budgetLines(call.tx, call.companyId, id),
  };
});

export const budgetHandlers = [onSet];

export async function changeBudget(
  call: Writing,
  agentId: string,
  change: contract.BudgetChange,
): Promise<void> {
  const agent = await agentById(call.tx, agentId);
  await carve(call.tx, agent, change);
  await saveAgent(call.tx, { ...agent, budget: withParts(agent.budget, change) });
  await afterChange(call, agentId);
}

/**
 * An agent hands on what is its own, or was handed on below it; the company's budget is the root agent's to share. Out of
 * a budget it only draws from together with others it cannot set anything apart: that would take it from them.
 */
export async function demandOwnToShare(
  call: Writing,
  agent: Pick<AgentRow, "boss_id">,
  change: contract.BudgetChange,
): Promise<void> {
  const { tx, companyId, actor } = call;
  if (actor.agentId === null) return;
  const { chain } = await placeOf(tx, { id: actor.agentId, company_id: companyId });
  if (chain.length === 1) return;
  for (const [measure] of partsOf(change)) {
    const { id } = await drawnFrom(tx, companyId, agent.boss_id, measure);
    if (id !== companyId && !chain.slice(1).includes(id)) continue;
    throw new Refusal(
      "refused",
      `You have no ${measure} budget of your own to share; you draw from one that others draw from too.`,
      "Leave the budget out, or ask your boss for one of your own.",
    );
  }
}
