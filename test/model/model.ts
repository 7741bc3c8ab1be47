import type { OutcomeKind, OutcomeStatus } from "../../src/contract/outcomes.ts";
import type { Level, Resource, ResourceKind } from "../../src/contract/resources.ts";

/**
 * A second, simple implementation of the permission and outcome core, to compare the product with. It is slow, and stores
 * nothing that it can derive. For example, it walks the chain of a right each time it checks whether the right is valid. It
 * shares only the names of things with the product, and no code.
 *
 * The rules are those of the design. Rights (effective, structural) are here, and operations are in operations.ts.
 */
export interface World {
  readonly companies: Map<string, Company>;
  readonly agents: Map<string, Agent>;
  readonly outcomes: Map<string, Outcome>;
  readonly files: Map<string, File>;
  readonly grants: Map<string, Grant>;
}

export interface Company {
  readonly id: string;
  /** The id of the root agent and of the root outcome. */
  readonly rootId: string;
}

export interface Agent {
  readonly id: string;
  readonly companyId: string;
  readonly name: string;
  /** Null means the board. */
  bossId: string | null;
  active: boolean;
  readonly stateFileId: string;
}

export interface Outcome {
  readonly id: string;
  readonly companyId: string;
  kind: OutcomeKind;
  status: OutcomeStatus;
  responsibleId: string;
  /** Whether it was delegated to its owner. `handedDownBy` verifies it: an agent, or the board (null). */
  handedDown: boolean;
  handedDownBy: string | null;
  readonly parents: Set<string>;
  readonly dependsOn: Set<string>;
  blocked: { readonly until: number | null; readonly on: string | null } | null;
  /** How often the verifier sent it back to this owner. After the second time it waits for a decision above the owner. */
  sentBack?: { readonly to: string; readonly times: number } | undefined;
}

export interface File {
  readonly id: string;
  readonly companyId: string;
  readonly kind: "file" | "state" | "outcome";
  readonly ownerId: string | null;
  /** The hash of each version, from version 1. Empty for the file of an outcome, which is rendered on request. */
  readonly hashes: string[];
  deleted: boolean;
  /** Agents that got the file in a message. They may read the version that was sent. */
  readonly mailedTo?: Set<string>;
}

export interface Grant {
  readonly id: string;
  readonly companyId: string;
  readonly holderId: string;
  readonly resource: Resource;
  readonly rank: number;
  readonly scopeId: string;
  readonly origin: "board" | "creation" | "boss";
  readonly giverId: string | null;
  /** The grant that this one derives from. A boss's grant without one derives from the boss's position. */
  readonly parentId: string | null;
  revoked: boolean;
}

export function emptyWorld(): World {
  return {
    companies: new Map(),
    agents: new Map(),
    outcomes: new Map(),
    files: new Map(),
    grants: new Map(),
  };
}

export const nothing = -1;
export const rankOf: Readonly<Record<Exclude<Level, "drive">, number>> = {
  none: 0,
  read: 1,
  write: 2,
  send: 1,
  use: 1,
  push: 2,
};
export const levelsOf: Readonly<Record<ResourceKind, readonly Exclude<Level, "drive">[]>> = {
  kb: ["none", "read", "write"],
  outcome: ["read", "write"],
  mail: ["send"],
  mcp: ["use"],
  repo: ["read", "push"],
  net: ["use"],
  org: ["use"],
};

export function split(resource: Resource): { kind: ResourceKind; id: string } {
  const [kind = "", ...rest] = resource.split(":");
  return { kind: kind as ResourceKind, id: rest.join(":") };
}

export function isLive(outcome: Outcome | undefined): boolean {
  return outcome?.status === "open" || outcome?.status === "submitted";
}

export function isActive(world: World, agentId: string | null): boolean {
  return agentId !== null && world.agents.get(agentId)?.active === true;
}

// ---- structure of the graph -------------------------------------------------------------------------------------

export function childrenOf(world: World, id: string): Outcome[] {
  return [...world.outcomes.values()].filter(({ parents }) => parents.has(id));
}

/** The outcome itself and all its ancestors. */
export function selfAndAbove(world: World, id: string): Set<string> {
  return reach(id, (next) => world.outcomes.get(next)?.parents ?? []);
}

/** Everything that an outcome waits for, including the outcome itself: its children and its dependencies, at any depth. */
export function waitsFor(world: World, id: string): Set<string> {
  return reach(id, (next) => [
    ...childrenOf(world, next).map((child) => child.id),
    ...(world.outcomes.get(next)?.dependsOn ?? []),
  ]);
}

function reach(from: string, next: (id: string) => Iterable<string>): Set<string> {
  const seen = new Set([from]);
  for (const id of seen) for (const other of next(id)) seen.add(other);
  return seen;
}

// ---- rights -----------------------------------------------------------------------------------------------------

/** Whether the agent is responsible for the outcome, and so may create outcomes below it, submit it and mark it as blocked. */
export function drives(world: World, agentId: string, outcomeId: string): boolean {
  return world.outcomes.get(outcomeId)?.responsibleId === agentId;
}

