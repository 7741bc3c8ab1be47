import { sql } from "kysely";
import { lookOf, nameKey } from "../contract/names.ts";
import { notFound } from "../contract/refusal.ts";
import { selection } from "../store/query.ts";
import { agentRow, companyRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/** The columns of an agent that authorization needs. */
export type Member = Pick<
  Row<"agents">,
  "id" | "company_id" | "name" | "slug" | "role" | "boss_id" | "mandate_id" | "status"
>;

/**
 * Active agents hold rights. A pending agent has none yet, and a terminated agent has none any more. A paused agent keeps its
 * rights.
 */
export function isActive(member: Pick<Member, "status">): boolean {
  return member.status === "idle" || member.status === "paused";
}

/** Picks only these columns: what is shown of a member must not depend on the query that found it. */
const asMember = ({ id, company_id, name, slug, role, boss_id, mandate_id, status }: Member): Member => ({
  id,
  company_id,
  name,
  slug,
  role,
  boss_id,
  mandate_id,
  status,
});

/** Null means the board, which is not a member. */
export async function memberById(tx: ReadTx, id: string | null): Promise<Member | undefined> {
  const row = id === null ? undefined : await tx.first(agentRow, { id });
  return row === undefined ? undefined : asMember(row);
}

/** Announces to the store that these members will be read. */
export function membersAhead(tx: ReadTx, ...ids: readonly (string | null)[]): void {
  for (const id of ids) if (id !== null) tx.ahead(agentRow, { id });
}

/** The name of an agent in texts or, for null, of the board. */
export async function memberName(tx: ReadTx, id: string | null, board = "The board"): Promise<string> {
  return id === null ? board : ((await memberById(tx, id))?.name ?? "An agent that has left");
}

/**
 * Finds an agent of the company by id, slug or name. A terminated agent is found by id only: its slug may belong to another
 * agent now.
 */
export async function findMember(tx: ReadTx, companyId: string, reference: string): Promise<Member> {
  const found = await memberCalled(tx, companyId, reference.trim().replace(/^@/, ""));
  if (found === undefined) throw notFound("agent", reference);
  return found;
}

export async function memberCalled(
  tx: ReadTx,
  companyId: string,
  wanted: string,
): Promise<Member | undefined> {
  const key = nameKey(wanted);
  const found =
    (await tx.first(agentRow, { id: key })) ??
    (await tx.first(sameSlug, { company_id: companyId, slug: key }));
  if (found !== undefined) return found.company_id === companyId ? found : undefined;
  // Names are stored by their look. An agent whose name only looks like the wanted one is another agent.
  const alike = await tx.first(sameName, { company_id: companyId, name_key: lookOf(wanted) });
  return alike !== undefined && nameKey(alike.name) === key ? alike : undefined;
}

export async function reportsOf(tx: ReadTx, bossId: string): Promise<Member[]> {
  return tx.all(byBoss, { boss_id: bossId });
}

/** Whether this agent is `topId`, or reports to that agent, directly or through others. */
export async function isAtOrBelow(tx: ReadTx, id: string | null, topId: string): Promise<boolean> {
  for (let at = await memberById(tx, id); at !== undefined; at = await memberById(tx, at.boss_id))
    if (at.id === topId) return true;
  return false;
}

/** The one agent that reports to the board. */
export async function rootAgentOf(tx: ReadTx, companyId: string): Promise<string | undefined> {
  return (await tx.first(companyRow, { id: companyId }))?.root_agent_id;
}

/** No two agents of a company that have not left share a name or a slug. */
export const sameSlug = selection("agents", ["company_id", "slug"], sql`and status <> 'terminated'`);
export const sameName = selection("agents", ["company_id", "name_key"], sql`and status <> 'terminated'`);

const byBoss = selection("agents", ["boss_id"], sql`and status <> 'terminated' order by created_at, id`);
