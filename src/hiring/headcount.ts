import { Refusal } from "../contract/refusal.ts";
import type { CallContext } from "../dispatch/context.ts";
import { type Member, reportsOf } from "../capabilities/members.ts";
import { query } from "../store/query.ts";

/** What keeps agents from multiplying. The board is not bound by it. */

/**
 * Where nobody approves hires there is a limit even if none was set, and so there is for what an organization hires by
 * itself, from a plan or a directive. Whoever waits for approval is counted: a yes must not lead beyond the limit.
 */
export async function demandRoomForAgent(
  call: CallContext,
  how: { readonly waits: boolean; readonly byItself: boolean },
): Promise<void> {
  if (call.actor.agentId === null) return;
  const { maxAgents } = await call.settings();
  const most = maxAgents ?? (how.waits && !how.byItself ? null : mostUnset);
  if (most === null) return;
  const count = (await call.tx.first(headcount, { companyId: call.companyId }))?.count ?? 0;
  if (count < most) return;
  throw new Refusal(
    "limited",
    `The company has ${count} agents; agents hire no further than ${most}.`,
    "Use those there are, or ask the board to raise maxAgents.",
  );
}

/**
 * By itself an organization hires one of a kind for a manager: saying the same hire again in every session must not grow the
 * team. Whoever fills in a hire, name and all, means it.
 */
export async function demandNewRole(call: CallContext, boss: Member, role: string): Promise<void> {
  if (call.actor.agentId === null) return;
  const same = (await reportsOf(call.tx, boss.id)).find((report) => roleKey(report.role) === roleKey(role));
  if (same === undefined) return;
  throw new Refusal(
    "refused",
    `${boss.name} has a report with the role ${role} already: ${same.name} (${same.id})${same.status === "pending_approval" ? ", who waits for approval" : ""}.`,
    "Delegate to that one, or hire for another role.",
  );
}

export const roleKey = (role: string): string =>
  role.normalize("NFKC").replace(/\s+/gu, " ").trim().toLowerCase();

const mostUnset = 16;

export const headcount = query((db, p: { companyId: string }) =>
  db
    .selectFrom("agents")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("company_id", "=", p.companyId)
    .where("status", "in", ["idle", "paused", "pending_approval"]),
);
