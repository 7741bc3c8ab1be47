import { sql } from "kysely";
import type { Grant } from "../contract/capabilities.ts";
import type { Need } from "../contract/operation.ts";
import { notFound, type Refusal } from "../contract/refusal.ts";
import {
  type Level,
  levelAt,
  noRight,
  type Resource,
  resourceId,
  type ResourceKind,
  resourceKind,
} from "../contract/resources.ts";
import type { Actor } from "../events/ledger.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { isActive, memberById } from "./members.ts";
import { effectiveRank, holds } from "./rights.ts";
import { type GrantRow, levelOf } from "./table.ts";
import { needsRight } from "./texts.ts";

/**
 * The reading gate. Every answer that shows an agent the content, the title or the existence of another thing asks here, in
 * the transaction that makes the answer. What is not visible is left out or shown as its bare id, and nothing else in the
 * answer (order, counts, flags, cursors, refusals) may depend on it. docs/decisions/0025-one-reading-gate.md has the rules.
 * People see everything.
 */
export type Viewer = Pick<Actor, "agentId">;

/** Refuses unless the actor has every right in `needs`. For an agent without any right on it, the resource does not exist. */
export async function demand(tx: ReadTx, actor: Actor, needs: readonly Need[]): Promise<void> {
  if (actor.kind !== "agent" || actor.agentId === null) return;
  for (const need of needs) {
    const levels: readonly Level[] = typeof need.level === "string" ? [need.level] : need.level;
    let allowed = false;
    for (const level of levels) allowed ||= await holds(tx, actor.agentId, need.on, level);
    // A file of which only some versions are visible: the handler chooses among them.
    if (!allowed && levels.includes("read") && resourceKind(need.on) === "kb")
      allowed = (await visibleVersions(tx, actor, resourceId(need.on))).length > 0;
    if (!allowed) throw await refusalFor(tx, actor.agentId, need.on, levels);
  }
}

/** May the viewer read the thing? With level `none`: may it know of the file? */
export async function visible(
  tx: ReadTx,
  { agentId }: Viewer,
  thing: Resource,
  level: "none" | "read" = "read",
): Promise<boolean> {
  return agentId === null || holds(tx, agentId, thing, level);
}

/** May the viewer know that what a right is about exists? Agents, servers and repositories are no secret within a company. */
export async function isKnown(tx: ReadTx, viewer: Viewer, resource: Resource): Promise<boolean> {
  const kind = resourceKind(resource);
  if (kind === "kb") return visible(tx, viewer, resource, "none");
  return kind !== "outcome" || visible(tx, viewer, resource);
}

/** Keeps the outcomes that the viewer may read. */
export async function visibleOutcomes<T extends { readonly id: string }>(
  tx: ReadTx,
  viewer: Viewer,
  outcomes: readonly T[],
): Promise<T[]> {
  const kept = [];
  for (const outcome of outcomes) if (await visible(tx, viewer, `outcome:${outcome.id}`)) kept.push(outcome);
  return kept;
}

/**
 * The versions of a file that the viewer may read: all of them, or those that were sent to it. A version that was sent stays
 * readable for as long as its sender can read it. If the sender has left, its own files are its manager's; for the files
 * of others, the manager must be able to read them itself.
 */
export async function visibleVersions(
  tx: ReadTx,
  viewer: Viewer,
  fileId: string,
  asked: readonly string[] = [],
): Promise<"all" | readonly number[]> {
  const { agentId } = viewer;
  if (agentId === null || (await visible(tx, viewer, `kb:${fileId}`))) return "all";
  // Two agents that sent a file to each other don't keep each other's right alive.
  if (asked.includes(agentId)) return [];
  const versions: number[] = [];
  for (const { version, from_id } of await tx.all(sentTo, { agentId, fileId })) {
    const sender = await heirOf(tx, from_id, fileId);
    const theirs = await visibleVersions(tx, { agentId: sender }, fileId, [...asked, agentId]);
    if (includesVersion(theirs, version)) versions.push(version);
  }
  return versions;
}

export const includesVersion = (versions: "all" | readonly number[], version: number): boolean =>
  versions === "all" || versions.includes(version);

/** Whose right counts for what an agent sent: its own or, once it has left, its manager's. Null: the board's. */
async function heirOf(tx: ReadTx, agentId: string | null, fileId: string): Promise<string | null> {
  const agent = agentId === null ? undefined : await memberById(tx, agentId);
  if (agent === undefined || isActive(agent)) return agentId;
  const isOwn = (await tx.first(creatorGrant, { agentId: agent.id, resource: `kb:${fileId}` })) !== undefined;
  return isOwn ? null : heirOf(tx, agent.boss_id, fileId);
}

