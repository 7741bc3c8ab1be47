import { childrenOf, isLive, type Outcome, rankOf } from "./model.ts";
import type { ModelCall, OperationName } from "./calls.ts";
import { chanceFor } from "./chance.ts";
import { explain, grant, revoke, rightsFor } from "./make-rights.ts";
import type { Made, Scene } from "./scene.ts";

/** Makes a call that fits the scene: a possible operation by an actor that is allowed to do it. */
export function makeCall(scene: Scene, operation: OperationName): ModelCall {
  const { input, actors } = makers[operation](scene);
  return { operation, input, actor: scene.chance.pick(actors) ?? "board" } as ModelCall;
}

/** The same write by another agent that may make it. */
export function rivalOf(
  scene: Scene,
  write: ModelCall & { operation: "knowledge.write" },
  place: number,
): ModelCall {
  const actor = scene.chance.pick(scene.holdersOf(`kb:${write.input.id}`, rankOf.write)) ?? write.actor;
  return { ...write, actor, input: { ...write.input, content: `${scene.step} at once ${place}` } };
}

const makers: Readonly<Record<OperationName, (scene: Scene) => Made>> = {
  "agent.create": ({ chance, agents, companyId, seed }) => {
    // Some worlds are deep, which makes long chains. Others are wide, which makes peers.
    const deep = chanceFor(seed, shapes).pick([15, 50, 85]) ?? 50;
    const reportsTo = chance.percent(deep) ? agents.at(-1)?.id : chance.pick(agents)?.id;
    const name = `Agent ${chance.int(10)}`;
    return { input: { companyId, name, role: "worker", reportsTo }, actors: ["board"] };
  },
  "agent.terminate": (scene) => ({
    input: { id: scene.id(scene.agents.filter(({ bossId }) => bossId !== null)), reason: "left" },
    actors: ["board"],
  }),
  "outcome.create": create,
  "outcome.update": update,
  "outcome.submit": (scene) =>
    on(scene, { note: "done" }, (outcome) => outcome.handedDown && isReady(scene, outcome), drivers),
  "outcome.complete": (scene) =>
    on(
      scene,
      { note: "good" },
      (outcome) => outcome.kind === "work" && (isReady(scene, outcome) || scene.chance.percent(15)),
      writers,
    ),
  // Prefers outcomes with children, which close along with them.
  "outcome.close": (scene) =>
    on(
      scene,
      { rationale: "no" },
      (outcome) => isLiveWork(outcome) && (!isReady(scene, outcome) || scene.chance.percent(30)),
      writers,
    ),
  "outcome.reopen": (scene) =>
    on(
      scene,
      { reason: "again" },
      (outcome) => outcome.kind === "work" && outcome.status !== "open",
      (outcome) => (scene.chance.percent(40) ? ["board"] : writers(outcome)),
    ),
  "outcome.view": (scene) =>
    on(
      scene,
      {},
      () => true,
      ({ id }) => scene.holdersOf(`outcome:${id}`, rankOf.read),
    ),
  "outcome.delegate": delegate,
  "outcome.reclaim": (scene) =>
    on(scene, { reason: "late" }, (outcome) => outcome.handedDown && isLive(outcome), writers),
  "permission.grant": grant,
  "permission.revoke": revoke,
  "permission.explain": explain,
  "knowledge.create": ({ chance, agents, companyId, step }) => {
    const input = { description: `File ${step}`, content: `made in ${step}` };
    return chance.percent(20)
      ? { input: { ...input, companyId }, actors: ["board"] }
      : { input, actors: agents.map(({ id }) => id) };
  },
  "knowledge.read": (scene) => file(scene, 25, rankOf.read),
  "knowledge.write": (scene) => file(scene, 12, rankOf.write, true),
  "knowledge.delete": (scene) => file(scene, 25, rankOf.write),
};

const shapes = 0xfffb;

function create(scene: Scene): Made {
  const { chance } = scene;
  const live = scene.outcomes.filter(isLive);
  // Prefers a parent that is work over a mandate, which makes the graph deeper.
  const first =
    chance.pick(live.filter(({ kind }) => kind === "work" || chance.percent(40))) ?? chance.pick(live);
  const own = live.filter(({ responsibleId }) => responsibleId === first?.responsibleId);
  const parents = [scene.idOf(first)];
  while (parents.length < 3 && chance.percent(35)) parents.push(scene.id(chance.percent(88) ? own : live));
  const dependsOn = chance.percent(25) ? [scene.id(own)] : undefined;
  const input = { title: `Outcome ${scene.step}`, parents, ...(dependsOn && { dependsOn }) };
  return chance.percent(15)
    ? { input: { ...input, companyId: scene.companyId }, actors: ["board"] }
    : { input, actors: first === undefined ? [] : [first.responsibleId] };
}

