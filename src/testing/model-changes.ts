import type { Resource } from "../contract/resources.ts";
import {
  type Agent,
  canHandOn,
  childrenOf,
  effective,
  type Grant,
  isLive,
  isSource,
  levelsOf,
  nothing,
  type Outcome,
  rankOf,
  split,
  structural,
  waitsFor,
  type World,
} from "./model.ts";
import {
  agentNamed,
  type Change,
  idIn,
  type Inputs,
  isId,
  named,
  need,
  No,
  owned,
  reached,
  sameCompany,
  slugOf,
} from "./model-calls.ts";

/** What the larger operations demand and change. */

export function hire(world: World, me: Agent | null, input: Inputs["agent.create"]): Change {
  const companyId = named(world, me, input.companyId);
  if (me !== null) throw new No("forbidden");
  const boss = sameCompany(
    world.agents.get(input.reportsTo ?? world.companies.get(companyId)?.rootId ?? ""),
    companyId,
  );
  if (!boss.active) throw new No("refused");
  for (const other of world.agents.values())
    if (other.companyId === companyId && other.active && other.name === input.name) throw new No("conflict");
  return ({ answer, hashOf }) => {
    const [id, stateFileId] = [idIn(answer), String(answer["stateFileId"])];
    world.agents.set(id, { id, companyId, name: input.name, bossId: boss.id, active: true, stateFileId });
    addOutcome(world, {
      id,
      companyId,
      kind: "mandate",
      status: "open",
      responsibleId: id,
      handedDown: true,
      handedDownBy: boss.id,
      parents: new Set([boss.id]),
      dependsOn: new Set(),
      blocked: null,
    });
    const hashes = [hashOf(stateFileId)];
    world.files.set(stateFileId, {
      id: stateFileId,
      companyId,
      kind: "state",
      mailedTo: new Set(),
      ownerId: id,
      hashes,
      deleted: false,
    });
  };
}

/**
 * Its reports, what it answered for and what it verified go to its boss; its mandate ends with it, and nobody waits for that
 * any more. What it gave its reports is taken back.
 */
export function fire(world: World, agent: Agent, bossId: string): void {
  agent.active = false;
  for (const grant of world.grants.values()) {
    const holder = world.agents.get(grant.holderId);
    if (grant.giverId === agent.id && holder?.active === true && holder.bossId === agent.id)
      grant.revoked = true;
  }
  for (const other of world.agents.values())
    if (other.active && other.bossId === agent.id) other.bossId = bossId;
  for (const outcome of world.outcomes.values()) {
    outcome.dependsOn.delete(agent.id);
    if (outcome.handedDownBy === agent.id) outcome.handedDownBy = bossId;
    if (!isLive(outcome) || outcome.id === agent.id) continue;
    if (outcome.parents.has(agent.id)) outcome.parents.add(bossId);
    if (outcome.responsibleId === agent.id)
      Object.assign(outcome, {
        status: "open",
        responsibleId: bossId,
        handedDown: false,
        handedDownBy: null,
      });
  }
  const mandate = world.outcomes.get(agent.id);
  if (mandate !== undefined) mandate.status = "closed";
  // What waited in its inbox waits in its boss's.
  for (const { mailedTo } of world.files.values())
    if (mailedTo?.delete(agent.id) === true) mailedTo.add(bossId);
}

/**
 * Its mandate is reclaimed: the agent and everybody below it end; all their live work is its boss's, who gets to read what
 * they knew.
 */
export function dissolve(world: World, agentId: string): void {
  const bossId = world.agents.get(agentId)?.bossId ?? "";
  const ended = [...world.agents.values()].filter((agent) => agent.active && isBelow(world, agent, agentId));
  for (const agent of ended) {
    agent.active = false;
    world.files.get(agent.stateFileId)?.mailedTo?.add(bossId);
    for (const outcome of world.outcomes.values()) {
      if (outcome.handedDownBy === agent.id) outcome.handedDownBy = bossId;
      if (!isLive(outcome) || outcome.responsibleId !== agent.id) continue;
      const back = { status: "open", responsibleId: bossId, handedDown: false, handedDownBy: null } as const;
      Object.assign(outcome, back, outcome.kind === "mandate" ? { kind: "work" } : {});
    }
  }
}