/** The outcome that a grant belongs to, as the viewer may see it. */
export async function visibleScope(tx: ReadTx, viewer: Viewer, id: string): Promise<Grant["scope"]> {
  const scope = (await visible(tx, viewer, `outcome:${id}`)) ? await tx.first(scopeRow, { id }) : undefined;
  return { id, title: scope?.title ?? null, status: scope?.status ?? null };
}

export async function presentGrant(
  tx: ReadTx,
  viewer: Viewer,
  row: GrantRow,
  stands: boolean,
): Promise<Grant> {
  const names = await tx.first(namesAround, { id: row.id });
  return {
    id: row.id,
    to: { id: row.grantee_id, name: names?.to_name ?? "" },
    by: row.granted_by === null ? null : { id: row.granted_by, name: names?.by_name ?? "" },
    origin: row.origin,
    resource: row.resource,
    level: levelOf("grants", row),
    scope: await visibleScope(tx, viewer, row.scope_id),
    parent: row.parent_id,
    stands,
    createdAt: new Date(row.created_at).toISOString(),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
  };
}

/**
 * The files of which an agent may read every version, as a query that returns `id`. Search selects from it before it ranks. It
 * may return files whose right has ended with the position of its giver, so every hit is checked by itself too.
 */
export const readableFiles = (agentId: string, companyId: string) => sql<{ id: string }>`
  with recursive
    down(id) as (
      select id from outcomes where responsible_id = ${agentId} or delegated_by = ${agentId}
      union select e.child_id from edges e join down on e.parent_id = down.id),
    up(id) as (
      select id from outcomes
        where responsible_id = ${agentId} and delegated = 1 and status in ('open', 'submitted')
      union select e.parent_id from edges e join up on e.child_id = up.id)
  select substr(resource, 4) as id from grants
    where grantee_id = ${agentId} and resource >= 'kb:' and resource < 'kb;' and broken = 0 and level > 0
  union select id from files where owner_id = ${agentId}
  union select id from down
  union select id from up
  union select o.result_id from outcomes o join down on down.id = o.id where o.result_id is not null
  union select o.result_id from outcomes o join up on up.id = o.id where o.result_id is not null
  union select o.result_id from outcomes o
    join dependencies d on d.depends_on_id = o.id join outcomes m on m.id = d.outcome_id
    where m.responsible_id = ${agentId} and o.result_id is not null
  union select m.file_id from messages m join files f on f.id = m.file_id
    where m.to_id = ${agentId} and m.delivered_at is not null and f.kind = 'message'
  union select m.file_id from messages m join files f on f.id = m.file_id
    where m.from_id = ${agentId} and f.kind = 'message'
  union select file_id from skill_files where company_id = ${companyId}`;

const nouns: Readonly<Record<ResourceKind, string>> = {
  kb: "file",
  outcome: "outcome",
  mail: "agent",
  mcp: "MCP server",
  repo: "repository",
  org: "right",
};

async function refusalFor(
  tx: ReadTx,
  agentId: string,
  on: Resource,
  levels: readonly Level[],
): Promise<Refusal> {
  const kind = resourceKind(on);
  const id = resourceId(on);
  const rank = await effectiveRank(tx, agentId, on);
  const isSent = kind === "kb" && (await visibleVersions(tx, { agentId }, id)).length > 0;
  if (rank === noRight && kind !== "org" && !isSent) return notFound(nouns[kind], id);
  const name =
    kind === "mail"
      ? (await memberById(tx, id))?.name
      : rank === noRight
        ? undefined
        : (await tx.first(fileName, { id }))?.description;
  return needsRight({ on, name, levels, held: rank === noRight && isSent ? "read" : levelAt(kind, rank) });
}

/** Also the title of an outcome: the file of an outcome has the outcome's id, and its title as description. */
const fileName = query((db, p: { id: string }) =>
  db.selectFrom("files").select("description").where("id", "=", p.id),
);

const sentTo = query((db, p: { agentId: string; fileId: string }) =>
  db
    .selectFrom("messages")
    .select(["version", "from_id"])
    .distinct()
    .where("file_id", "=", p.fileId)
    .where("to_id", "=", p.agentId)
    .where("delivered_at", "is not", null),
);

const creatorGrant = query((db, p: { agentId: string; resource: Resource }) =>
  db
    .selectFrom("grants")
    .select("id")
    .where("grantee_id", "=", p.agentId)
    .where("resource", "=", p.resource)
    .where("origin", "=", "creation")
    .where("revoked_at", "is", null),
);

const namesAround = query((db, p: { id: string }) =>
  db
    .selectFrom("grants as g")
    .leftJoin("agents as t", "t.id", "g.grantee_id")
    .leftJoin("agents as b", "b.id", "g.granted_by")
    .select(["t.name as to_name", "b.name as by_name"])
    .where("g.id", "=", p.id),
);

const scopeRow = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select(["title", "status"]).where("id", "=", p.id),
);
