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
import { redactText } from "../redaction/redact.ts";
import type { Reference } from "../contract/words.ts";
import { query, textQuery } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { memberById } from "./members.ts";
import { versionsFor } from "./pinned.ts";
import { effectiveRank, holds } from "./rights.ts";
import { departedBelow, reportsBelow } from "./structure.ts";
import { type GrantRow, levelOf } from "./table.ts";
import { needsRight } from "./texts.ts";

/**
 * The reading gate. Every answer that shows an agent the content, the title or the existence of another thing asks here, in the
 * transaction that makes the answer. Invisible things are left out or shown as bare ids, and nothing else in the answer (order,
 * counts, flags, cursors, refusals) may depend on them. docs/decisions/0025-one-reading-gate.md has the rules. People see
 * everything.
 */
export type Viewer = Pick<Actor, "agentId">;

/** Refuses unless the actor has every right in `needs`. A resource on which an agent has no right does not exist for it. */
export async function demand(tx: ReadTx, actor: Actor, needs: readonly Need[]): Promise<void> {
  if (actor.kind !== "agent" || actor.agentId === null) return;
  for (const need of needs) {
    const levels: readonly Level[] = typeof need.level === "string" ? [need.level] : need.level;
    let allowed = false;
    for (const level of levels) allowed ||= await holds(tx, actor.agentId, need.on, level);
    // Only some versions of this file are visible, so the handler chooses among them.
    if (!allowed && levels.includes("read") && resourceKind(need.on) === "kb")
      allowed = (await visibleVersions(tx, actor, resourceId(need.on))).length > 0;
    if (!allowed) throw await refusalFor(tx, actor.agentId, need.on, levels);
  }
}

/** Whether the viewer may read the thing. With level `none`: whether it may know that the file exists. */
export async function visible(
  tx: ReadTx,
  { agentId }: Viewer,
  thing: Resource,
  level: "none" | "read" = "read",
): Promise<boolean> {
  return agentId === null || holds(tx, agentId, thing, level);
}

/**
 * Whether the viewer may know that the resource of a right exists. Agents, servers and repositories are known within a company.
 */
export async function isKnown(tx: ReadTx, viewer: Viewer, resource: Resource): Promise<boolean> {
  const kind = resourceKind(resource);
  if (kind === "kb") return visible(tx, viewer, resource, "none");
  return kind !== "outcome" || visible(tx, viewer, resource);
}

/**
 * The resource of a right within a company, as the viewer may see it. The title is null if the viewer may not know it, or if
 * the thing does not exist there.
 */
