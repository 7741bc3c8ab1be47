import { sql } from "kysely";
import { notFound, Refusal } from "../contract/refusal.ts";
import {
  defaultLevel,
  type GrantableLevel,
  isOnLadder,
  ladders,
  noRight,
  ranks,
  type Resource,
  resourceId,
  resourceKind,
} from "../contract/resources.ts";
import { query } from "../store/query.ts";
import type { NewRow } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { isActive, type Member } from "./members.ts";
import { effectiveRank, worthOf } from "./rights.ts";
import { structuralRank } from "./structure.ts";
import { type GrantRow, grantById, heldOn, insertGrant, markRevoked } from "./table.ts";

/**
 * Giving and taking rights. A grant goes from a boss to a direct report (or from the board to anyone), is never wider
 * than what it was handed on from, and lives no longer than its scope outcome.
 */
export interface Gift {
  readonly id: string;
  readonly companyId: string;
  /** Null: the board. */
  readonly giver: Member | null;
  readonly receiver: Member;
  /** The root agent says who may hire in the whole company, not only among its reports. */
  readonly acrossLevels?: boolean;
  readonly resource: Resource;
  readonly level: GrantableLevel | undefined;
  readonly scopeId: string | undefined;
}

export async function give(tx: Tx, gift: Gift): Promise<GrantRow> {
  checkLevel(gift.resource, gift.level);
  checkReceiver(gift.acrossLevels === true ? null : gift.giver, gift.receiver);
  const { level, scopeId, source } = await weigh(tx, gift);
  const row: NewRow<"grants"> = {
    id: gift.id,
    company_id: gift.companyId,
    grantee_id: gift.receiver.id,
    resource: gift.resource,
    level: ranks[level],
    scope_id: scopeId,
    origin: gift.giver === null ? "board" : "boss",
    granted_by: gift.giver?.id ?? null,
    ...source,
    broken: 0,
    created_at: tx.now,
    revoked_at: null,
  };
  await insertGrant(tx, row);
  await tx.run(answerRequests, {
    agentId: gift.receiver.id,
    resource: gift.resource,
    level: row.level,
    at: tx.now,
  });
  return { ...row, num: 0 };
}

/** Could it be given, once its receiver may hold rights? Refuses like give() if not. */
export async function weigh(tx: ReadTx, gift: Omit<Gift, "id">) {
  const level = checkLevel(gift.resource, gift.level);
  await checkResourceExists(tx, gift.companyId, gift.giver, gift.resource);
  const scopeId = gift.scopeId ?? gift.receiver.mandate_id;
  await checkScope(tx, gift.companyId, scopeId);
  const source =
    gift.giver === null ? board : await sourceFor(tx, gift.giver, gift.resource, ranks[level], scopeId);
  return { level, scopeId, source };
}

/** What an agent makes is its own, for as long as its mandate lives. */
export async function giveCreator(
  tx: Tx,
  made: { id: string; companyId: string; creator: Pick<Member, "id" | "mandate_id">; resource: Resource },
): Promise<void> {
  await insertGrant(tx, {
    id: made.id,
    company_id: made.companyId,
    grantee_id: made.creator.id,
    resource: made.resource,
    level: ranks.write,
    scope_id: made.creator.mandate_id,
    origin: "creation",
    granted_by: null,
    parent_id: null,
    structural: 0,
    broken: 0,
    created_at: tx.now,
    revoked_at: null,
  });
}

/** By the board, by whoever gave it, or by its holder giving it up. For anybody else there is no such grant. */
export async function revoke(
  tx: Tx,
  companyId: string,
  grantId: string,
  by: string | null,
): Promise<GrantRow> {
  const grant = await grantById(tx, grantId);
  const mine = grant !== undefined && (by === null || grant.granted_by === by || grant.grantee_id === by);
  if (grant === undefined || grant.company_id !== companyId || !mine) throw notFound("grant", grantId);
  if (grant.revoked_at !== null)
    throw new Refusal("conflict", "This grant is already revoked.", "There is nothing left to do.");
  await markRevoked(tx, grantId);
  return { ...grant, revoked_at: tx.now, broken: grant.broken + 1 };
}

/** Is `outcomeId` the scope itself or below it? */
export async function isWithin(tx: ReadTx, outcomeId: string, scopeId: string): Promise<boolean> {
  return outcomeId === scopeId || (await tx.first(isBelow, { id: outcomeId, above: scopeId })) !== undefined;
}

const board = { parent_id: null, structural: 0 } as const;

function checkLevel(resource: Resource, level: GrantableLevel | undefined): GrantableLevel {
  const kind = resourceKind(resource);
  const wanted = level ?? defaultLevel(kind);
  if (!isOnLadder(kind, wanted))
    throw new Refusal(
      "invalid",
      `${kind} has no level ${wanted}.`,
      `Use one of: ${ladders[kind].join(", ")}.`,
    );
  return wanted;
}

