import { sql } from "kysely";
import { notFound } from "../contract/refusal.ts";
import {
  defaultLevel,
  type GrantableLevel,
  isOnLadder,
  levelAt,
  noRight,
  ranks,
  type Resource,
  resourceId,
  resourceKind,
} from "../contract/resources.ts";
import { type Query, query, selection, textQuery } from "../store/query.ts";
import { agentRow, outcomeRow } from "../store/row-by-id.ts";
import type { NewRow } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { isActive, type Member } from "./members.ts";
import { visible } from "./visible.ts";
import { effectiveRank, worthOf } from "./rights.ts";
import { structuralRank, upward } from "./structure.ts";
import { type GrantRow, grantById, heldOn, insertGrant, markRevoked, rootless } from "./table.ts";
import * as texts from "./texts.ts";

/**
 * Grants and revokes rights. A grant goes from a manager to a direct report, or from the board to any agent. It is never higher
 * than the right it was made from, and it is valid only while its scope outcome is live.
 */
export interface Gift {
  readonly id: string;
  readonly companyId: string;
  /** Null means the board. */
  readonly giver: Member | null;
  readonly receiver: Member;
  /** Set when the root agent grants org:hire: it may grant this right to any agent of the company, not only to its reports. */
  readonly acrossLevels?: boolean;
  readonly resource: Resource;
  /** Default: the usual level of the resource. */
  readonly level?: GrantableLevel | undefined;
  /** The outcome that the grant is for. Default: the mandate of the receiver. */
  readonly scopeId?: string | undefined;
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
  await tx.run(insertGrant, row);
  await tx.run(answerRequests, {
    agentId: gift.receiver.id,
    resource: gift.resource,
    level: row.level,
    at: tx.now,
  });
  return { ...row, num: 0 };
}

/** Refuses like give(), but grants nothing and does not check the receiver, which may still be pending. */
export async function weigh(tx: ReadTx, gift: Omit<Gift, "id">) {
  const level = checkLevel(gift.resource, gift.level);
  await checkResourceExists(tx, gift.companyId, gift.giver, gift.resource);
  const scopeId = gift.scopeId ?? gift.receiver.mandate_id;
  // The scope that an agent names must be an outcome it may read. Otherwise the answer would show that the outcome exists.
  const isKnown =
    scopeId === gift.receiver.mandate_id ||
    (await visible(tx, { agentId: gift.giver?.id ?? null }, `outcome:${scopeId}`));
  if (!isKnown) throw notFound("outcome", scopeId);
  await checkScope(tx, gift.companyId, scopeId);
  const source =
    gift.giver === null ? board : await sourceFor(tx, gift.giver, gift.resource, ranks[level], scopeId);
  return { level, scopeId, source };
}

/** Gives the creator of a thing write on it, for as long as the creator's mandate is live. */
export async function giveCreator(
  tx: Tx,
  made: { id: string; companyId: string; creator: Pick<Member, "id" | "mandate_id">; resource: Resource },
): Promise<void> {
  await tx.run(insertGrant, {
    id: made.id,
    company_id: made.companyId,
    grantee_id: made.creator.id,
    resource: made.resource,
    level: ranks.write,
    scope_id: made.creator.mandate_id,
    origin: "creation",
    ...rootless,
    created_at: tx.now,
  });
}

/** The board, the giver and the holder can revoke a grant. For any other agent the grant does not exist. */
export async function revoke(
  tx: Tx,
  companyId: string,
  grantId: string,
  by: string | null,
): Promise<GrantRow> {
  const grant = await tx.first(grantById, { id: grantId });
  const mine = grant !== undefined && (by === null || grant.granted_by === by || grant.grantee_id === by);
  if (grant === undefined || grant.company_id !== companyId || !mine) throw notFound("grant", grantId);
  if (grant.revoked_at !== null) throw texts.alreadyRevoked(grant);
  await markRevoked(tx, grantId);
  return { ...grant, revoked_at: tx.now, broken: grant.broken + 1 };
}

/** Whether `outcomeId` is the scope itself or below it. */
export async function isWithin(tx: ReadTx, outcomeId: string, scopeId: string): Promise<boolean> {
  return outcomeId === scopeId || (await tx.first(isBelow, { id: outcomeId, above: scopeId })) !== undefined;
}