export async function visibleName(
  tx: ReadTx,
  viewer: Viewer,
  companyId: string,
  resource: Resource,
): Promise<Reference> {
  const [kind, id] = [resourceKind(resource), resourceId(resource)];
  if (kind === "mail" && id === "board") return { kind: "board", id: null, title: "the board" };
  if (kind !== "kb" && kind !== "outcome" && kind !== "mail") return { kind, id, title: id };
  const known = kind === "mail" || (await isKnown(tx, viewer, resource));
  const row = !known
    ? undefined
    : kind === "mail"
      ? await memberById(tx, id)
      : await tx.first(fileName, { id });
  const isHere = row?.company_id === companyId;
  const title = !isHere ? null : "name" in row ? row.name : redactText(row.description);
  return { kind: nouns[kind], id, title };
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

/** The versions of a file that the viewer may read: all of them, or those that pinned.ts gives it a right to. */
export function visibleVersions(
  tx: ReadTx,
  { agentId }: Viewer,
  fileId: string,
): Promise<"all" | readonly number[]> {
  return versionsFor(tx, agentId, fileId);
}

/**
 * Whether the viewer may read everything that this text names by id. Used for results of tools that another agent called. A
 * text with more ids than can be checked is not shown.
 */
export async function visibleText(tx: ReadTx, viewer: Viewer, text: string): Promise<boolean> {
  const ids = new Set([...text.toLowerCase().matchAll(uuid)].map(([id]) => id));
  if (viewer.agentId === null) return true;
  if (ids.size > mostIdsChecked) return false;
  for (const id of ids)
    for (const { noun, from_id, to_id } of await tx.all(namedThings, { id })) {
      const seen =
        noun === "outcome"
          ? await visible(tx, viewer, `outcome:${id}`)
          : noun === "file"
            ? await visible(tx, viewer, `kb:${id}`)
            : noun === "message" && [from_id, to_id].includes(viewer.agentId);
      if (!seen) return false;
    }
  return true;
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const mostIdsChecked = 200;

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
 * may return files whose right has ended with the position of its giver, so every hit is checked separately too.
 */
export const readableFiles = (agentId: string, companyId: string) => sql<{ id: string }>`
  with recursive
    down(id) as (
      select id from outcomes where responsible_id = ${agentId} or delegated_by = ${agentId}
      union select e.child_id from edges e join down on e.parent_id = down.id),
    up(id) as (
      select id from outcomes
        where responsible_id = ${agentId} and status in ('open', 'submitted')
      union select e.parent_id from edges e join up on e.child_id = up.id)
  select substr(resource, 4) as id from grants
    where grantee_id = ${agentId} and resource >= 'kb:' and resource < 'kb;' and broken = 0 and level > 0
  union select id from files where owner_id = ${agentId} or owner_id in (${departedBelow(agentId)})
    or owner_id in (${reportsBelow(agentId)})
  union select substr(resource, 4) from grants where grantee_id in (${departedBelow(agentId)})
    and resource >= 'kb:' and resource < 'kb;' and origin = 'creation' and revoked_at is null
  union select id from down
  union select id from up
  union select o.result_id from outcomes o join down on down.id = o.id where o.result_id is not null
  union select o.result_id from outcomes o join up on up.id = o.id where o.result_id is not null
  union select o.result_id from outcomes o
    join dependencies d on d.depends_on_id = o.id join outcomes m on m.id = d.outcome_id
    where m.responsible_id = ${agentId} and d.shares = 1 and o.result_id is not null
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
  net: "host",
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
  // Every agent may know the servers of its company.
  const isServer = kind === "mcp" && (await tx.first(serverAround, { agentId, name: id })) !== undefined;
  if (rank === noRight && kind !== "org" && !isSent && !isServer) return notFound(nouns[kind], id);
  const name =
    kind === "mail"
      ? (await memberById(tx, id))?.name
      : rank === noRight
        ? undefined
        : (await tx.first(fileName, { id }))?.description;
  return needsRight({ on, name, levels, held: rank === noRight && isSent ? "read" : levelAt(kind, rank) });
}

const serverAround = textQuery(
  (p: { agentId: string; name: string }) => sql<{ name: string }>`
    select s.name from mcp_servers s join agents a on a.company_id = s.company_id
    where a.id = ${p.agentId} and s.name = ${p.name}`,
);

/** Finds the titles of outcomes too: the file of an outcome has the outcome's id, and its title as description. */
const fileName = query((db, p: { id: string }) =>
  db.selectFrom("files").select(["description", "company_id"]).where("id", "=", p.id),
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

/** The things that an id names. All agents of a company may know each other, but an agent's mandate has the same id. */
const namedThings = textQuery(
  (p: { id: string }) => sql<{ noun: string; from_id: string | null; to_id: string | null }>`
    select 'outcome' as noun, null as from_id, null as to_id from outcomes where id = ${p.id}
    union all select 'file', null, null from files where id = ${p.id} and kind <> 'outcome'
    union all select 'message', coalesce(from_id, ''), coalesce(to_id, '') from messages where id = ${p.id}
    union all select 'approval', null, null from approvals where id = ${p.id}
    union all select 'grant', null, null from grants where id = ${p.id}
    union all select 'request', null, null from permission_requests where id = ${p.id}`,
);
