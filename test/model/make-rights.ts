import type { Resource } from "../../src/contract/resources.ts";
import {
  chainOf,
  type Grant,
  isLive,
  levelsOf,
  nothing,
  rankOf,
  selfAndAbove,
  split,
  structural,
  worthOf,
} from "./model.ts";
import type { Made, Scene } from "./scene.ts";

/** Inputs about rights that fit the scene. */

/** Mostly passes on a granted right, which makes long chains. Otherwise a boss grants by its position, or the board grants. */
export function grant(scene: Scene): Made {
  const { chance, world } = scene;
  const able = standing(scene).filter(
    ({ holderId, resource }) => scene.reportsOf(holderId).length > 0 && split(resource).kind !== "mail",
  );
  const long = able.filter(({ parentId }) => parentId !== null);
  const how = chance.weighted({ on: 50, place: 25, board: 25 });
  const source = how === "on" ? chance.pick(chance.percent(60) && long.length > 0 ? long : able) : undefined;
  if (source !== undefined) {
    const to = scene.reference(scene.reportsOf(source.holderId));
    const within = scene.outcomes.filter(
      (outcome) => isLive(outcome) && selfAndAbove(world, outcome.id).has(source.scopeId),
    );
    const scopes = chance.percent(92) ? within : scene.outcomes;
    const outcome = chance.percent(20) ? undefined : scene.id(preferWork(scene, scopes));
    const right = { resource: source.resource, ...levelUpTo(scene, source) };
    return { input: { to, ...right, ...(outcome && { outcome }) }, actors: [source.holderId] };
  }
  const bosses = scene.agents.filter(({ id }) => scene.reportsOf(id).length > 0);
  const giver = how === "board" ? undefined : chance.pick(bosses);
  const to = scene.reference(giver === undefined ? scene.agents : scene.reportsOf(giver.id));
  const live = scene.outcomes.filter((outcome) => isLive(outcome) || chance.percent(8));
  // Some grants are scoped to the mandate of another agent, which may leave.
  const mandates = live.filter(({ kind, id }) => kind === "mandate" && id !== to);
  const scopes = mandates.length > 0 && chance.percent(25) ? mandates : preferWork(scene, live);
  const outcome = chance.percent(35) ? undefined : scene.id(scopes);
  const own = scene.outcomes.filter(({ id }) => giver && structural(world, giver.id, `outcome:${id}`) > 1);
  // Prefers outcomes below other work of the giver, because the giver may lose them with that work.
  const deep = own.filter(({ parents, responsibleId }) =>
    [...parents].some((id) => {
      const parent = world.outcomes.get(id);
      return parent?.kind === "work" && !parent.handedDown && parent.responsibleId === responsibleId;
    }),
  );
  const place = chance.pick(deep.length > 0 && chance.percent(70) ? deep : own);
  const right =
    place !== undefined && chance.percent(60)
      ? { resource: `outcome:${place.id}`, level: chance.percent(75) ? "write" : "read" }
      : someRight(scene, giver?.id);
  const input = { to, ...right, ...(outcome && { outcome }) };
  return giver === undefined
    ? { input: { ...input, companyId: scene.companyId }, actors: ["board"] }
    : { input, actors: [giver.id] };
}

export function revoke(scene: Scene): Made {
  const { chance } = scene;
  const live = standing(scene);
  const chosen = chance.pick(chance.percent(90) && live.length > 0 ? live : scene.grants);
  const whose = chance.weighted({ giver: 60, holder: 15, board: 15, somebody: 10 });
  const actors = {
    giver: chosen?.giverId,
    holder: chosen?.holderId,
    board: "board",
    somebody: chance.pick(scene.agents)?.id,
  };
  return { input: { id: scene.idOf(chosen) }, actors: [actors[whose] ?? "board"] };
}

