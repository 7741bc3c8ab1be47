import { effectiveRank, holds as productHolds } from "../../src/capabilities/rights.ts";
import type { Level, Resource } from "../../src/contract/resources.ts";
import { findBroken, inOneLine } from "../../src/invariants/examine.ts";
import type { Area } from "../../src/invariants/invariant.ts";
import type { ReadTx } from "../../src/store/store.ts";
import {
  effective,
  holds,
  isActive,
  isWorkable,
  levelsOf,
  nothing,
  type Outcome,
  split,
  type World,
} from "./model.ts";
import { asGrant, type Rows, versionsOf } from "./rows.ts";

/** Compares the product with the model. Each check throws a Violation that says what differs. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** Demands that the invariants of these areas hold in a company. */
export async function demandInvariants(tx: ReadTx, areas: readonly Area[], companyId: string): Promise<void> {
  const [finding] = await findBroken(tx, { areas, companyId });
  if (finding !== undefined) throw new Violation(inOneLine(finding));
}

/** Demands that the rows of a company agree with the model. */
export function compareRows(world: World, companyId: string, rows: Rows): void {
  const of = <T extends { readonly companyId: string }>(things: ReadonlyMap<string, T>): T[] =>
    [...things.values()].filter((thing) => thing.companyId === companyId);

  same("agents", rows.agents.length, of(world.agents).length);
  for (const row of rows.agents) {
    const agent = known("agent", world.agents, row.id);
    same(`boss of agent ${row.id}`, row.boss_id, agent.bossId);
    same(`status of agent ${row.id}`, row.status, agent.active ? "idle" : "terminated");
  }

  same("outcomes", rows.outcomes.length, of(world.outcomes).length);
  for (const row of rows.outcomes) {
    const outcome = known("outcome", world.outcomes, row.id);
    same(`status of outcome ${row.id}`, row.status, outcome.status);
    same(`owner of outcome ${row.id}`, row.responsible_id, outcome.responsibleId);
    same(`outcome ${row.id} is handed down`, row.delegated === 1, outcome.handedDown);
    same(`who handed outcome ${row.id} down`, row.delegated_by, outcome.handedDownBy);
    if (outcome.status !== "open") continue;
    same(`outcome ${row.id} is blocked`, row.blocked_reason !== null, outcome.blocked !== null);
    same(`outcome ${row.id} waits until`, row.blocked_until, outcome.blocked?.until ?? null);
    same(`outcome ${row.id} waits for`, row.blocked_on, outcome.blocked?.on ?? null);
  }
  let parents = 0;
  let dependencies = 0;
  for (const outcome of of(world.outcomes)) {
    parents += outcome.parents.size;
    dependencies += outcome.dependsOn.size;
  }
  same("parents", rows.edges.length, parents);
  for (const { parent_id, child_id } of rows.edges)
    same(
      `${child_id} is below ${parent_id}`,
      true,
      world.outcomes.get(child_id)?.parents.has(parent_id) === true,
    );
  same("dependencies", rows.dependencies.length, dependencies);
  for (const { outcome_id, depends_on_id } of rows.dependencies)
    same(
      `${outcome_id} depends on ${depends_on_id}`,
      true,
      world.outcomes.get(outcome_id)?.dependsOn.has(depends_on_id) === true,
    );

  same("grants", rows.grants.length, of(world.grants).length);
  for (const row of rows.grants) {
    const grant = known("grant", world.grants, row.id);
    same(`grant ${row.id} is revoked`, row.revoked_at !== null, grant.revoked);
    same(`grant ${row.id}`, JSON.stringify(asGrant(row)), JSON.stringify({ ...grant }));
  }

  same("files", rows.files.length, of(world.files).length);
  for (const row of rows.files) {
    const file = known("file", world.files, row.id);
    same(`file ${row.id} is deleted`, row.deleted_at !== null, file.deleted);
    if (file.kind === "outcome") continue;
    same(`version of file ${row.id}`, row.version, file.hashes.length);
    same(`hash of file ${row.id}`, row.hash, file.hashes.at(-1));
  }
}

