import { sql } from "kysely";
import { notFound, Refusal } from "../contract/refusal.ts";
import type { Need } from "../contract/operation.ts";
import {
  type Level,
  levelAt,
  noRight,
  ranks,
  type Resource,
  resourceId,
  type ResourceKind,
  resourceKind,
} from "../contract/resources.ts";
import type { Actor } from "../events/ledger.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { isActive, memberById } from "./members.ts";
import { rootOf } from "./table.ts";
import { outcomeRights, structuralRank } from "./structure.ts";

/**
 * The effective right of an agent: the best of its standing grants and of what its place gives it. Always asked inside
 * the transaction that acts on the answer.
 */
export async function effectiveRank(tx: ReadTx, agentId: string, resource: Resource): Promise<number> {
  return Math.max(await grantedRank(tx, agentId, resource), await structuralRank(tx, agentId, resource));
}

/** Does the agent hold at least this level now? The usual case, a plain grant, is one look-up in one index. */
export async function holds(tx: ReadTx, agentId: string, resource: Resource, level: Level): Promise<boolean> {
  if (level === "drive") return (await outcomeRights(tx, agentId, resourceId(resource))).drive;
  const wanted = ranks[level];
  const granted = await tx.first(grantedRanks, { agent: agentId, resource });
  if ((granted?.plain ?? noRight) >= wanted) return true;
  if ((await structuralRank(tx, agentId, resource)) >= wanted) return true;
  return (granted?.most ?? noRight) >= wanted && (await handedOnRank(tx, agentId, resource)) >= wanted;
}

/** Throws unless the actor holds each need. What it has no right on at all does not exist for it. */
export async function demand(tx: ReadTx, actor: Actor, needs: readonly Need[]): Promise<void> {
  if (actor.kind !== "agent" || actor.agentId === null) return;
  for (const need of needs) {
    const levels: readonly Level[] = typeof need.level === "string" ? [need.level] : need.level;
    let allowed = false;
    for (const level of levels) allowed ||= await holds(tx, actor.agentId, need.on, level);
    if (!allowed) throw await refusalFor(tx, actor.agentId, need.on, levels);
  }
}

async function grantedRank(tx: ReadTx, agentId: string, resource: Resource): Promise<number> {
  const granted = await tx.first(grantedRanks, { agent: agentId, resource });
  const plain = granted?.plain ?? noRight;
  if ((granted?.most ?? noRight) <= plain) return plain;
  return Math.max(plain, await handedOnRank(tx, agentId, resource));
}

async function handedOnRank(tx: ReadTx, agentId: string, resource: Resource): Promise<number> {
  let best = noRight;
  for (const grant of await tx.all(handedOn, { agent: agentId, resource }))
    if (grant.level > best) best = Math.max(best, await worthOf(tx, grant, resource));
  return best;
}

/**
 * What a grant whose chain is unbroken is worth: its level; but where the chain begins with a boss's place, no more than
 * what that boss still has by its place.
 */
export async function worthOf(
  tx: ReadTx,
  grant: { readonly id: string; readonly level: number; readonly structural: number },
  resource: Resource,
): Promise<number> {
  if (grant.structural === 0) return grant.level;
  const { granted_by: giverId } = await rootOf(tx, grant.id);
  const giver = giverId === null ? undefined : await memberById(tx, giverId);
  if (giver === undefined || !isActive(giver)) return noRight;
  return Math.min(grant.level, await structuralRank(tx, giver.id, resource));
}

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
  const rank = await effectiveRank(tx, agentId, on);
  if (rank === noRight && kind !== "org") return notFound(nouns[kind], resourceId(on));
  const wanted = levels.join(" or ");
  const held = levelAt(kind, rank);
  return new Refusal(
    "forbidden",
    `This needs ${wanted} on ${on}; you hold ${held ?? "nothing"}.`,
    levels.includes("drive")
      ? "Only the agent responsible for an outcome works below it. Message that agent, or your boss."
      : `Ask your boss: request_permission {"resource":"${on}","level":"${levels[0] ?? "read"}","reason":"…"}. explain_access says what is missing.`,
  );
}

/** The highest level of its standing grants: of those that need no further look, and of all. */
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

const handedOn = query((db, p: { agent: string; resource: Resource }) =>
  db
    .selectFrom("grants")
    .select(["id", "level", "structural"])
    .where("grantee_id", "=", p.agent)
    .where("resource", "=", p.resource)
    .where("broken", "=", 0)
    .where("structural", "=", 1),
);
