import { bySystem } from "../dispatch/context.ts";
import { companiesWithHalted, pauseFor, resumeHalted } from "../budgets/halting.ts";
import { approvalById, dueApprovals, expire } from "../approvals/table.ts";
import type { Pool } from "../budgets/table.ts";
import { notify } from "../mail/operations.ts";
import type { Store } from "../store/store.ts";
import { readinessOf } from "./work.ts";

/** What the scheduler does about decisions of people: it expires late approvals, and pauses and resumes agents by budget. */

/** An approval that is not decided in time is denied, and its requester is told. */
export async function expireApprovals(store: Store, newId: () => string): Promise<void> {
  for (const { id, company_id } of await store.read((tx) =>
    tx.all(dueApprovals, { now: tx.now, limit: 100 }),
  ))
    await store.write(async (tx) => {
      await tx.lock(company_id);
      const approval = await approvalById(tx, id);
      if (!(await expire(tx, approval)) || approval.requested_by === null) return;
      // A budget request ends with its month, when the budget starts again. There is nothing to tell.
      if (approval.type === "budget_override") return;
      await notify(
        bySystem(tx, company_id, newId),
        approval.requested_by,
        `Approval ${id} was not decided in time, so it is denied. Request it again if you still need it.`,
      );
    });
}

/** Pauses an agent that has work but no budget, and asks the board to raise it, unless the board was asked already. */
export async function pauseForBudget(
  store: Store,
  newId: () => string,
  agentId: string,
  { companyId }: Pool,
): Promise<void> {
  await store.write(async (tx) => {
    await tx.lock(companyId);
    const again = await readinessOf(tx, agentId);
    if (!again.start && again.lacks !== undefined)
      await pauseFor(bySystem(tx, companyId, newId), agentId, again.lacks);
  });
}

/** Resumes the agents that a used-up budget had paused, once a new month has begun. */
export async function renewBudgets(store: Store, newId: () => string): Promise<void> {
  for (const { company_id } of await store.read((tx) => tx.all(companiesWithHalted, {})))
    await store.write(async (tx) => {
      await tx.lock(company_id);
      await resumeHalted(bySystem(tx, company_id, newId));
    });
}
