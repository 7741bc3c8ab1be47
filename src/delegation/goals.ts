import * as contract from "../contract/goals.ts";
import { agentById } from "../agents/table.ts";
import { sendOrder } from "../agents/orders.ts";
import { releaseWork } from "../budgets/outcome-limits.ts";
import { rootAgentOf } from "../capabilities/members.ts";
import { guarded } from "../dispatch/guarded.ts";
import { recordChange, outcomeFields } from "../outcomes/history.ts";
import { isGoal } from "../outcomes/outcome.ts";
import { presentOutcome } from "../outcomes/presenting.ts";
import { insertOutcome, outcomeById, saveOutcome } from "../outcomes/table.ts";
import { tables } from "../store/schema.ts";
import { tellOwner } from "../mail/notices.ts";
import { changedByOther } from "../outcomes/texts.ts";
import { notAGoal } from "./texts.ts";

/**
 * Goals. A goal is an outcome of kind `work` below the root's perpetual outcome. The board delegated it to the root agent. So,
 * as with any delegated work, the root agent submits it and the board verifies it.
 */

const onCreate = guarded(contract.createGoal, async (call) => {
  const { tx, actor, companyId, input } = call;
  const rootId = (await rootAgentOf(tx, companyId)) ?? "";
  const root = await agentById(tx, rootId);
  const id = call.newId();
  await insertOutcome(
    tx,
    {
      id,
      company_id: companyId,
      title: input.title,
      description: input.description ?? "",
      acceptance: input.acceptance ?? null,
      budget: input.budget === undefined ? null : JSON.stringify(input.budget),
      responsible_id: root.id,
      delegated: 1,
      parents: [root.mandate_id],
    },
    actor,
  );
  const outcome = await outcomeById(tx, id);
  await call.record(
    id,
    { title: input.title, parents: [root.mandate_id], dependsOn: [], budget: input.budget ?? null },
    "outcome.create",
  );
  await sendOrder(call, null, root, outcome, undefined);
  return { ...(await presentOutcome(call, outcome)), depth: 0 };
});

const onSetBudget = guarded(contract.setGoalBudget, async (call) => {
  const { tx, input } = call;
  const outcome = await outcomeById(tx, input.id);
  if (!isGoal(outcome)) throw notAGoal(outcome);
  const before = tables.outcomes.budget.parse(outcome.budget);
  const entries = Object.entries({ ...before, ...input.budget }).filter(([, limit]) => limit !== null);
  const budget = entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries));
  const state = await outcomeFields(tx, outcome);
  const saved = await saveOutcome(tx, { ...outcome, budget }, call.actor);
  const changes = await recordChange(call, outcome.id, state);
  if (Object.keys(changes).length > 0)
    await tellOwner(call, saved, (who, all) => changedByOther(who, saved, all), changes);
  await releaseWork(call, saved);
  return presentOutcome(call, await outcomeById(tx, outcome.id));
});

export const goalHandlers = [onCreate, onSetBudget];
