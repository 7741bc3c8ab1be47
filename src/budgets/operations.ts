import * as contract from "../contract/budgets.ts";
import { partsOf } from "./budget.ts";
import { carve } from "./carving.ts";
import { budgetLines } from "./costs.ts";
import { drawnFrom, budgetPlaceOf } from "./table.ts";
import { guarded } from "../dispatch/guarded.ts";
import type { Writing } from "../dispatch/context.ts";
import { afterChange, withParts } from "./halting.ts";
import { demandBossOrBoard } from "../agents/standing.ts";
import { agentById, type AgentRow, saveAgent } from "../agents/table.ts";
import { notYoursToShare } from "./texts.ts";

/** Sets an agent's budget. carving.ts decides what fits. */
const onSet = guarded(contract.setBudget, async (call) => {
  const { id, ...change } = call.input;
  const agent = await demandBossOrBoard(call);
  await demandOwnToShare(call, agent, measuresIn(change));
  await changeBudget(call, id, change);
  await call.record(id, { budget: change });
  return {
    agent: { id, name: agent.name },
    budget: await budgetLines(call.tx, call.companyId, id),
  };
});

export const budgetHandlers = [onSet];

/** The measures of which a change sets an amount. */
export const measuresIn = (change: contract.BudgetChange): contract.Measure[] =>
  partsOf(change).map(([measure]) => measure);

export async function changeBudget(
  call: Writing,
  agentId: string,
  change: contract.BudgetChange,
): Promise<void> {
  const agent = await agentById(call.tx, agentId);
  await carve(call.tx, agent, change);
  await saveAgent(call.tx, agent, { budget: withParts(agent.budget, change) });
  await afterChange(call, agentId);
}

/**
 * Refuses unless the caller may give away a part of this budget. An agent may give away parts of its separate budget, or of one
 * below it. The root agent may give away parts of the company's. An agent that shares a budget with others can't give any of it
 * away, because that would take it from the others.
 */
export async function demandOwnToShare(
  call: Writing,
  agent: Pick<AgentRow, "boss_id">,
  given: readonly contract.Measure[],
): Promise<void> {
  const { tx, companyId, actor } = call;
  if (actor.agentId === null) return;
  const { chain } = await budgetPlaceOf(tx, { id: actor.agentId, company_id: companyId });
  if (chain.length === 1) return;
  for (const measure of given) {
    const { id } = await drawnFrom(tx, companyId, agent.boss_id, measure);
    if (id !== companyId && !chain.slice(1).includes(id)) continue;
    throw notYoursToShare(measure);
  }
}