function update(scene: Scene): Made {
  const { chance } = scene;
  const live = scene.outcomes.filter(isLive);
  const work = live.filter(({ kind }) => kind === "work" || chance.percent(10));
  const handed = work.filter(({ handedDown }) => handedDown);
  const byBoard = chance.percent(25);
  // Only the board may put an outcome below another agent's work, or a delegated outcome below its owner's other work.
  const isFar = byBoard && chance.percent(45);
  const outcome = chance.pick(byBoard && !isFar && handed.length > 0 ? handed : work) ?? chance.pick(live);
  const near = isFar ? live : live.filter((other) => other.responsibleId === outcome?.responsibleId);
  const several = (from: readonly Outcome[]): string[] =>
    Array.from({ length: 1 + chance.int(2) }, () => scene.id(from));
  const parents = [...several(near), ...(chance.percent(40) ? (outcome?.parents ?? []) : [])];
  // An outcome can also depend on one that has ended, whether that was completed or closed.
  const ended = scene.outcomes.filter((other) => other.responsibleId === outcome?.responsibleId);
  const dependsOn = chance.percent(20) ? [] : several(chance.percent(50) ? near : ended);
  const blocked = chance.percent(25)
    ? null
    : {
        reason: "waiting",
        ...(chance.percent(40) && {
          until: chance.percent(50) ? "2001-01-01T00:00:00Z" : "2101-01-01T00:00:00Z",
        }),
        ...(chance.percent(50) && { on: scene.id(scene.outcomes) }),
      };
  const title = `Outcome renamed in ${scene.step}`;
  const changes = {
    parents: { parents },
    dependsOn: { dependsOn },
    both: { parents, dependsOn },
    blocked: { blocked },
    title: { title },
  };
  const what = chance.weighted({ parents: 38, dependsOn: 22, both: 8, blocked: 24, title: 8 });
  const likely = outcome === undefined ? [] : what === "blocked" ? drivers(outcome) : writers(outcome);
  return { input: { id: scene.idOf(outcome), ...changes[what] }, actors: byBoard ? ["board"] : likely };
}

function delegate(scene: Scene): Made {
  const { chance } = scene;
  const able = scene.outcomes.filter(
    (outcome) =>
      outcome.kind === "work" &&
      outcome.status === "open" &&
      !outcome.handedDown &&
      scene.reportsOf(outcome.responsibleId).length > 0,
  );
  // Prefers an outcome with children, some of which move along.
  const large = able.filter((each) => !isReady(scene, each));
  const outcome =
    (chance.percent(50) ? chance.pick(large) : chance.pick(able)) ?? chance.pick(scene.outcomes);
  const giverId = outcome?.responsibleId ?? "";
  const report = scene.reference(chance.percent(94) ? scene.reportsOf(giverId) : scene.agents);
  const to = chance.percent(4) ? "worker" : report;
  const grants = outcome === undefined ? [] : rightsFor(scene, giverId, outcome.id);
  return {
    input: { id: scene.idOf(outcome), to, ...(grants.length > 0 && { grants }) },
    actors: chance.percent(12) ? ["board"] : [giverId],
  };
}

function file(scene: Scene, alsoDocuments: number, rank: number, writes = false): Made {
  const { chance } = scene;
  const files = scene.files.filter(
    ({ kind, deleted }) =>
      (kind === "file" || chance.percent(alsoDocuments)) && (!deleted || chance.percent(20)),
  );
  const chosen = chance.pick(files);
  const id = scene.idOf(chosen);
  const actors = chance.percent(15) ? ["board"] : scene.holdersOf(`kb:${id}`, rank);
  if (!writes) return { input: { id }, actors };
  const newest = Math.max(1, chosen?.hashes.length ?? 1);
  const old = Math.max(1, newest - 1 - chance.int(2));
  // A write succeeds only with both the number and the hash of the newest version.
  const seen = chance.weighted({ both: 65, neither: 11, hash: 12, version: 12 });
  const version = seen === "both" || seen === "version" ? newest : old;
  const hash = chosen?.hashes[(seen === "both" || seen === "hash" ? newest : old) - 1] ?? "0".repeat(64);
  return { input: { id, content: `written in ${scene.step}`, version, hash }, actors };
}

/** A call on an outcome that fits, by an actor that may make it. */
function on(
  scene: Scene,
  rest: object,
  fits: (outcome: Outcome) => boolean,
  whose: (outcome: Outcome) => readonly string[],
): Made {
  const outcome = scene.chance.pick(scene.outcomes.filter(fits)) ?? scene.chance.pick(scene.outcomes);
  return {
    input: { id: scene.idOf(outcome), ...rest },
    actors: outcome === undefined ? [] : whose(outcome),
  };
}

function isLiveWork(outcome: Outcome): boolean {
  return outcome.kind === "work" && isLive(outcome);
}

function isReady(scene: Scene, outcome: Outcome): boolean {
  return isLiveWork(outcome) && !childrenOf(scene.world, outcome.id).some(isLive);
}

function drivers({ responsibleId }: Outcome): readonly string[] {
  return [responsibleId];
}

function writers({ handedDown, handedDownBy, responsibleId }: Outcome): readonly string[] {
  return [handedDown ? (handedDownBy ?? "board") : responsibleId];
}
