import type { Resource } from "../../src/contract/resources.ts";
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
  type World,
} from "./model.ts";
import {
  agentNamed,
  type Change,
  idIn,
  type Inputs,
  isId,
  named,
  No,
  owned,
  reached,
  sameCompany,
  slugOf,
} from "./calls.ts";
import { addOutcome } from "./outcomes.ts";

/** The preconditions and effects of hiring, firing, delegating and granting. */

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
 * The agent's boss takes over its reports, the outcomes it is responsible for and those it verifies. The agent's mandate
 * ends, and no outcome waits for the mandate any longer. The rights that the agent gave its reports are revoked.
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
  // The messages in its inbox move to its boss's inbox.
  for (const { mailedTo } of world.files.values())
    if (mailedTo?.delete(agent.id) === true) mailedTo.add(bossId);
}

/**
 * The agent's mandate is reclaimed. The agent and all agents below it leave. The boss takes over their live work and may
 * read their state documents.
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
      endRightsFor(world, outcome.id, bossId);
    }
  }
}

/** Every right that was granted for an outcome ends, except those of the agent that takes it back. */
function endRightsFor(world: World, outcomeId: string, keeperId: string): void {
  for (const grant of world.grants.values())
    if (grant.scopeId === outcomeId && grant.holderId !== keeperId && grant.origin !== "creation")
      grant.revoked = true;
}

/** Whether the agent is `bossId` or reports to it, directly or through other agents. */
function isBelow(world: World, agent: Agent, bossId: string): boolean {
  for (let next: Agent | undefined = agent; next !== undefined; next = world.agents.get(next.bossId ?? ""))
    if (next.id === bossId) return true;
  return false;
}

// ---- delegation -------------------------------------------------------------------------------------------------

export function delegate(world: World, me: Agent | null, input: Inputs["outcome.delegate"]): Change {
  const outcome = reached(world, me, input.id, ["drive"]);
  if (outcome.status !== "open" || outcome.kind !== "work" || outcome.handedDown) throw new No("refused");
  const from = world.agents.get(outcome.responsibleId);
  const reports = [...world.agents.values()].filter(({ active, bossId }) => active && bossId === from?.id);
  // By id, by slug, or by role. All agents here have the same role, so a role works only if there is one report.
  const [only, ...more] = input.to === "worker" ? reports : [];
  const to = reports.find((agent) => agent.id === input.to || slugOf(agent) === input.to) ?? only;
  if (from === undefined || to === undefined || more.length > 0) throw new No("refused");
  // The giver can pass on only the rights that it still has after it has delegated the outcome.
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

/** Child outcomes that the giver owns and that were not delegated to it move along. All others stay. */
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
 * The outcome returns with the outcomes that its holder created below it, including those the holder delegated, at any
 * depth. All rights that others got for any of these outcomes end.
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
  for (const { id } of taken) endRightsFor(world, id, ownerId);
}

// ---- grants -----------------------------------------------------------------------------------------------------

type Given = Omit<Grant, "id" | "parentId" | "revoked">;

/** Refuses, or returns the expected grant. A giver of null is the board. */
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
  const isHidden = giver !== null && effective(world, giver.id, `outcome:${scopeId}`) === nothing;
  if (isHidden && scopeId !== receiver.id) throw new No("not_found");
  if (!isLive(sameCompany(world.outcomes.get(scopeId), companyId))) throw new No("refused");
  const rank = rankOf[level];
  if (giver !== null && !canHandOn(world, giver.id, resource, rank, scopeId)) throw new No("refused");
  const origin = giver === null ? "board" : "boss";
  return { companyId, holderId: receiver.id, resource, rank, scopeId, origin, giverId: giver?.id ?? null };
}

/** Adds new grants to the world. Each must be an expected one and derive from a valid right. */
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

/** Decides which callers explain_access may answer. The checker compares the answer itself. */
export function explain(world: World, me: Agent | null, input: Inputs["permission.explain"]): Change {
  const { kind } = split(input.resource);
  const isPlain = input.agent !== undefined && isId(input.agent);
  const byId = isPlain ? owned(world.agents, me, input.agent ?? "") : undefined;
  const companyId = byId?.companyId ?? named(world, me, input.companyId);
  if (input.level === "drive") throw new Error("the model does not ask who drives an outcome");
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