/** The agent itself, or one that answers to it at any distance. */
function isBelow(world: World, agent: Agent, bossId: string): boolean {
  for (let next: Agent | undefined = agent; next !== undefined; next = world.agents.get(next.bossId ?? ""))
    if (next.id === bossId) return true;
  return false;
}

// ---- outcomes ---------------------------------------------------------------------------------------------------

/** An outcome is a file too. */
function addOutcome(world: World, outcome: Outcome): void {
  const { id, companyId } = outcome;
  world.outcomes.set(id, outcome);
  world.files.set(id, { id, companyId, kind: "outcome", ownerId: null, hashes: [], deleted: false });
}

/** The root never ends; a standing mandate ends with its agent. */
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
    // The root has none; a mandate hangs where its agent stands; what was handed down, its owner does not move.
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

/** Closing an outcome closes what below it served nothing else. */
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

/** What was sent back twice waits for a decision that its owner cannot take. */
export function demandUndisputed(me: Agent | null, outcome: Outcome): void {
  const isDisputed =
    outcome.status === "open" && outcome.blocked !== null && (outcome.sentBack?.times ?? 0) > 1;
  if (isDisputed && outcome.handedDown && me?.id === outcome.responsibleId) throw new No("refused");
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
    // Its owner has left: it falls to whoever answers for what it serves.
    Object.assign(outcome, {
      responsibleId: served.responsibleId,
      handedDown: false,
      handedDownBy: null,
    });
  };
}

// ---- delegation -------------------------------------------------------------------------------------------------

export function delegate(world: World, me: Agent | null, input: Inputs["outcome.delegate"]): Change {
  const outcome = reached(world, me, input.id, ["drive"]);
  if (outcome.status !== "open" || outcome.kind !== "work" || outcome.handedDown) throw new No("refused");
  const from = world.agents.get(outcome.responsibleId);
  const reports = [...world.agents.values()].filter(({ active, bossId }) => active && bossId === from?.id);
  // By id, by slug, or by the role that all have here, which says who only when there is one.
  const [only, ...more] = input.to === "worker" ? reports : [];
  const to = reports.find((agent) => agent.id === input.to || slugOf(agent) === input.to) ?? only;
  if (from === undefined || to === undefined || more.length > 0) throw new No("refused");
  // The rights given along are those the giver has left once the outcome is in other hands.
  const grants = input.grants ?? [];
  const after = grants.length === 0 ? world : structuredClone(world);
  if (grants.length > 0) handDown(after, input.id, from.id, to.id);
  const given = grants.map(({ resource, level }) =>
    give(after, outcome.companyId, from, to, resource, level, outcome.id),
  );
  return ({ newGrants }) => {
    handDown(world, input.id, from.id, to.id);
    adopt(world, newGrants, given);
  };
}

/** With it goes what below it is the giver's own; what others were given, or the giver was handed itself, stays. */
function handDown(world: World, id: string, fromId: string, toId: string): void {
  const outcome = world.outcomes.get(id);
  if (outcome === undefined) return;
  Object.assign(outcome, { responsibleId: toId, handedDown: true, handedDownBy: fromId });
  const below = [id];
  for (const parent of below)
    for (const child of childrenOf(world, parent)) {
      if (child.responsibleId !== fromId || child.handedDown) continue;
      child.responsibleId = toId;
      below.push(child.id);
    }
}

/**
 * It comes back with what its holder made of it below: the holder's own, and what the holder handed on, as deep as that
 * went. All rights given to others for any of it end.
 */
export function takeBack(world: World, outcome: Outcome, ownerId: string): void {
  const taken: Outcome[] = [outcome];
  for (const parent of taken)
    for (const child of childrenOf(world, parent.id)) {
      const isHolders = child.responsibleId === parent.responsibleId && !child.handedDown;
      const wasHandedOn = child.handedDownBy === parent.responsibleId && child.kind !== "mandate";
      if ((isHolders || wasHandedOn) && !taken.includes(child)) taken.push(child);
    }
  for (const each of taken) if (each.status === "submitted") each.status = "open";
  for (const each of taken)
    Object.assign(each, { responsibleId: ownerId, handedDown: false, handedDownBy: null });
  const scopes = new Set(taken.map(({ id }) => id));
  for (const grant of world.grants.values())
    if (scopes.has(grant.scopeId) && grant.holderId !== ownerId) grant.revoked = true;
}