/** Half of the time asks about a right that an agent had and lost, because those explanations are the most complex. */
export function explain(scene: Scene): Made {
  const { chance } = scene;
  const isThere = (agentId: string): boolean => scene.agents.some(({ id }) => id === agentId);
  const dead = scene.grants.filter(
    (each) => isThere(each.holderId) && worthOf(scene.world, each) < each.rank,
  );
  // Prefers a right that was not revoked, because it may return.
  const dormant = dead.filter((each) => chainOf(scene.world, each).every(({ revoked }) => !revoked));
  const likely = chance.percent(60) && dormant.length > 0 ? dormant : dead;
  const lost = chance.percent(50) ? chance.pick(likely) : undefined;
  const agent = scene.agents.find(({ id }) => id === lost?.holderId) ?? chance.pick(scene.agents);
  const boss = agent?.bossId ?? "board";
  const right =
    lost === undefined
      ? someRight(scene, chance.percent(50) || boss === "board" ? agent?.id : boss)
      : { resource: lost.resource, ...levelUpTo(scene, lost) };
  if (agent !== undefined && chance.percent(25)) return { input: right, actors: [agent.id] };
  const whose = { agent: scene.reference(agent === undefined ? [] : [agent]), companyId: scene.companyId };
  return { input: { ...right, ...whose }, actors: chance.percent(50) ? ["board"] : [boss] };
}

/** The rights to pass on with a delegation: mostly those that the giver holds with a scope that covers the outcome. */
export function rightsFor(scene: Scene, giverId: string, outcomeId: string): object[] {
  const { chance, world } = scene;
  const covering = standing(scene).filter(
    ({ holderId, scopeId }) => holderId === giverId && selfAndAbove(world, outcomeId).has(scopeId),
  );
  return Array.from({ length: chance.percent(45) ? 1 + chance.int(2) : 0 }, () => {
    const source = chance.percent(75) ? chance.pick(covering) : undefined;
    return source === undefined
      ? someRight(scene, giverId)
      : { resource: source.resource, ...levelUpTo(scene, source) };
  });
}

/** A right that the agent holds or could hold, with a level. */
function someRight(scene: Scene, agentId: string | undefined): { resource: Resource; level?: string } {
  const { chance } = scene;
  const held = standing(scene).filter(({ holderId }) => holderId === agentId);
  const source = chance.weighted({ held: 35, outcome: 22, document: 5, file: 18, plain: 15, mail: 5 });
  const resources: Record<typeof source, () => Resource> = {
    held: () => chance.pick(held)?.resource ?? `kb:${scene.id(scene.files)}`,
    outcome: () => `outcome:${scene.id(scene.outcomes)}`,
    document: () => `kb:${scene.id(scene.outcomes)}`,
    file: () => `kb:${scene.id(scene.files.filter(({ kind }) => kind !== "outcome"))}`,
    plain: () => chance.pick<Resource>(["org:hire", "mcp:chat", "repo:main"]) ?? "org:hire",
    mail: () => `mail:${scene.id(scene.agents)}`,
  };
  const resource = resources[source]();
  const level = chance.percent(3)
    ? "send"
    : chance.percent(80)
      ? chance.pick(levelsOf[split(resource).kind])
      : undefined;
  return { resource, ...(level !== undefined && { level }) };
}

/** A level that the grant includes, and sometimes a higher one. */
function levelUpTo(scene: Scene, { resource, rank }: Grant): { level?: string } {
  const { chance } = scene;
  if (chance.percent(15)) return {};
  const levels = levelsOf[split(resource).kind];
  const level = chance.pick(levels.filter((each) => rankOf[each] <= rank || chance.percent(12)));
  return level === undefined ? {} : { level };
}

function standing(scene: Scene): Grant[] {
  return scene.grants.filter((each) => worthOf(scene.world, each) > nothing);
}

function preferWork<T extends { readonly kind: string }>(scene: Scene, outcomes: readonly T[]): readonly T[] {
  const work = outcomes.filter(({ kind }) => kind === "work" || scene.chance.percent(50));
  return work.length > 0 ? work : outcomes;
}
