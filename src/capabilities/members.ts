import { nameKey } from "../contract/names.ts";
import { notFound } from "../contract/refusal.ts";
import { query } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";

/** The columns of an agent that authorization needs. */
const columns = ["id", "company_id", "name", "slug", "role", "boss_id", "mandate_id", "status"] as const;
export type Member = Pick<Row<"agents">, (typeof columns)[number]>;

/** Active agents hold rights. A pending agent has none yet, a terminated one none any more. A paused one keeps them. */
export function isActive(member: Pick<Member, "status">): boolean {
  return member.status === "idle" || member.status === "paused";
}

/** Null stands for the board, which is not a member. */
export async function memberById(tx: ReadTx, id: string | null): Promise<Member | undefined> {
  return id === null ? undefined : tx.first(byId, { id });
}

/** How texts name an agent or, for null, the board. */
export async function memberName(tx: ReadTx, id: string | null, board = "The board"): Promise<string> {
  return id === null ? board : ((await memberById(tx, id))?.name ?? "An agent that has left");
}

/** By id, slug or name, within the company. A terminated agent is found by id only: its slug may belong to another now. */
export async function findMember(tx: ReadTx, companyId: string, reference: string): Promise<Member> {
  const wanted = reference.trim().replace(/^@/, "").toLowerCase();
  const found =
    (await tx.first(byId, { id: wanted })) ??
    (await tx.first(bySlug, { companyId, slug: wanted })) ??
    // People type the name as they see it.
    (await tx.first(byName, { companyId, nameKey: nameKey(wanted) }));
  if (found === undefined || found.company_id !== companyId) throw notFound("agent", reference);
  return found;
}

export async function reportsOf(tx: ReadTx, bossId: string): Promise<Member[]> {
  return tx.all(byBoss, { bossId });
}

/** The one agent that reports to the board. */
export async function rootAgentOf(tx: ReadTx, companyId: string): Promise<string | undefined> {
  return (await tx.first(rootAgent, { id: companyId }))?.root_agent_id;
}

const byId = query((db, p: { id: string }) => db.selectFrom("agents").select(columns).where("id", "=", p.id));

const bySlug = query((db, p: { companyId: string; slug: string }) =>
  db
    .selectFrom("agents")
    .select(columns)
    .where("company_id", "=", p.companyId)
    .where("slug", "=", p.slug)
    .where("status", "<>", "terminated"),
);

const byName = query((db, p: { companyId: string; nameKey: string }) =>
  db
    .selectFrom("agents")
    .select(columns)
    .where("company_id", "=", p.companyId)
    .where("name_key", "=", p.nameKey)
    .where("status", "<>", "terminated"),
);

const byBoss = query((db, p: { bossId: string }) =>
  db
    .selectFrom("agents")
    .select(columns)
    .where("boss_id", "=", p.bossId)
    .where("status", "<>", "terminated")
    .orderBy("created_at")
    .orderBy("id"),
);

const rootAgent = query((db, p: { id: string }) =>
  db.selectFrom("companies").select("root_agent_id").where("id", "=", p.id),
);
