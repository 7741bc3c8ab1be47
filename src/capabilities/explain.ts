import { type explainAccess } from "../contract/capabilities.ts";
import type { Output } from "../contract/operation.ts";
import {
  defaultLevel,
  type GrantableLevel,
  levelAt,
  noRight,
  ranks,
  type Resource,
  resourceId,
  resourceKind,
} from "../contract/resources.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { isWithin } from "./grants.ts";
import { isActive, type Member, memberById } from "./members.ts";
import { effectiveRank, worthOf } from "./rights.ts";
import { structuralRank } from "./structure.ts";
import { isKnown, type Viewer, visibleScope, visibleVersions } from "./visible.ts";
import { chainOf, type GrantRow, heldOn, levelOf } from "./table.ts";
import { explained } from "./texts.ts";

/**
 * Explains why an agent may or may not use a resource, and names the smallest change that would flip the answer. The change
 * is a list of operations with their inputs, exactly as they can be called; the tests call them.
 */
type Explanation = Output<typeof explainAccess>;
type Fix = Explanation["fix"];

export async function explain(
  tx: ReadTx,
  viewer: Viewer,
  agent: Member,
  resource: Resource,
  level: GrantableLevel = defaultLevel(resourceKind(resource)),
): Promise<Explanation> {
  const kind = resourceKind(resource);
  const wanted = ranks[level];
  const answer = { agent: { id: agent.id, name: agent.name }, resource, level };
  if (!isActive(agent))
    return {
      ...answer,
      allowed: false,
      held: null,
      because: explained.inactive(agent),
      chain: [],
      fix: [],
    };

  const whole = await effectiveRank(tx, agent.id, resource);
  const isSent =
    kind === "kb" &&
    whole < ranks.read &&
    (await visibleVersions(tx, { agentId: agent.id }, resourceId(resource))).length > 0;
  const held = isSent ? ranks.read : whole;
  const because = explained.sent(agent, resource);
  if (isSent && wanted <= ranks.read)
    return { ...answer, allowed: true, held: "read", because, chain: [], fix: [] };
  const grants = await heldOn(tx, agent.id, resource);
  const byStructure = await structuralRank(tx, agent.id, resource);
  const standing: GrantRow[] = [];
  const carrying: GrantRow[] = [];
  for (const grant of grants) {
    const worth = grant.broken > 0 ? noRight : await worthOf(tx, grant, resource);
    if (worth > noRight) standing.push(grant);
    if (worth >= wanted) carrying.push(grant);
  }
  const allowed = held >= wanted;
  const shown =
    carrying[0] ??
    (allowed ? undefined : (standing[0] ?? grants.find((grant) => grant.level >= wanted) ?? grants[0]));
  return {
    ...answer,
    allowed,
    held: held === noRight ? null : levelAt(kind, held),
    because: reason({
      allowed,
      byStructure: byStructure >= wanted,
      carrying,
      standing,
      grants,
      resource,
      agent,
      level,
    }),
    chain: shown === undefined ? [] : await presentChain(tx, viewer, shown, resource),
    fix: allowed
      ? byStructure >= wanted
        ? []
        : carrying.map((grant) => revocationOf(grant))
      : // What would give a right back shows that the thing exists.
        (await isKnown(tx, viewer, resource))
        ? await giveBack(tx, agent, resource, level, grants)
        : [],
  };
}

function reason(facts: {
  allowed: boolean;
  byStructure: boolean;
  carrying: GrantRow[];
  standing: GrantRow[];
  grants: GrantRow[];
  resource: Resource;
  agent: Member;
  level: GrantableLevel;
}): string {
  const { agent, resource, level } = facts;
  if (facts.byStructure) return explained.byPosition(agent, resource, level);
  if (facts.allowed) return explained.granted(agent, resource, level);
  if (facts.standing.length > 0) return explained.tooLow(agent, resource, level);
  if (facts.grants.length > 0) return explained.ended(agent, resource);
  return explained.never(agent, resource);
}

async function presentChain(
  tx: ReadTx,
  viewer: Viewer,
  grant: GrantRow,
  resource: Resource,
): Promise<Explanation["chain"]> {
  const links: Explanation["chain"] = [];
  for (const link of await chainOf(tx, grant.id)) {
    const scope = await tx.first(scopeRow, { id: link.scope_id });
    const holder = await memberById(tx, link.grantee_id);
    const giver = await memberById(tx, link.granted_by);
    const ended = scope?.status !== "open" && scope?.status !== "submitted";
    const rootless = link.parent_id === null && (await worthOf(tx, link, resource)) === noRight;
    links.push({
      grant: link.id,
      from: giver?.name ?? (link.origin === "creation" ? "its creator" : "board"),
      to: holder?.name ?? link.grantee_id,
      level: levelOf("grants", link),
      scope: await visibleScope(tx, viewer, link.scope_id),
      broken:
        link.revoked_at !== null
          ? "it was revoked"
          : ended
            ? "its outcome has ended"
            : holder === undefined || !isActive(holder)
              ? `its holder is ${holder?.status ?? "missing"}`
              : rootless
                ? "its giver no longer has the right"
                : null,
    });
  }
  return links;
}

