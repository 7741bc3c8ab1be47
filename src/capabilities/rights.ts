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
  const plain = await tx.first(plainRank, { agent: agentId, resource });
  if (plain !== undefined && (plain.level ?? noRight) >= wanted) return true;
  return (
    (await structuralRank(tx, agentId, resource)) >= wanted ||
    (await handedOnRank(tx, agentId, resource)) >= wanted
  );
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
  const plain = await tx.first(plainRank, { agent: agentId, resource });
  return Math.max(plain?.level ?? noRight, await handedOnRank(tx, agentId, resource));
}

/** Grants whose root rests on structure stand only while the root's giver still has that right by structure. */
async function handedOnRank(tx: ReadTx, agentId: string, resource: Resource): Promise<number> {
  let best = noRight;
  for (const grant of await tx.all(handedOn, { agent: agentId, resource })) {
    if (grant.level <= best) continue;
    if (await restsOnStructure(tx, grant, resource)) best = grant.level;
  }
  return best;
}

/** Does the giver at the root of this chain still have, by its place, what the grant hands on? */
export async function restsOnStructure(
  tx: ReadTx,
  grant: { readonly id: string; readonly level: number },
  resource: Resource,
): Promise<boolean> {
  const { granted_by: giverId } = await rootOf(tx, grant.id);
  const giver = giverId === null ? undefined : await memberById(tx, giverId);
  return (
    giver !== undefined && isActive(giver) && (await structuralRank(tx, giver.id, resource)) >= grant.level
  );
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

const plainRank = query((db, p: { agent: string; resource: Resource }) =>
  db
    .selectFrom("grants")
    .select((eb) => eb.fn.max("level").as("level"))
    .where("grantee_id", "=", p.agent)
    .where("resource", "=", p.resource)
    .where("broken", "=", 0)
    .where("structural", "=", 0),
);

const handedOn = query((db, p: { agent: string; resource: Resource }) =>
  db
    .selectFrom("grants")
    .select(["id", "level"])
    .where("grantee_id", "=", p.agent)
    .where("resource", "=", p.resource)
    .where("broken", "=", 0)
    .where("structural", "=", 1),
);
