import type { OutcomeKind, OutcomeStatus } from "../../src/contract/outcomes.ts";
import type { Level, Resource, ResourceKind } from "../../src/contract/resources.ts";

/**
 * What the permission and outcome core should do, said a second time and as plainly as possible, to compare the product
 * with. Nothing here is fast and nothing is kept that can be derived: whether a right stands is found out by walking its
 * chain each time it is asked. It shares no code with the product, only the names of things.
 *
 * Rules are those of the design: rights (effective, structural) here, operations in model-operations.ts.
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
  /** The root agent, whose id is also the root outcome's. */
  readonly rootId: string;
}

export interface Agent {
  readonly id: string;
  readonly companyId: string;
  readonly name: string;
  /** Null: the board. */
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
  /** Handed to its owner by somebody, who verifies it: an agent, or (null) the board. */
  handedDown: boolean;
  handedDownBy: string | null;
  readonly parents: Set<string>;
  readonly dependsOn: Set<string>;
  blocked: { readonly until: number | null; readonly on: string | null } | null;
  /** How often who verifies it sent it back to this owner; the second time it waits for somebody above. */
  sentBack?: { readonly to: string; readonly times: number } | undefined;
}

export interface File {
  readonly id: string;
  readonly companyId: string;
  readonly kind: "file" | "state" | "outcome";
  readonly ownerId: string | null;
  /** The hash of each version, from 1; nothing for an outcome's file, which is rendered. */
  readonly hashes: string[];
  deleted: boolean;
  /** Agents it was sent to as a message: they may read it. */
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
  /** The grant it was handed on from. A boss's grant without one rests on the boss's place. */
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
};
export const levelsOf: Readonly<Record<ResourceKind, readonly Exclude<Level, "drive">[]>> = {
  kb: ["none", "read", "write"],
  outcome: ["read", "write"],
  mail: ["send"],
  mcp: ["use"],
  repo: ["use"],
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

/** The outcome itself and everything it is a means to, at any distance. */
export function selfAndAbove(world: World, id: string): Set<string> {
  return reach(id, (next) => world.outcomes.get(next)?.parents ?? []);
}

/** Everything an outcome waits for: a parent for its children, an outcome for what it depends on. Itself included. */
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

/** Responsible for it: creates below it, submits it, says that it is blocked. */
export function drives(world: World, agentId: string, outcomeId: string): boolean {
  return world.outcomes.get(outcomeId)?.responsibleId === agentId;
}

/** What follows from an agent's place. */
export function structural(world: World, agentId: string, resource: Resource): number {
  const { kind, id } = split(resource);
  if (kind === "outcome") return structuralOnOutcome(world, agentId, id);
  if (kind === "kb") {
    const file = world.files.get(id);
    if (file?.kind === "outcome") return Math.min(structuralOnOutcome(world, agentId, id), rankOf.read);
    if (file !== undefined && file.ownerId === agentId) return rankOf.write;
    return file?.mailedTo?.has(agentId) === true ? rankOf.read : nothing;
  }
  if (kind === "mail") {
    const [me, other] = [world.agents.get(agentId), world.agents.get(id)];
    if (me === undefined || other === undefined || !other.active) return nothing;
    const neighbours = me.id === other.id || me.bossId === other.id || other.bossId === me.id;
    return neighbours ? rankOf.send : nothing;
  }
  return nothing;
}

/**
 * Write: what it answers for and nobody handed to it, and what it handed down itself. Read: that, all below it, and the
 * whys of live work that was handed to it.
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
    const wasHandedIt = work.responsibleId === agentId && work.handedDown && isLive(work);
    if (wasHandedIt && selfAndAbove(world, work.id).has(id)) return rankOf.read;
  }
  return nothing;
}

/** From the root of the chain down to the grant itself. */
export function chainOf(world: World, grant: Grant): Grant[] {
  const parent = grant.parentId === null ? undefined : world.grants.get(grant.parentId);
  return parent === undefined ? [grant] : [...chainOf(world, parent), grant];
}

/** Nothing along the chain was revoked, no outcome it was given for has ended, nobody who holds a link has left. */
export function isUnbroken(world: World, grant: Grant): boolean {
  return chainOf(world, grant).every(
    (link) => !link.revoked && isLive(world.outcomes.get(link.scopeId)) && isActive(world, link.holderId),
  );
}

/** What a grant is worth now: the least level along its chain, which may begin with the place of a boss. */
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

export function holds(world: World, agentId: string, resource: Resource, level: Level): boolean {
  if (level === "drive") return drives(world, agentId, split(resource).id);
  return effective(world, agentId, resource) >= rankOf[level];
}

/** Can the agent hand this on, for the life of that outcome? From a grant whose scope covers it, or from its place. */
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

/** A block ends by itself when its time has come or what it waits for has ended. */
function isBlocked(world: World, { blocked }: Outcome, now: number): boolean {
  if (blocked === null) return false;
  if (blocked.until !== null && blocked.until <= now) return false;
  return blocked.on === null || isLive(world.outcomes.get(blocked.on));
}
