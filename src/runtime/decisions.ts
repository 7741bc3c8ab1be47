import { bySystem } from "../dispatch/context.ts";
import { companiesWithHalted, pauseFor, resumeHalted } from "../budgets/halting.ts";
import { approvalById, dueApprovals, expire } from "../approvals/table.ts";
import type { Pool } from "../budgets/table.ts";
import { notify } from "../mail/operations.ts";
import type { Store } from "../store/store.ts";
import { readinessOf } from "./work.ts";

/** What the scheduler does about decisions of people: those that are due, those it needs, those time has made for them. */

/** What nobody decided in time is denied, and whoever asked hears of it. */
export async function expireApprovals(store: Store, newId: () => string): Promise<void> {
  for (const { id, company_id } of await store.read((tx) => dueApprovals(tx, 100)))
    await store.write(async (tx) => {
      await tx.lock(company_id);
      const approval = await approvalById(tx, id);
      if (!(await expire(tx, approval)) || approval.requested_by === null) return;
      // With the month its reason is over too.
      if (approval.type === "budget_override") return;
      await notify(
        bySystem(tx, company_id, newId),
        approval.requested_by,
        `Nobody decided on approval ${id} in time, so it is denied.`,
      );
    });
}

/** Somebody has work and no budget to start with: it is paused, and people are asked, unless they were. */
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

/** Another month: whom a budget had paused goes on. */
export async function renewBudgets(store: Store, newId: () => string): Promise<void> {
  for (const { company_id } of await store.read((tx) => tx.all(companiesWithHalted, {})))
    await store.write(async (tx) => {
      await tx.lock(company_id);
      await resumeHalted(bySystem(tx, company_id, newId));
    });
}
