import { sql } from "kysely";
import {
  type Level,
  noRight,
  ranks,
  type Resource,
  resourceId,
  resourceKind,
} from "../contract/resources.ts";
import { query, selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { widerThan } from "./hosts.ts";
import { isActive, memberById } from "./members.ts";
import { rootOf } from "./table.ts";
import { fileSeenBy, isNeighbour, outcomeRights, structuralRank } from "./structure.ts";

/**
 * The effective right of an agent on a resource: the highest of its valid grants and of the rights from its position. Call this
 * only inside the transaction that acts on the answer, because a right may end at any moment.
 */
export async function effectiveRank(tx: ReadTx, agentId: string, resource: Resource): Promise<number> {
  const wider = widerThan(resource);
  return Math.max(
    await grantedRank(tx, agentId, resource),
    await structuralRank(tx, agentId, resource),
    wider === undefined ? noRight : await effectiveRank(tx, agentId, wider),
  );
}

/**
 * Whether the agent has at least this level. The usual case costs one look-up: for outcomes and mail a right from the position,
 * for other things a plain grant.
 */
export async function holds(tx: ReadTx, agentId: string, resource: Resource, level: Level): Promise<boolean> {
  if (level === "drive") return (await outcomeRights(tx, agentId, resourceId(resource))).drive;
  const wanted = ranks[level];
  const byPosition = async (): Promise<boolean> => (await structuralRank(tx, agentId, resource)) >= wanted;
  const isUsuallyByPosition = ["outcome", "mail"].includes(resourceKind(resource));
  if (isUsuallyByPosition && (await byPosition())) return true;
  const granted = await tx.first(grantedRanks, { agent: agentId, resource });
  if ((granted?.plain ?? noRight) >= wanted) return true;
  if (!isUsuallyByPosition && (await byPosition())) return true;
  if ((granted?.most ?? noRight) >= wanted && (await handedOnRank(tx, agentId, resource)) >= wanted)
    return true;
  const wider = widerThan(resource);
  return wider !== undefined && holds(tx, agentId, wider, level);
}

/** Announces to the store that the agent's right to read the file will be checked. */
export function fileRightAhead(tx: ReadTx, agent: string, fileId: string): void {
  tx.ahead(grantedRanks, { agent, resource: `kb:${fileId}` });
  tx.ahead(fileSeenBy, { agent, id: fileId });
}

/** Announces to the store that the agent's mail route to the other will be checked. */
export const mailRightAhead = (tx: ReadTx, agent: string, other: string): void =>
  tx.ahead(isNeighbour, { agent, other });

async function grantedRank(tx: ReadTx, agentId: string, resource: Resource): Promise<number> {
  const granted = await tx.first(grantedRanks, { agent: agentId, resource });
  const plain = granted?.plain ?? noRight;
  if ((granted?.most ?? noRight) <= plain) return plain;
  return Math.max(plain, await handedOnRank(tx, agentId, resource));
}

async function handedOnRank(tx: ReadTx, agentId: string, resource: Resource): Promise<number> {
  let best = noRight;
  for (const grant of await tx.all(handedOn, { grantee_id: agentId, resource }))
    if (grant.level > best) best = Math.max(best, await worthOf(tx, grant, resource));
  return best;
}

/**
 * The level that a grant with an unbroken chain gives. A plain grant gives its own level. If the chain starts with a right from
 * a manager's position (`structural`), it gives at most what that position gives now.
 */
export async function worthOf(
  tx: ReadTx,
  grant: { readonly id: string; readonly level: number; readonly structural: number },
  resource: Resource,
): Promise<number> {
  if (grant.structural === 0) return grant.level;
  const { granted_by: giverId } = await rootOf(tx, grant.id);
  const giver = await memberById(tx, giverId);
  if (giver === undefined || !isActive(giver)) return noRight;
  return Math.min(grant.level, await structuralRank(tx, giver.id, resource));
}

/** The highest level of the valid grants: `plain` counts those that don't rest on a position, `most` counts all. */
const grantedRanks = query((db, p: { agent: string; resource: Resource }) =>
  db
    .selectFrom("grants")
    .select((eb) => [
      sql<number | null>`max(case when structural = 0 then level end)`.as("plain"),
      eb.fn.max("level").as("most"),
    ])
    .where("grantee_id", "=", p.agent)
    .where("resource", "=", p.resource)
    .where("broken", "=", 0),
);

const handedOn = selection("grants", ["grantee_id", "resource"], sql`and broken = 0 and structural = 1`);
