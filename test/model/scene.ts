import type { Resource } from "../../src/contract/resources.ts";
import { type Agent, type File, type Grant, type Outcome, split, worthOf, type World } from "./model.ts";
import { slugOf } from "./calls.ts";
import { type Chance, missingId } from "./chance.ts";

/** The state of one company when the next step is chosen. */
export class Scene {
  readonly world: World;
  readonly chance: Chance;
  readonly companyId: string;
  readonly seed: number;
  readonly step: number;
  readonly agents: readonly Agent[];
  readonly outcomes: readonly Outcome[];
  readonly files: readonly File[];
  readonly grants: readonly Grant[];
  #missing = 0;

  constructor(world: World, chance: Chance, companyId: string, seed: number, step: number) {
    const of = <T extends { readonly companyId: string }>(things: ReadonlyMap<string, T>): T[] =>
      [...things.values()].filter((thing) => thing.companyId === companyId);
    this.world = world;
    this.chance = chance;
    this.companyId = companyId;
    this.seed = seed;
    this.step = step;
    this.agents = of(world.agents).filter(({ active }) => active);
    this.outcomes = of(world.outcomes);
    this.files = of(world.files);
    this.grants = of(world.grants);
  }

  /** The id of one of these. If there are none, an id that does not exist. */
  id(from: readonly { readonly id: string }[]): string {
    return this.chance.pick(from)?.id ?? missingId(this.seed, this.step, this.#missing++);
  }

  idOf(thing: { readonly id: string } | undefined): string {
    return this.id(thing === undefined ? [] : [thing]);
  }

  /** A way to name an agent: mostly its id, sometimes its slug, which the other company may use too. */
  reference(from: readonly Agent[]): string {
    const agent = this.chance.pick(from);
    return agent !== undefined && this.chance.percent(12) ? slugOf(agent) : this.idOf(agent);
  }

  reportsOf(agentId: string | undefined): Agent[] {
    return this.agents.filter(({ bossId }) => bossId === agentId);
  }

  /** Agents that may hold the right: those with a grant, and the owner. */
  holdersOf(resource: Resource, rank: number): string[] {
    const { id } = split(resource);
    const holders = this.grants
      .filter((grant) => grant.resource === resource && worthOf(this.world, grant) >= rank)
      .map((grant) => grant.holderId);
    const owners = [this.world.files.get(id)?.ownerId, this.world.outcomes.get(id)?.responsibleId];
    return [...holders, ...owners.filter((owner) => typeof owner === "string")];
  }
}

/** An input, and the actors that would send it. */
export interface Made {
  readonly input: object;
  readonly actors: readonly string[];
}
