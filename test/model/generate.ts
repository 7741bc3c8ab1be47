import type { World } from "./model.ts";
import type { ModelCall, OperationName } from "./calls.ts";
import { type Chance, chanceFor, missingId } from "./chance.ts";
import { makeCall, rivalOf } from "./make.ts";
import { Scene } from "./scene.ts";

/**
 * The next step to try. Most steps fit the present world, because others are refused early. In some of the rest the actor is
 * any agent, even one that has left or one of the other company. In others, an id is replaced by one of the other company,
 * or by an id that does not exist.
 */
export interface Step {
  /** Several calls are made at the same time. */
  readonly calls: readonly ModelCall[];
  /** Executes the fix that explain_access suggests. */
  readonly thenFix: boolean;
}

const most = { agents: 6, outcomes: 16, files: 8, left: 5 };

export function nextStep(world: World, chance: Chance, seed: number, step: number): Step {
  const companyId = chance.pick(companiesByTurn(world)) ?? "";
  const scene = new Scene(world, chance, companyId, seed, step);
  const any = (): ModelCall => {
    const call = makeCall(scene, chance.weighted(weights(scene)));
    const odd = chance.weighted({ no: 70, actor: 14, id: 14, both: 2 });
    const other = odd === "actor" || odd === "both" ? { ...call, actor: anybody(world, chance) } : call;
    return odd === "id" || odd === "both"
      ? withOddId(world, chance, other, missingId(seed, step, 0xffff))
      : other;
  };
  if (chance.percent(3)) return { calls: [any(), any()], thenFix: false };
  const call = any();
  // Several agents write the same version.
  if (call.operation === "knowledge.write" && chance.percent(25))
    return { calls: [call, rivalOf(scene, call, 1), rivalOf(scene, call, 2)], thenFix: false };
  return { calls: [call], thenFix: call.operation === "permission.explain" && chance.percent(60) };
}

/** The start of a world: a chain of agents with others beside it, some outcomes and some files. */
export function firstStep(world: World, chance: Chance, seed: number, step: number): Step | undefined {
  const next = beginning[step];
  if (next === undefined) return undefined;
  const companyId = [...world.companies.keys()][next.company] ?? "";
  return {
    calls: [makeCall(new Scene(world, chance, companyId, seed, step), next.operation)],
    thenFix: false,
  };
}

const beginning: readonly { readonly company: number; readonly operation: OperationName }[] = [
  { company: 0, operation: "agent.create" },
  { company: 0, operation: "agent.create" },
  { company: 0, operation: "agent.create" },
  { company: 0, operation: "agent.create" },
  { company: 1, operation: "agent.create" },
  { company: 0, operation: "outcome.create" },
  { company: 0, operation: "outcome.create" },
  { company: 0, operation: "outcome.create" },
  { company: 0, operation: "knowledge.create" },
  { company: 0, operation: "knowledge.create" },
  { company: 0, operation: "outcome.delegate" },
  { company: 0, operation: "permission.grant" },
  { company: 1, operation: "outcome.create" },
  { company: 1, operation: "knowledge.create" },
];

/** The second company exists for calls across companies. Most steps happen in the first. */
function companiesByTurn(world: World): string[] {
  const [first = "", second = ""] = world.companies.keys();
  return [first, first, first, first, first, first, second];
}

/** Each seed prefers some operations over others. Rare combinations then happen in some seeds. */
function weights(scene: Scene): Record<OperationName, number> {
  const taste = chanceFor(scene.seed, tastes);
  const usual = usualWeights(scene);
  for (const name of Object.keys(usual) as OperationName[])
    usual[name] *= taste.pick([0.2, 0.6, 1, 1, 1.6, 3.5]) ?? 1;
  return usual;
}

const tastes = 0xfffc;

function usualWeights(scene: Scene): Record<OperationName, number> {
  const active = scene.agents.length;
  const left = [...scene.world.agents.values()].filter((agent) => !agent.active).length;
  const outcomes = scene.outcomes.length;
  const files = scene.files.filter(({ kind }) => kind === "file").length;
  return {
    "agent.create": active < most.agents ? 4 : 0.3,
    "agent.terminate": left < most.left && active > 2 ? 2.2 : 0.2,
    "outcome.create": outcomes < most.outcomes ? 12 : 0.5,
    "outcome.update": 11,
    "outcome.submit": 5,
    "outcome.complete": 6,
    "outcome.close": 5,
    "outcome.reopen": 9,
    "outcome.delegate": 11,
    "outcome.reclaim": 5,
    "outcome.view": 2,
    "permission.grant": 16,
    "permission.revoke": 4,
    "permission.explain": 10,
    "knowledge.create": files < most.files ? 6 : 0.2,
    "knowledge.read": 3,
    "knowledge.write": 7,
    "knowledge.delete": files > 3 ? 0.8 : 0.2,
  };
}

function anybody(world: World, chance: Chance): string {
  const who = chance.weighted({ board: 20, active: 60, left: 20 });
  const agents = [...world.agents.values()].filter(({ active }) => active === (who === "active"));
  return who === "board" ? "board" : (chance.pick(agents)?.id ?? "board");
}

/** Replaces one id of the input: by one of the other company, by one of this company, or by one that does not exist. */
function withOddId(world: World, chance: Chance, call: ModelCall, missing: string): ModelCall {
  const text = JSON.stringify(call.input);
  const id = chance.pick(text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []);
  if (id === undefined) return call;
  const kind = chance.pick(
    [world.companies, world.agents, world.outcomes, world.files, world.grants].filter((things) =>
      things.has(id),
    ),
  );
  const companyOf = (thing: { readonly id: string; readonly companyId?: string }): string =>
    thing.companyId ?? thing.id;
  const thing = kind?.get(id);
  const which = chance.weighted({ foreign: 55, own: 25, missing: 20 });
  const others = [...(kind?.values() ?? [])].filter(
    (other) =>
      thing !== undefined && (companyOf(other) === companyOf(thing)) === (which === "own") && other.id !== id,
  );
  const other = which === "missing" ? undefined : chance.pick(others)?.id;
  return { ...call, input: JSON.parse(text.replaceAll(id, other ?? missing)) };
}