/** The rights that follow from an agent's position. */
export function structural(world: World, agentId: string, resource: Resource): number {
  const { kind, id } = split(resource);
  if (kind === "outcome") return structuralOnOutcome(world, agentId, id);
  if (kind === "kb") {
    const file = world.files.get(id);
    if (file?.kind === "outcome") return Math.min(structuralOnOutcome(world, agentId, id), rankOf.read);
    if (file === undefined) return nothing;
    if (file.ownerId === agentId) return rankOf.write;
    // The nearest manager that has not left may read the state document.
    if (file.ownerId !== null) return nearestManager(world, file.ownerId) === agentId ? rankOf.read : nothing;
    // The files of a departed agent belong to that manager.
    const isCreation = (grant: Grant): boolean =>
      grant.origin === "creation" && grant.resource === resource && !grant.revoked;
    const creatorId = [...world.grants.values()].find(isCreation)?.holderId;
    if (creatorId === undefined || isActive(world, creatorId)) return nothing;
    return nearestManager(world, creatorId) === agentId ? rankOf.write : nothing;
  }
  if (kind === "mail") {
    const [me, other] = [world.agents.get(agentId), world.agents.get(id)];
    if (me === undefined || other === undefined || !other.active) return nothing;
    const neighbours = me.id === other.id || me.bossId === other.id || other.bossId === me.id;
    return neighbours ? rankOf.send : nothing;
  }
  return nothing;
}

/** The manager above an agent that has not left. */
function nearestManager(world: World, agentId: string): string | undefined {
  let manager = world.agents.get(world.agents.get(agentId)?.bossId ?? "");
  while (manager !== undefined && !manager.active) manager = world.agents.get(manager.bossId ?? "");
  return manager?.id;
}

/**
 * Write: the outcomes that the agent is responsible for and that were not delegated to it, and those it delegated. Read:
 * every outcome it is responsible for or delegated, all outcomes below those, and the ancestors of its live work, through
 * every parent.
 */
function structuralOnOutcome(world: World, agentId: string, id: string): number {
  const outcome = world.outcomes.get(id);
  if (outcome === undefined) return nothing;
  const isOwn = outcome.responsibleId === agentId && !outcome.handedDown;
  if (isOwn || outcome.handedDownBy === agentId) return rankOf.write;
  for (const above of selfAndAbove(world, id)) {
    const { responsibleId, handedDownBy } = world.outcomes.get(above) ?? {};
    if (responsibleId === agentId || handedDownBy === agentId) return rankOf.read;
  }
  for (const work of world.outcomes.values()) {
    const isItsWork = work.responsibleId === agentId && isLive(work);
    if (isItsWork && selfAndAbove(world, work.id).has(id)) return rankOf.read;
  }
  return nothing;
}

/** The grants from the first of the chain down to this one. */
export function chainOf(world: World, grant: Grant): Grant[] {
  const parent = grant.parentId === null ? undefined : world.grants.get(grant.parentId);
  return parent === undefined ? [grant] : [...chainOf(world, parent), grant];
}

/** Whether every grant of the chain is valid: not revoked, its outcome still live, and its holder still active. */
export function isUnbroken(world: World, grant: Grant): boolean {
  return chainOf(world, grant).every(
    (link) => !link.revoked && isLive(world.outcomes.get(link.scopeId)) && isActive(world, link.holderId),
  );
}

/** The present level of a grant: the lowest level along its chain, which may start with a boss's position. */
export function worthOf(world: World, grant: Grant): number {
  if (!isUnbroken(world, grant)) return nothing;
  const chain = chainOf(world, grant);
  const least = Math.min(...chain.map(({ rank }) => rank));
  const root = chain[0] ?? grant;
  if (root.origin !== "boss" || root.giverId === null) return least;
  if (!isActive(world, root.giverId)) return nothing;
  return Math.min(least, structural(world, root.giverId, grant.resource));
}

export function effective(world: World, agentId: string, resource: Resource): number {
  if (!isActive(world, agentId)) return nothing;
  let best = structural(world, agentId, resource);
  for (const grant of world.grants.values())
    if (grant.holderId === agentId && grant.resource === resource)
      best = Math.max(best, worthOf(world, grant));
  return best;
}

/** The effective right or, for a file that was sent to the agent, the right to read the version that was sent. */
export function seenRank(world: World, agentId: string, resource: Resource): number {
  const { kind, id } = split(resource);
  const isSent = kind === "kb" && isActive(world, agentId) && world.files.get(id)?.mailedTo?.has(agentId);
  return Math.max(effective(world, agentId, resource), isSent === true ? rankOf.read : nothing);
}

export function holds(world: World, agentId: string, resource: Resource, level: Level): boolean {
  if (level === "drive") return drives(world, agentId, split(resource).id);
  return effective(world, agentId, resource) >= rankOf[level];
}

/** Whether the agent can pass this right on for the life of that outcome, from a covering grant or its position. */
export function canHandOn(
  world: World,
  agentId: string,
  resource: Resource,
  rank: number,
  scopeId: string,
): boolean {
  if (split(resource).kind === "mail") return false;
  if (structural(world, agentId, resource) >= rank) return true;
  return [...world.grants.values()].some((grant) => isSource(world, grant, agentId, resource, rank, scopeId));
}

export function isSource(
  world: World,
  grant: Grant,
  agentId: string,
  resource: Resource,
  rank: number,
  scopeId: string,
): boolean {
  return (
    grant.holderId === agentId &&
    grant.resource === resource &&
    worthOf(world, grant) >= rank &&
    selfAndAbove(world, scopeId).has(grant.scopeId)
  );
}

// ---- work -------------------------------------------------------------------------------------------------------

export function isWorkable(world: World, outcome: Outcome, now: number): boolean {
  if (outcome.status !== "open" || outcome.kind === "perpetual" || outcome.kind === "mandate") return false;
  if (!isActive(world, outcome.responsibleId) || isBlocked(world, outcome, now)) return false;
  for (const id of outcome.dependsOn) if (world.outcomes.get(id)?.status !== "completed") return false;
  return !childrenOf(world, outcome.id).some(isLive);
}

/** A block ends by itself when its time has come or when the outcome it waits for has ended. */
function isBlocked(world: World, { blocked }: Outcome, now: number): boolean {
  if (blocked === null) return false;
  if (blocked.until !== null && blocked.until <= now) return false;
  return blocked.on === null || isLive(world.outcomes.get(blocked.on));
}