const board = { parent_id: null, structural: 0 } as const;

function checkLevel(resource: Resource, level: GrantableLevel | undefined): GrantableLevel {
  const kind = resourceKind(resource);
  const wanted = level ?? defaultLevel(kind);
  if (!isOnLadder(kind, wanted)) throw texts.noSuchLevel(kind, wanted);
  return wanted;
}

function checkReceiver(giver: Member | null, receiver: Member): void {
  if (giver !== null && receiver.boss_id !== giver.id)
    throw texts.notYourReport(
      receiver,
      "refused",
      "Grant rights to direct reports, who can grant them further.",
    );
  if (!isActive(receiver)) throw texts.receiverInactive(receiver);
}

/** Refuses a resource on which the giver has no right, as if it did not exist. Agents are an exception: the chart is public. */
async function checkResourceExists(
  tx: ReadTx,
  companyId: string,
  giver: Member | null,
  resource: Resource,
): Promise<void> {
  const id = resourceId(resource);
  const kind = resourceKind(resource);
  if (resource === "mail:board") return;
  if (kind === "mcp") return demandServer(tx, companyId, id);
  if (kind === "repo") return demandRepository(tx, companyId, id);
  const table: Query<{ id: string }, { company_id: string }> | null =
    kind === "kb" ? fileCompany : kind === "outcome" ? outcomeRow : kind === "mail" ? agentRow : null;
  if (table === null) return;
  const isHidden =
    giver !== null && kind !== "mail" && (await effectiveRank(tx, giver.id, resource)) === noRight;
  if (isHidden || (await tx.first(table, { id }))?.company_id !== companyId)
    throw notFound(kind === "kb" ? "file" : kind === "mail" ? "agent" : "outcome", id);
}

/** Refuses an MCP server that the company does not have. The grant would give nothing until a server of that name is added. */
export async function demandServer(tx: ReadTx, companyId: string, name: string): Promise<void> {
  const known = (await tx.all(serversOf, { company_id: companyId })).map((server) => server.name);
  if (!known.includes(name)) throw texts.noSuchServer(name, known);
}

/** Refuses a repository that the company does not have, for the same reason. */
export async function demandRepository(tx: ReadTx, companyId: string, name: string): Promise<void> {
  const known = (await tx.all(repositoriesOf, { company_id: companyId })).map((repo) => repo.name);
  if (!known.includes(name)) throw texts.noSuchRepository(name, known);
}

async function checkScope(tx: ReadTx, companyId: string, scopeId: string): Promise<void> {
  const scope = await tx.first(outcomeRow, { id: scopeId });
  if (scope?.company_id !== companyId) throw notFound("outcome", scopeId);
  if (scope.status !== "open" && scope.status !== "submitted") throw texts.scopeEnded(scope);
}

/**
 * The right that a new grant is made from: a valid grant of the giver that is at least as high and whose scope covers the new
 * scope, or a right from the giver's position. A mail route can't be passed on; only a person opens one.
 */
export async function sourceFor(
  tx: ReadTx,
  giver: Member,
  resource: Resource,
  rank: number,
  scopeId: string,
): Promise<{ parent_id: string | null; structural: 0 | 1 }> {
  const kind = resourceKind(resource);
  if (kind === "mail") throw texts.mailIsNotGranted();
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
  const scope = outOfScope ? await tx.first(outcomeRow, { id: scopeId }) : undefined;
  throw scope === undefined
    ? texts.notHeld(resource, levelAt(kind, rank) ?? "that level")
    : texts.heldForAnotherOutcome(resource, scope);
}

const fileCompany = selection("files", ["id"], sql`and deleted_at is null`);
const repositoriesOf = selection("repos", ["company_id"], sql`order by name`);
export const serversOf = selection("mcp_servers", ["company_id"], sql`order by name`);

const isBelow = textQuery(
  (p: { id: string; above: string }) =>
    sql<{ yes: number }>`${upward(sql`select parent_id from edges where child_id = ${p.id}`)}
      select 1 as yes from up where id = ${p.above} limit 1`,
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