function checkReceiver(giver: Member | null, receiver: Member): void {
  if (giver !== null && receiver.boss_id !== giver.id)
    throw new Refusal(
      "refused",
      `${receiver.name} is not your direct report.`,
      "Rights go one level down: grant to a direct report, who may hand them on.",
    );
  if (!isActive(receiver))
    throw new Refusal(
      "refused",
      `${receiver.name} is ${receiver.status} and cannot hold rights.`,
      "Choose an active agent.",
    );
}

/** What the giver has no right on at all does not exist for it. Who the agents are, everybody in the company knows. */
async function checkResourceExists(
  tx: ReadTx,
  companyId: string,
  giver: Member | null,
  resource: Resource,
): Promise<void> {
  const id = resourceId(resource);
  const kind = resourceKind(resource);
  if (resource === "mail:board") return;
  const table =
    kind === "kb" ? fileCompany : kind === "outcome" ? outcomeCompany : kind === "mail" ? agentCompany : null;
  if (table === null) return;
  const isHidden =
    giver !== null && kind !== "mail" && (await effectiveRank(tx, giver.id, resource)) === noRight;
  if (isHidden || (await tx.first(table, { id }))?.company_id !== companyId)
    throw notFound(kind === "kb" ? "file" : kind === "mail" ? "agent" : "outcome", id);
}

async function checkScope(tx: ReadTx, companyId: string, scopeId: string): Promise<void> {
  const scope = await tx.first(outcomeCompany, { id: scopeId });
  if (scope?.company_id !== companyId) throw notFound("outcome", scopeId);
  if (scope.status !== "open" && scope.status !== "submitted")
    throw new Refusal(
      "refused",
      `The outcome ${scopeId} is ${scope.status}; a right for it would be dead at once.`,
      "Name an open outcome, or reopen this one.",
    );
}

/**
 * What the giver hands on: a standing grant of its own, at least as high and whose scope covers the new one; or a right
 * it has by structure. The rights to write to others are not its to give: only a person opens a new mail route.
 */
export async function sourceFor(
  tx: ReadTx,
  giver: Member,
  resource: Resource,
  rank: number,
  scopeId: string,
): Promise<{ parent_id: string | null; structural: 0 | 1 }> {
  if (resourceKind(resource) === "mail")
    throw new Refusal(
      "refused",
      "Mail routes follow the reporting line.",
      "Ask the board to open a route between two agents.",
    );
  let outOfScope = false;
  for (const grant of await heldOn(tx, giver.id, resource)) {
    if (grant.broken > 0 || grant.level < rank) continue;
    if (!(await isWithin(tx, scopeId, grant.scope_id))) {
      outOfScope = true;
      continue;
    }
    if ((await worthOf(tx, grant, resource)) < rank) continue;
    return { parent_id: grant.id, structural: grant.structural };
  }
  if ((await structuralRank(tx, giver.id, resource)) >= rank) return { parent_id: null, structural: 1 };
  if (outOfScope)
    throw new Refusal(
      "refused",
      `You hold ${resource} for another outcome; ${scopeId} is not part of it.`,
      "Name, as outcome, one that lies within the outcome you hold the right for.",
    );
  throw new Refusal(
    "refused",
    `You do not hold ${resource} at that level, so you cannot hand it on.`,
    "list_permissions shows what you hold; request_permission asks your boss for more.",
  );
}

const fileCompany = query((db, p: { id: string }) =>
  db
    .selectFrom("files")
    .select(["company_id", sql<string>`''`.as("status")])
    .where("id", "=", p.id)
    .where("deleted_at", "is", null),
);
const outcomeCompany = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select(["company_id", "status"]).where("id", "=", p.id),
);
const agentCompany = query((db, p: { id: string }) =>
  db.selectFrom("agents").select(["company_id", "status"]).where("id", "=", p.id),
);

const isBelow = query((db, p: { id: string; above: string }) =>
  db
    .withRecursive("up(id)", (q) =>
      q
        .selectFrom("edges")
        .select("parent_id as id")
        .where("child_id", "=", p.id)
        .union(
          q.selectFrom("edges").innerJoin("up", "up.id", "edges.child_id").select("edges.parent_id as id"),
        ),
    )
    .selectFrom("up")
    .select(sql<number>`1`.as("yes"))
    .where("up.id", "=", p.above)
    .limit(1),
);

const answerRequests = query((db, p: { agentId: string; resource: Resource; level: number; at: number }) =>
  db
    .updateTable("permission_requests")
    .set({ answered_at: p.at })
    .where("agent_id", "=", p.agentId)
    .where("resource", "=", p.resource)
    .where("level", "<=", p.level)
    .where("answered_at", "is", null),
);