function revocationOf(grant: GrantRow): Fix[number] {
  return {
    by: grant.granted_by ?? "board",
    operation: "permission.revoke",
    input: { id: grant.id },
    says: explained.revoke(grant.id),
  };
}

/** One step that is enough: the manager grants what it holds, the one ended outcome is reopened, or the board grants. */
async function giveBack(
  tx: ReadTx,
  agent: Member,
  resource: Resource,
  level: GrantableLevel,
  grants: GrantRow[],
): Promise<Fix> {
  const kind = resourceKind(resource);
  if (!(await exists(tx, agent.company_id, resource))) return [];
  const input = { companyId: agent.company_id, to: agent.id, resource, level };
  if (
    kind !== "mail" &&
    agent.boss_id !== null &&
    (await canHandOn(tx, agent.boss_id, agent.mandate_id, resource, ranks[level]))
  )
    return [
      { by: agent.boss_id, operation: "permission.grant", input, says: explained.managerGrants(agent) },
    ];
  for (const grant of grants) {
    if ((await worthOf(tx, grant, resource)) < ranks[level]) continue;
    const only = await onlyEndedScope(tx, grant);
    if (only === undefined) continue;
    return [
      {
        by: "board",
        operation: "outcome.reopen",
        input: { id: only, reason: explained.reopenReason(agent, resource) },
        says: explained.reopenScope,
      },
    ];
  }
  return [
    {
      by: "board",
      operation: "permission.grant",
      input,
      says: explained.boardGrants(agent),
    },
  ];
}

async function canHandOn(
  tx: ReadTx,
  bossId: string,
  scopeId: string,
  resource: Resource,
  rank: number,
): Promise<boolean> {
  if ((await structuralRank(tx, bossId, resource)) >= rank) return true;
  for (const grant of await heldOn(tx, bossId, resource))
    if (
      grant.broken === 0 &&
      (await worthOf(tx, grant, resource)) >= rank &&
      (await isWithin(tx, scopeId, grant.scope_id))
    )
      return true;
  return false;
}

/** The outcome whose end is the only reason that a grant is not valid, if it can be reopened. */
async function onlyEndedScope(tx: ReadTx, grant: GrantRow): Promise<string | undefined> {
  const ended = new Set<string>();
  for (const link of await chainOf(tx, grant.id)) {
    const holder = await memberById(tx, link.grantee_id);
    if (link.revoked_at !== null || holder === undefined || !isActive(holder)) return undefined;
    const scope = await tx.first(scopeRow, { id: link.scope_id });
    if (scope?.status === "open" || scope?.status === "submitted") continue;
    // A mandate that ended with its agent can't be reopened.
    if (scope?.kind === "mandate") return undefined;
    ended.add(link.scope_id);
  }
  const [only] = ended;
  return only !== undefined && ended.size === 1 && (await canReopen(tx, only)) ? only : undefined;
}

/** An outcome can be reopened only below an open parent, and not below a completed one. */
async function canReopen(tx: ReadTx, id: string): Promise<boolean> {
  const parents = await tx.all(parentStatuses, { id });
  return (
    parents.some(({ status }) => status === "open") && parents.every(({ status }) => status !== "completed")
  );
}

async function exists(tx: ReadTx, companyId: string, resource: Resource): Promise<boolean> {
  const id = resourceId(resource);
  switch (resourceKind(resource)) {
    case "kb":
      return (await tx.first(liveFile, { id, companyId })) !== undefined;
    case "outcome":
      return (await tx.first(scopeRow, { id }))?.company_id === companyId;
    case "mail":
      return id === "board" || (await memberById(tx, id))?.company_id === companyId;
    case "mcp":
    case "repo":
    case "org":
      return true;
  }
}

const scopeRow = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select(["title", "status", "kind", "company_id"]).where("id", "=", p.id),
);

const liveFile = query((db, p: { id: string; companyId: string }) =>
  db
    .selectFrom("files")
    .select("id")
    .where("id", "=", p.id)
    .where("company_id", "=", p.companyId)
    .where("deleted_at", "is", null),
);

const parentStatuses = query((db, p: { id: string }) =>
  db
    .selectFrom("edges as e")
    .innerJoin("outcomes as o", "o.id", "e.parent_id")
    .select("o.status")
    .where("e.child_id", "=", p.id),
);