// ---- grants -----------------------------------------------------------------------------------------------------

type Given = Omit<Grant, "id" | "parentId" | "revoked">;

/** Refuses, or answers the grant that is due. The giver null: the board. */
export function give(
  world: World,
  companyId: string,
  giver: Agent | null,
  receiver: Agent,
  resource: Resource,
  wanted: keyof typeof rankOf | undefined,
  scopeId: string,
): Given {
  const { kind, id } = split(resource);
  const level = wanted ?? (kind === "kb" ? "read" : levelsOf[kind][0]);
  if (level === undefined || !levelsOf[kind].includes(level)) throw new No("invalid");
  if ((giver !== null && receiver.bossId !== giver.id) || !receiver.active) throw new No("refused");
  if (kind === "kb" && sameCompany(world.files.get(id), companyId).deleted) throw new No("not_found");
  if (kind === "outcome") sameCompany(world.outcomes.get(id), companyId);
  if (kind === "mail") sameCompany(world.agents.get(id), companyId);
  const isThing = kind === "kb" || kind === "outcome";
  if (isThing && giver !== null && effective(world, giver.id, resource) === nothing)
    throw new No("not_found");
  if (!isLive(sameCompany(world.outcomes.get(scopeId), companyId))) throw new No("refused");
  const rank = rankOf[level];
  if (giver !== null && !canHandOn(world, giver.id, resource, rank, scopeId)) throw new No("refused");
  const origin = giver === null ? "board" : "boss";
  return { companyId, holderId: receiver.id, resource, rank, scopeId, origin, giverId: giver?.id ?? null };
}

/** Takes new grants into the world, if they are the ones that are due and each rests on something that carries it. */
export function adopt(world: World, rows: Grant[], due: readonly Given[]): void {
  for (const given of due) {
    const place = rows.findIndex(({ companyId }) => companyId === given.companyId);
    const [row] = place === -1 ? [] : rows.splice(place, 1);
    if (row === undefined) throw new Error(`a grant of ${given.resource} was not stored`);
    for (const [key, value] of Object.entries(given))
      if (row[key as keyof Given] !== value)
        throw new Error(`the new grant has ${key} ${String(row[key as keyof Given])}, not ${String(value)}`);
    const { giverId, resource, rank, scopeId } = given;
    const parent = row.parentId === null ? undefined : world.grants.get(row.parentId);
    const carries =
      row.parentId === null
        ? giverId === null || structural(world, giverId, resource) >= rank
        : giverId !== null &&
          parent !== undefined &&
          isSource(world, parent, giverId, resource, rank, scopeId);
    if (!carries) throw new Error(`a grant of ${resource} rests on something that does not carry it`);
    world.grants.set(row.id, row);
  }
}

/** What explain_access is allowed to say to whom; what it says is compared by the checker. */
export function explain(world: World, me: Agent | null, input: Inputs["permission.explain"]): Change {
  const { kind } = split(input.resource);
  const isPlain = input.agent !== undefined && isId(input.agent);
  const byId = isPlain ? owned(world.agents, me, input.agent ?? "") : undefined;
  const companyId = byId?.companyId ?? named(world, me, input.companyId);
  if (input.level !== undefined && !levelsOf[kind].includes(input.level)) throw new No("invalid");
  if (me === null && input.agent === undefined) throw new No("invalid");
  const subject = byId ?? (input.agent === undefined ? me : agentNamed(world, companyId, input.agent));
  if (subject === null) throw new No("invalid");
  if (me !== null && subject.id !== me.id) {
    if (subject.bossId !== me.id) throw new No("forbidden");
    const isThing = kind === "kb" || kind === "outcome" || kind === "mail";
    if (isThing && effective(world, me.id, input.resource) === nothing) throw new No("not_found");
  }
  return () => undefined;
}

function replace(set: Set<string> | undefined, ids: readonly string[] | undefined): void {
  if (ids === undefined) return;
  set?.clear();
  for (const id of ids) set?.add(id);
}