/** Demands that every file has exactly the acknowledged versions. An invariant checks that they have no gaps. */
export async function checkVersions(tx: ReadTx, world: World, companyId: string): Promise<void> {
  for (const { file_id, version, hash } of await versionsOf(tx, companyId)) {
    const file = known("file", world.files, file_id);
    if (file.kind !== "outcome")
      same(`version ${version} of file ${file_id}`, hash, file.hashes[version - 1]);
  }
}

/** Compares an active agent's right on a resource. For an agent that has left, only its refused calls can be checked. */
export async function compareRight(
  tx: ReadTx,
  world: World,
  agentId: string,
  resource: Resource,
): Promise<void> {
  if (!isActive(world, agentId)) return;
  same(
    `the right of ${agentId} on ${resource}`,
    await effectiveRank(tx, agentId, resource),
    effective(world, agentId, resource),
  );
}

/** Compares whether the agent holds this level, which is the question that operations ask. */
export async function compareLevel(
  tx: ReadTx,
  world: World,
  agentId: string,
  resource: Resource,
  level: Level,
): Promise<void> {
  if (!isActive(world, agentId)) return;
  same(
    `${agentId} holds ${level} on ${resource}`,
    await productHolds(tx, agentId, resource, level),
    holds(world, agentId, resource, level),
  );
}

/**
 * Compares the rights of each agent on everything in its company, and on a sample of the other company, where it has none.
 * Of the files of outcomes it takes a fifth each time: their rights follow from the outcomes, which are all compared.
 */
export async function compareAllRights(tx: ReadTx, world: World, companyId: string): Promise<void> {
  const turn = world.grants.size;
  const isDocument = (resource: Resource): boolean => world.outcomes.has(split(resource).id);
  const resources = resourcesOf(world, companyId);
  const asked = [
    ...resources.filter((resource) => split(resource).kind !== "kb" || !isDocument(resource)),
    ...resources
      .filter((resource) => split(resource).kind === "kb" && isDocument(resource))
      .filter((_, index) => index % 5 === turn % 5),
  ];
  const foreign = [...world.companies.keys()]
    .filter((id) => id !== companyId)
    .flatMap((id) => resourcesOf(world, id))
    .filter((resource) => split(resource).id.length === 36)
    .filter((_, index) => index % 20 === turn % 20);
  for (const agent of world.agents.values()) {
    if (agent.companyId !== companyId || !agent.active) continue;
    // At once: PostgreSQL then answers them in a few messages.
    await Promise.all(asked.map((resource) => compareRight(tx, world, agent.id, resource)));
    const ranks = await Promise.all(foreign.map((resource) => effectiveRank(tx, agent.id, resource)));
    for (const [index, resource] of foreign.entries())
      same(`the right of ${agent.id} on the foreign ${resource}`, ranks[index], nothing);
  }
}

export function resourcesOf(world: World, companyId: string): Resource[] {
  const resources = new Set<Resource>(["org:hire", "mcp:chat", "repo:main"]);
  for (const { id, companyId: of } of world.outcomes.values())
    if (of === companyId) resources.add(`outcome:${id}`);
  for (const { id, companyId: of } of world.files.values()) if (of === companyId) resources.add(`kb:${id}`);
  for (const { id, companyId: of } of world.agents.values())
    if (of === companyId) resources.add(`mail:${id}`);
  return [...resources];
}

export function levelsFor(resource: Resource): readonly Level[] {
  const { kind } = split(resource);
  return kind === "outcome" ? [...levelsOf[kind], "drive"] : levelsOf[kind];
}

export function compareWorkable(world: World, outcome: Outcome, isSo: boolean, now: number): void {
  same(`${outcome.id} is workable`, isSo, isWorkable(world, outcome, now));
}

export function same(what: string, product: unknown, model: unknown): void {
  if (product !== model)
    throw new Violation(`${what}: the product says ${String(product)}, the model ${String(model)}`);
}

export function known<T>(noun: string, things: ReadonlyMap<string, T>, id: string): T {
  const thing = things.get(id);
  if (thing === undefined) throw new Violation(`the product has a ${noun} ${id} that should not be there`);
  return thing;
}
