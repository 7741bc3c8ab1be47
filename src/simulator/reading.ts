import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";

/**
 * Who may read which versions of a file. The product's rules are repeated here on purpose and in another way: this loads the
 * whole organization and follows the rules in memory, so a bug in a query can't hide itself.
 */
export type Versions = "all" | ReadonlySet<number>;

export async function readableVersions(tx: ReadTx, agentId: string, fileId: string): Promise<Versions> {
  const facts = await factsAbout(tx, fileId);
  return facts === undefined ? new Set() : versionsFor(facts, agentId, []);
}

/** Whether the agent may write new versions of the file. */
export async function isWritable(tx: ReadTx, agentId: string, fileId: string): Promise<boolean> {
  const facts = await factsAbout(tx, fileId);
  if (facts === undefined) return false;
  return rightsOf(facts, agentId) === "write";
}

type Facts = NonNullable<Awaited<ReturnType<typeof factsAbout>>>;

async function factsAbout(tx: ReadTx, fileId: string) {
  const file = await tx.first(fileRow, { fileId });
  if (file === undefined) return undefined;
  return {
    file,
    agents: new Map((await tx.all(agentRows, {})).map((row) => [row.id, row])),
    outcomes: new Map((await tx.all(outcomeRows, {})).map((row) => [row.id, row])),
    edges: await tx.all(edgeRows, {}),
    dependencies: await tx.all(dependencyRows, {}),
    grants: await tx.all(grantRows, { resource: `kb:${fileId}` }),
    deliverables: await tx.all(deliverableRows, { fileId }),
    messages: await tx.all(messageRows, { fileId }),
  };
}

/** The right to the file as a whole: its own document, a standing grant, or the file of a departed agent below. */
function rightsOf({ file, agents, grants }: Facts, agentId: string): "none" | "read" | "write" {
  const isLog = file.kind === "log";
  if (file.owner_id === agentId) return isLog ? "read" : "write";
  const held = grants.filter((one) => one.grantee_id === agentId && one.broken === 0);
  if (held.some(({ level }) => level >= 2)) return "write";
  const authors = [
    file.owner_id,
    ...grants
      .filter((one) => one.origin === "creation" && one.revoked_at === null)
      .map((one) => one.grantee_id),
  ];
  const isHeir = authors.some((id) => id !== null && heirOf(agents, id) === agentId && id !== agentId);
  if (isHeir && file.kind === "file") return "write";
  return isHeir || held.some(({ level }) => level >= 1) ? "read" : "none";
}

/** The agent itself or, if it has left, the nearest manager above it that has not. Null means the board. */
function heirOf(agents: Facts["agents"], id: string | null): string | null {
  const agent = agents.get(id ?? "");
  return agent?.status === "terminated" ? heirOf(agents, agent.boss_id) : id;
}

function versionsFor(facts: Facts, agentId: string | null, asked: readonly string[]): Versions {
  if (agentId === null || rightsOf(facts, agentId) !== "none") return "all";
  const found = new Set<number>();
  if (asked.includes(agentId)) return found;
  for (const { outcome_id, version, accepted_at } of facts.deliverables)
    if (isReader(facts, agentId, outcome_id, accepted_at !== null)) found.add(version);
  for (const { to_id, from_id, version } of facts.messages) {
    if (to_id !== agentId) continue;
    const senders = versionsFor(facts, heirOf(facts.agents, from_id), [...asked, agentId]);
    if (senders === "all" || senders.has(version)) found.add(version);
  }
  return found;
}

/** Whether the agent judges the outcome or, once it was accepted, builds on it. */
function isReader(facts: Facts, agentId: string, outcomeId: string, accepted: boolean): boolean {
  const { outcomes, edges, dependencies, agents } = facts;
  const outcome = outcomes.get(outcomeId);
  if (outcome === undefined || outcome.status === "closed") return false;
  if (outcome.responsible_id === agentId || outcome.delegated_by === agentId) return true;
  if (outcome.reworks >= 2) {
    let boss = agents.get(outcome.delegated_by ?? "")?.boss_id ?? null;
    for (; boss !== null; boss = agents.get(boss)?.boss_id ?? null) if (boss === agentId) return true;
  }
  if (!accepted) return false;
  const owns = (id: string): boolean => outcomes.get(id)?.responsible_id === agentId;
  const above = [outcomeId];
  for (const id of above)
    for (const { parent_id, child_id } of edges)
      if (child_id === id && !above.includes(parent_id)) above.push(parent_id);
  return (
    above.slice(1).some(owns) ||
    dependencies.some((one) => one.depends_on_id === outcomeId && one.shares === 1 && owns(one.outcome_id))
  );
}

const fileRow = query((db, p: { fileId: string }) =>
  db
    .selectFrom("files")
    .select(["id", "kind", "owner_id"])
    .where("id", "=", p.fileId)
    .where("deleted_at", "is", null),
);
const agentRows = query((db, _: Record<never, never>) =>
  db.selectFrom("agents").select(["id", "boss_id", "status"]),
);
const outcomeRows = query((db, _: Record<never, never>) =>
  db.selectFrom("outcomes").select(["id", "status", "responsible_id", "delegated_by", "reworks"]),
);
const edgeRows = query((db, _: Record<never, never>) =>
  db.selectFrom("edges").select(["parent_id", "child_id"]),
);
const dependencyRows = query((db, _: Record<never, never>) =>
  db.selectFrom("dependencies").select(["outcome_id", "depends_on_id", "shares"]),
);
const grantRows = query((db, p: { resource: `kb:${string}` }) =>
  db
    .selectFrom("grants")
    .select(["grantee_id", "level", "broken", "origin", "revoked_at"])
    .where("resource", "=", p.resource),
);
const deliverableRows = query((db, p: { fileId: string }) =>
  db
    .selectFrom("deliverables")
    .select(["outcome_id", "version", "accepted_at"])
    .where("file_id", "=", p.fileId),
);
const messageRows = query((db, p: { fileId: string }) =>
  db
    .selectFrom("messages")
    .select(["to_id", "from_id", "version"])
    .where("file_id", "=", p.fileId)
    .where("delivered_at", "is not", null),
);
