import { sql } from "kysely";
import type { CallContext } from "../dispatch/context.ts";
import { type Member, reportsOf } from "../capabilities/members.ts";
import type { ReadTx } from "../store/store.ts";
import { counting } from "../store/query.ts";
import type { Settings } from "../contract/companies.ts";
import type { Refusal } from "../contract/refusal.ts";
import { defaultSettings, settingsOf } from "../dispatch/company-settings.ts";
import { type ApprovalRow, openStatuses } from "../approvals/approval.ts";
import { companyFull, roleFilled } from "./texts.ts";

/** The limits on hiring by agents. They do not bind the board. */

/** Refuses a hire by an agent above the limit, whether it needs an approval or not. */
export async function demandRoomForAgent({ tx, companyId, actor }: CallContext): Promise<void> {
  const full = actor.agentId === null ? undefined : await noRoomFor(tx, companyId, 1);
  if (full !== undefined) throw full;
}

/**
 * The reason if `more` agents are too many; otherwise undefined. Pending agents and open requests of create_agent count too,
 * because approving them must not exceed the limit. The approval checks again, because the board may have hired since, or
 * lowered the limit.
 */
export async function noRoomFor(tx: ReadTx, companyId: string, more: number): Promise<Refusal | undefined> {
  const { count, most } = await headcountAndLimit(tx, companyId);
  return count + more > most ? companyFull(count, most, more) : undefined;
}

/** The agents of a company as the limit counts them. */
export async function headcountAndLimit(tx: ReadTx, companyId: string) {
  const most = limitOf(await settingsOf(tx, companyId));
  const asked = (await tx.first(openCreations, { company_id: companyId }))?.count ?? 0;
  return { count: (await headcount(tx, companyId)) + asked, most };
}

const limitOf = ({ maxAgents }: Pick<Settings, "maxAgents">): number =>
  maxAgents ?? defaultSettings.maxAgents ?? 0;

/**
 * A plan or a directive hires one agent per role and manager: a brain that repeats the same hire in every session must not grow
 * the team. A call that fills in the whole hire, name included, is carried out as it is.
 */
export async function demandNewRole(call: CallContext, boss: Member, role: string): Promise<void> {
  if (call.actor.agentId === null) return;
  const same = (await reportsOf(call.tx, boss.id)).find((report) => roleKey(report.role) === roleKey(role));
  if (same === undefined) return;
  throw roleFilled(boss.name, role, same);
}

export const roleKey = (role: string): string =>
  role.normalize("NFKC").replace(/\s+/gu, " ").trim().toLowerCase();

/**
 * How the agent of a request changes the number of agents, or changed it when the request was decided. A pending agent already
 * counts.
 */
export async function headcountWith(
  tx: ReadTx,
  { company_id, status, decided_at }: Pick<ApprovalRow, "company_id" | "status" | "decided_at">,
  agent: Pick<Member, "status"> | undefined,
) {
  const limit = limitOf(await settingsOf(tx, company_id));
  const isDecided = !openStatuses.includes(status) && decided_at !== null;
  const count = isDecided
    ? ((await tx.first(employedAt, { company_id, at: decided_at }))?.count ?? 0)
    : await headcount(tx, company_id);
  const isCounted = isDecided ? status === "approved" : agent !== undefined && agent.status !== "terminated";
  const before = count - (isCounted ? 1 : 0);
  return { before, after: before + 1, limit };
}

/** How many agents the company has, pending ones included. */
export async function headcount(tx: ReadTx, companyId: string): Promise<number> {
  return (await tx.first(employed, { company_id: companyId }))?.count ?? 0;
}

const openCreations = counting(
  "approvals",
  ["company_id"],
  sql`and type = 'create_agent' and status in ('pending', 'revision_requested')`,
);
const employedAt = counting(
  "agents",
  ["company_id"],
  ({ at }: { at: number }) => sql`and created_at <= ${at} and (ended_at is null or ended_at > ${at})`,
);
const employed = counting("agents", ["company_id"], sql`and status <> 'terminated'`);
