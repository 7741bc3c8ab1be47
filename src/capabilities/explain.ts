import { type explainAccess } from "../contract/capabilities.ts";
import type { Output } from "../contract/operation.ts";
import { refusalOf } from "../contract/refusal.ts";
import {
  defaultLevel,
  type GrantableLevel,
  type Level,
  levelAt,
  noRight,
  ranks,
  type Resource,
  resourceId,
  resourceKind,
} from "../contract/resources.ts";
import type { Reference } from "../contract/words.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { answerable } from "./answers.ts";
import { demandRepository, demandServer, isWithin } from "./grants.ts";
import { isActive, type Member, memberById } from "./members.ts";
import { effectiveRank, worthOf } from "./rights.ts";
import { pinsOn, reasonOf } from "./pinned.ts";
import { departedOwner, outcomeRights, structuralRank } from "./structure.ts";
import { isKnown, type Viewer, visibleName, visibleScope } from "./visible.ts";
import { chainOf, type GrantRow, heldOn, levelOf } from "./table.ts";
import { explained, resourceWords } from "./texts.ts";

/**
 * Explains why an agent may or may not use a resource, and names the smallest change that would flip the answer. The change is
 * a list of operations with their inputs, exactly as they can be called. The tests call them.
 */
type Explanation = Output<typeof explainAccess>;
type Fix = Explanation["fix"];

export async function explain(
  tx: ReadTx,
  viewer: Viewer,
  agent: Member,
  resource: Resource,
  level: Level = defaultLevel(resourceKind(resource)),
): Promise<Explanation> {
  const kind = resourceKind(resource);
  const named = await visibleName(tx, viewer, agent.company_id, resource);
  const on = resourceWords(resource, named);
  const references: Reference[] = [{ kind: "agent", id: agent.id, title: agent.name }];
  if (named.id !== null && ["kb", "outcome", "mail"].includes(kind)) references.push(named);
  const answer = { agent: { id: agent.id, name: agent.name }, resource, level, references };
  if (!isActive(agent))
    return {
      ...answer,
      allowed: false,
      held: null,
      because: explained.inactive(agent),
      chain: [],
      pinned: [],
      fix: [],
    };

  const whole = await effectiveRank(tx, agent.id, resource);
  const id = resourceId(resource);
  if (level === "drive") {
    const { drive } = await outcomeRights(tx, agent.id, id);
    return {
      ...answer,
      allowed: drive,
      held: whole === noRight ? null : levelAt(kind, whole),
      because: drive ? explained.drives(agent, on) : explained.drivesNot(agent, on),
      chain: [],
      pinned: [],
      fix: [],
    };
  }
  const wanted = ranks[level];
  const pins =
    kind === "kb" && whole < ranks.read && (await exists(tx, agent.company_id, resource))
      ? await pinsOn(tx, agent.id, id)
      : [];
  const pinned = [];
  for (const pin of pins) {
    const why = await reasonOf(tx, viewer.agentId, agent, pin);
    pinned.push({ version: pin.version, through: pin.through, because: why.because });
    references.push(...why.references);
  }
  const held = pins.length > 0 ? ranks.read : whole;
  if (pins.length > 0 && wanted <= ranks.read) {
    const because = explained.pinned(
      agent,
      on,
      pinned.map((pin) => pin.because),
    );
    return { ...answer, allowed: true, held: "read", because, chain: [], pinned, fix: [] };
  }
  if (kind === "mail" && whole === noRight && (await mayAnswer(tx, viewer, agent, resourceId(resource))))
    return {
      ...answer,
      allowed: true,
      held: "send",
      because: explained.answer(agent, on),
      chain: [],
      pinned: [],
      fix: [],
    };
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
      departed: kind === "kb" ? await departedOwner(tx, agent.id, id) : undefined,
      allowed,
      byStructure: byStructure >= wanted,
      carrying,
      standing,
      grants,
      on,
      agent,
      level,
    }),
    chain: shown === undefined ? [] : await presentChain(tx, viewer, shown, resource),
    pinned,
    fix: allowed
      ? byStructure >= wanted
        ? []
        : carrying.map((grant) => revocationOf(grant, explained.revoke(agent, on)))
      : // A change that restores a right would show that the thing exists.
        (await isKnown(tx, viewer, resource))
        ? await giveBack(tx, agent, resource, on, level, grants)
        : [],
  };
}

/** Only the agent, the writer and the board may know who wrote to the agent. */
async function mayAnswer(tx: ReadTx, viewer: Viewer, agent: Member, writer: string): Promise<boolean> {
  if (viewer.agentId !== null && viewer.agentId !== agent.id) return false;
  const other = writer === "board" ? null : await memberById(tx, writer);
  if (other === undefined || (other !== null && !isActive(other))) return false;
  return (await answerable(tx, agent.id, other?.id ?? null)) !== undefined;
}

function reason(facts: {
  departed: { name: string } | undefined;
  allowed: boolean;
  byStructure: boolean;
  carrying: GrantRow[];
  standing: GrantRow[];
  grants: GrantRow[];
  on: string;
  agent: Member;
  level: GrantableLevel;
}): string {
  const { agent, on, level } = facts;
  if (facts.byStructure)
    return facts.departed === undefined
      ? explained.byPosition(agent, on, level)
      : explained.inherited(agent, facts.departed.name, on, level);
  if (facts.allowed) return explained.granted(agent, on, level);
  if (facts.standing.length > 0) return explained.tooLow(agent, on, level);
  if (facts.grants.length > 0) return explained.ended(agent, on);
  return explained.never(agent, on);
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
      from: giver?.name ?? (link.origin === "creation" ? (holder?.name ?? link.grantee_id) : "board"),
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

function revocationOf(grant: GrantRow, says: string): Fix[number] {
  return {
    by: grant.granted_by ?? "board",
    operation: "permission.revoke",
    input: { id: grant.id },
    says,
  };
}

/**
 * A single step that is enough: the manager grants a right it holds, the one ended outcome is reopened, or the board grants.
 */
async function giveBack(
  tx: ReadTx,
  agent: Member,
  resource: Resource,
  on: string,
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
        input: { id: only, reason: explained.reopenReason(agent, on) },
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

/** The outcome whose end alone makes a grant invalid, if the outcome can be reopened. */
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
      return (await refusalOf(demandServer(tx, companyId, id))) === undefined;
    case "repo":
      return (await refusalOf(demandRepository(tx, companyId, id))) === undefined;
    case "net":
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
