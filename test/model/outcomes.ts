import { type Agent, childrenOf, isLive, type Outcome, waitsFor, type World } from "./model.ts";
import { type Change, idIn, type Inputs, named, need, No, owned, sameCompany } from "./calls.ts";

/** The preconditions and effects of creating, changing, closing and reopening outcomes. */

/** Every outcome also has a file. */
export function addOutcome(world: World, outcome: Outcome): void {
  const { id, companyId } = outcome;
  world.outcomes.set(id, outcome);
  world.files.set(id, { id, companyId, kind: "outcome", ownerId: null, hashes: [], deleted: false });
}

/** The root outcome never ends. A permanent mandate ends with its agent. */
export function demandEndable(outcome: Outcome): void {
  if (!isLive(outcome) || outcome.kind === "perpetual" || outcome.kind === "mandate") throw new No("refused");
}

/** A mandate that ended with its agent never completes. */
function demandAwaitable(world: World, id: string, companyId: string): void {
  const { kind, status } = sameCompany(world.outcomes.get(id), companyId);
  if (kind === "mandate" && status === "closed") throw new No("refused");
}

export function createOne(world: World, me: Agent | null, input: Inputs["outcome.create"]): Change {
  const companyId = named(world, me, input.companyId);
  const dependsOn = input.dependsOn ?? [];
  for (const id of input.parents) need(world, me, `outcome:${id}`, ["drive"]);
  for (const id of dependsOn) need(world, me, `outcome:${id}`, ["read"]);
  const parents = input.parents.map((id) => {
    const parent = sameCompany(world.outcomes.get(id), companyId);
    if (!isLive(parent)) throw new No("refused");
    return parent;
  });
  for (const id of dependsOn) demandAwaitable(world, id, companyId);
  for (const target of dependsOn)
    if (parents.some((parent) => waitsFor(world, target).has(parent.id))) throw new No("refused");
  const responsibleId = me?.id ?? parents[0]?.responsibleId ?? "";
  return ({ answer }) =>
    addOutcome(world, {
      id: idIn(answer),
      companyId,
      kind: "work",
      status: "open",
      responsibleId,
      handedDown: false,
      handedDownBy: null,
      parents: new Set(input.parents),
      dependsOn: new Set(dependsOn),
      blocked: null,
    });
}

export function updateOne(world: World, me: Agent | null, input: Inputs["outcome.update"]): Change {
  const { id, parents, dependsOn, blocked, ...words } = input;
  const isOnlyBlock = parents === undefined && dependsOn === undefined && Object.keys(words).length === 0;
  const outcome = owned(world.outcomes, me, id);
  need(world, me, `outcome:${id}`, isOnlyBlock ? ["write", "drive"] : ["write"]);
  for (const parent of parents ?? []) need(world, me, `outcome:${parent}`, ["drive"]);
  for (const other of dependsOn ?? []) need(world, me, `outcome:${other}`, ["read"]);
  if (blocked?.on !== undefined) need(world, me, `outcome:${blocked.on}`, ["read"]);
  if (!isLive(outcome)) throw new No("refused");
  const after = parents === undefined && dependsOn === undefined ? world : structuredClone(world);
  const moved = after.outcomes.get(id);
  if (parents !== undefined) {
    // The root outcome has no parents, and a mandate's parent follows from the boss. An owner can't move delegated work.
    if (outcome.kind !== "work" || (me !== null && outcome.handedDown)) throw new No("refused");
    for (const parent of parents) {
      if (outcome.parents.has(parent)) continue;
      if (!isLive(sameCompany(world.outcomes.get(parent), outcome.companyId))) throw new No("refused");
    }
    replace(moved?.parents, parents);
    replace(moved?.dependsOn, dependsOn && []);
    if (isInCircle(after, id) || !parents.some((parent) => isLive(world.outcomes.get(parent))))
      throw new No("refused");
  }
  for (const target of dependsOn ?? []) demandAwaitable(world, target, outcome.companyId);
  replace(moved?.dependsOn, dependsOn);
  if (dependsOn !== undefined && isInCircle(after, id)) throw new No("refused");
  if (blocked !== undefined) demandUndisputed(me, outcome);
  if (blocked && outcome.status !== "open") throw new No("refused");
  if (blocked?.on !== undefined) sameCompany(world.outcomes.get(blocked.on), outcome.companyId);
  if (blocked?.on === id) throw new No("refused");
  return () => {
    replace(outcome.parents, parents);
    replace(outcome.dependsOn, dependsOn);
    if (blocked === undefined) return;
    outcome.sentBack = undefined;
    const until = blocked?.until === undefined ? null : Date.parse(blocked.until);
    outcome.blocked = blocked === null ? null : { until, on: blocked.on ?? null };
  };
}

function isInCircle(world: World, id: string): boolean {
  const next = [
    ...childrenOf(world, id).map((child) => child.id),
    ...(world.outcomes.get(id)?.dependsOn ?? []),
  ];
  return next.some((other) => waitsFor(world, other).has(id));
}

/** Closing an outcome also closes the outcomes below it that have no other live parent. */
export function goesWith(world: World, outcome: Outcome): Outcome[] {
  const closing = new Set([outcome]);
  for (let size = 0; size < closing.size;) {
    size = closing.size;
    for (const other of world.outcomes.values()) {
      const why = [...other.parents].map((id) => world.outcomes.get(id)).filter(isLive);
      const isLeft = why.length > 0 && why.every((parent) => parent !== undefined && closing.has(parent));
      if (isLive(other) && isLeft) closing.add(other);
    }
  }
  return [...closing];
}

/** An outcome that was sent back twice waits for a decision by the manager above. No agent can unblock it. */
export function demandUndisputed(me: Agent | null, outcome: Outcome): void {
  const isDisputed =
    outcome.status === "open" && outcome.blocked !== null && (outcome.sentBack?.times ?? 0) > 1;
  if (isDisputed && outcome.handedDown && me !== null) throw new No("refused");
}

export function reopen(world: World, me: Agent | null, outcome: Outcome): Change {
  if (outcome.status === "open") throw new No("conflict");
  if (outcome.kind === "mandate") throw new No("refused");
  if (outcome.status === "submitted")
    return () => {
      outcome.status = "open";
      if (me === null || outcome.handedDownBy !== me.id) return;
      if (outcome.sentBack !== undefined) outcome.blocked = { until: null, on: null };
      outcome.sentBack = { to: outcome.responsibleId, times: (outcome.sentBack?.times ?? 0) + 1 };
    };
  const parents = [...outcome.parents].map((id) => world.outcomes.get(id));
  const served = [...world.outcomes.values()].find((other) => outcome.parents.has(other.id) && isLive(other));
  if (served === undefined || parents.some((parent) => parent?.status === "completed"))
    throw new No("refused");
  return () => {
    outcome.status = "open";
    if (world.agents.get(outcome.responsibleId)?.active === true) return;
    // Its owner has left, so the owner of its parent becomes responsible.
    Object.assign(outcome, {
      responsibleId: served.responsibleId,
      handedDown: false,
      handedDownBy: null,
    });
  };
}

function replace(set: Set<string> | undefined, ids: readonly string[] | undefined): void {
  if (ids === undefined) return;
  set?.clear();
  for (const id of ids) set?.add(id);
}
