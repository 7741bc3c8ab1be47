import { z } from "zod";
import { BudgetChange, measures } from "../contract/budgets.ts";
import type { MoneyChange } from "../contract/approvals.ts";
import { type ApprovalRow, payloadOf } from "../approvals/approval.ts";
import { memberById } from "../capabilities/members.ts";
import type { Viewer } from "../capabilities/visible.ts";
import type { ReadTx } from "../store/store.ts";
import { fromUnits, inUnits } from "./budget.ts";
import { foreseenMoney, shownPools } from "./carving.ts";
import { isLimited, poolOf } from "./table.ts";

/**
 * The budgets that approving a request would change. They change all the time. So every end of a request stores them as they
 * are then, whether a person decided or not. Every folder that ends requests may import this file, so it knows all types.
 */
export async function moneyOf(tx: ReadTx, approval: ApprovalRow, viewer: Viewer): Promise<MoneyChange[]> {
  const { type, id, company_id, agent_id, requested_by } = approval;
  if (type === "budget_override") return raiseMoney(tx, approval, viewer);
  // Before the approval of create_agent, its agent does not exist. It will share the budget of the requester.
  if (type === "create_agent")
    return foreseenMoney(tx, viewer, { id: agent_id ?? id, company_id, boss_id: requested_by }, {});
  const agent = type === "approve_ceo_strategy" ? undefined : await memberById(tx, agent_id);
  if (agent === undefined) return [];
  const payload = payloadOf(approval);
  if (type === "hire_agent") {
    const { budget } = WithBudget.parse(payload["requestedConfigurationSnapshot"]);
    return foreseenMoney(tx, viewer, agent, budget ?? {});
  }
  const { budget } = WithBudget.parse(payload["changes"]);
  const changes = await foreseenMoney(tx, viewer, agent, budget ?? {});
  return changes.filter(({ measure }) => budget?.[measure] !== undefined);
}

const WithBudget = z.object({ budget: BudgetChange.nullish() });

async function raiseMoney(tx: ReadTx, approval: ApprovalRow, viewer: Viewer): Promise<MoneyChange[]> {
  const { pool: id, measure, raiseBy } = raiseIn(approval);
  const companyId = approval.company_id;
  const pool = await poolOf(tx, { companyId, id, measure });
  // Without a limit there is nothing to raise, and approving is refused.
  if (!(await isLimited(tx, pool))) return [];
  const after = (pool.limit ?? 0) + inUnits(measure, raiseBy);
  if (id === companyId)
    return shownPools(tx, viewer, [{ pool, before: pool, after: { ...pool, limit: after } }]);
  const agent = await memberById(tx, id);
  if (agent === undefined) return [];
  const changes = await foreseenMoney(tx, viewer, agent, { [measure]: fromUnits(measure, after) });
  return changes.filter((change) => change.measure === measure);
}

/** The amount that a request for a bigger budget asks for. */
export const raiseIn = (approval: ApprovalRow): z.infer<typeof Raise> => Raise.parse(payloadOf(approval));

const Raise = z.object({
  pool: z.string(),
  budget: z.string(),
  measure: z.enum(measures),
  limit: z.number(),
  handedDown: z.number(),
  raiseBy: z.number(),
});
