import { sql } from "kysely";
import type { CallContext } from "../dispatch/context.ts";
import { type Member, reportsOf } from "../capabilities/members.ts";
import type { ReadTx } from "../store/store.ts";
import { counting } from "../store/query.ts";
import { companyFull, roleFilled } from "./texts.ts";

/** The limits on hiring by agents. They do not bind the board. */

/**
 * Hires without approval, and hires from a plan or a directive, are limited even if the company has set no limit. Pending
 * agents count too, because approving them must not exceed the limit.
 */
export async function demandRoomForAgent(
  call: CallContext,
  how: { readonly waits: boolean; readonly byItself: boolean },
): Promise<void> {
  if (call.actor.agentId === null) return;
  const { maxAgents } = await call.settings();
  const most = maxAgents ?? (how.waits && !how.byItself ? null : mostUnset);
  if (most === null) return;
  const count = await headcount(call.tx, call.companyId);
  if (count < most) return;
  throw companyFull(count, most);
}

/**
 * A plan or a directive hires one agent per role and manager, because a brain that repeats the same hire in every session
 * must not grow the team. A call that fills in the whole hire, name included, is taken at its word.
 */
export async function demandNewRole(call: CallContext, boss: Member, role: string): Promise<void> {
  if (call.actor.agentId === null) return;
  const same = (await reportsOf(call.tx, boss.id)).find((report) => roleKey(report.role) === roleKey(role));
  if (same === undefined) return;
  throw roleFilled(boss.name, role, same);
}

export const roleKey = (role: string): string =>
  role.normalize("NFKC").replace(/\s+/gu, " ").trim().toLowerCase();

const mostUnset = 16;

/** How many agents the company has, pending ones included. */
export async function headcount(tx: ReadTx, companyId: string): Promise<number> {
  return (await tx.first(employed, { company_id: companyId }))?.count ?? 0;
}

const employed = counting("agents", ["company_id"], sql`and status <> 'terminated'`);
