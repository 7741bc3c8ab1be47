import { hash as digest } from "node:crypto";
import type { explainAccess, grantPermission, revokePermission } from "../../src/contract/capabilities.ts";
import type { createFile, deleteFile, readFile, writeFile } from "../../src/contract/knowledge.ts";
import type { Input } from "../../src/contract/operation.ts";
import type { createAgent } from "../../src/contract/hiring.ts";
import type { terminateAgent } from "../../src/contract/agents.ts";
import type {
  closeOutcome,
  completeOutcome,
  createOutcome,
  reopenOutcome,
  submitOutcome,
  updateOutcome,
  viewOutcome,
} from "../../src/contract/outcomes.ts";
import type { delegateOutcome, reclaimOutcome } from "../../src/contract/delegation.ts";
import type { RefusalCode } from "../../src/contract/refusal.ts";
import type { Level, Resource } from "../../src/contract/resources.ts";
import {
  type Agent,
  type File,
  type Grant,
  holds,
  nothing,
  type Outcome,
  rankOf,
  seenRank,
  split,
  type World,
} from "./model.ts";

/** The calls that the model knows, and the rules that say who may make them on which object. */
export interface Inputs {
  "agent.create": Input<typeof createAgent>;
  "agent.terminate": Input<typeof terminateAgent>;
  "outcome.create": Input<typeof createOutcome>;
  "outcome.update": Input<typeof updateOutcome>;
  "outcome.submit": Input<typeof submitOutcome>;
  "outcome.complete": Input<typeof completeOutcome>;
  "outcome.close": Input<typeof closeOutcome>;
  "outcome.reopen": Input<typeof reopenOutcome>;
  "outcome.delegate": Input<typeof delegateOutcome>;
  "outcome.reclaim": Input<typeof reclaimOutcome>;
  "outcome.view": Input<typeof viewOutcome>;
  "permission.grant": Input<typeof grantPermission>;
  "permission.revoke": Input<typeof revokePermission>;
  "permission.explain": Input<typeof explainAccess>;
  "knowledge.create": Input<typeof createFile>;
  "knowledge.read": Input<typeof readFile>;
  "knowledge.write": Input<typeof writeFile>;
  "knowledge.delete": Input<typeof deleteFile>;
}
export type OperationName = keyof Inputs;

/** The actor is the board or the id of the agent whose key is used. */
export type ModelCall = {
  [name in OperationName]: { readonly actor: string; readonly operation: name; readonly input: Inputs[name] };
}[OperationName];

/** The choices of the product when it executed the call: its answer, and new grants and documents. */
export interface Carried {
  readonly answer: Readonly<Record<string, unknown>>;
  /** In the order of creation. Each change removes the grants that it expects. */
  readonly newGrants: Grant[];
  readonly hashOf: (fileId: string) => string;
}

/** A refusal the model expects. */
export class No extends Error {
  readonly code: RefusalCode;
  constructor(code: RefusalCode) {
    super(code);
    this.code = code;
  }
}

/** Applied to the model once the product has accepted the call. */
export type Change = (carried: Carried) => void;

/** The company of a call, if the actor or the input determines it. */
export function companyOf(world: World, call: ModelCall): string | undefined {
  const me = world.agents.get(call.actor);
  if (me !== undefined) return me.companyId;
  // An agent's id also determines the company.
  if (call.operation === "permission.explain" && isId(call.input.agent ?? ""))
    return world.agents.get(call.input.agent ?? "")?.companyId;
  if ("companyId" in call.input) return call.input.companyId;
  if (!("id" in call.input)) return undefined;
  const { id } = call.input;
  return [world.files, world.agents, world.outcomes, world.grants]
    .map((things) => things.get(id)?.companyId)
    .find((companyId) => companyId !== undefined);
}

/** The ids in a call that belong to another company than the call. */
export function foreignIdsIn(world: World, call: ModelCall): string[] {
  const companyId = companyOf(world, call);
  const ids = JSON.stringify(call.input).match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
  return [...new Set(ids)].filter((id) => {
    const owner =
      [world.files, world.agents, world.outcomes, world.grants]
        .map((things) => things.get(id)?.companyId)
        .find((found) => found !== undefined) ?? (world.companies.has(id) ? id : undefined);
    return owner !== undefined && companyId !== undefined && owner !== companyId;
  });
}

/** Objects of another company count as missing. */
export function owned<T extends { readonly companyId: string }>(
  things: ReadonlyMap<string, T>,
  me: Agent | null,
  id: string,
): T {
  const thing = things.get(id);
  if (thing === undefined || (me !== null && thing.companyId !== me.companyId)) throw new No("not_found");
  return thing;
}

export function named(world: World, me: Agent | null, companyId: string | undefined): string {
  if (me !== null) {
    if (companyId !== undefined && companyId !== me.companyId) throw new No("not_found");
    return me.companyId;
  }
  // The board governs two companies here, so its calls must name one.
  if (companyId === undefined) throw new No("invalid");
  if (!world.companies.has(companyId)) throw new No("not_found");
  return companyId;
}

export function sameCompany<T extends { readonly companyId: string }>(
  thing: T | undefined,
  companyId: string,
): T {
  if (thing === undefined || thing.companyId !== companyId) throw new No("not_found");
  return thing;
}

/** Finds an agent by its id, or an active agent by its slug. */
export function agentNamed(world: World, companyId: string, reference: string): Agent {
  const bySlug = [...world.agents.values()].find(
    (agent) => agent.companyId === companyId && agent.active && slugOf(agent) === reference,
  );
  return sameCompany(world.agents.get(reference) ?? bySlug, companyId);
}

export function slugOf({ name }: Agent): string {
  return name.toLowerCase().replaceAll(" ", "-");
}

export function isId(reference: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(reference);
}

/** Demands one of the levels. An object on which the agent has no right at all counts as missing. */
export function need(world: World, me: Agent | null, resource: Resource, levels: readonly Level[]): void {
  if (me === null || levels.some((level) => holds(world, me.id, resource, level))) return;
  const seen = seenRank(world, me.id, resource);
  if (split(resource).kind === "kb" && levels.includes("read") && seen >= rankOf.read) return;
  throw new No(seen === nothing ? "not_found" : "forbidden");
}

export function reached(world: World, me: Agent | null, id: string, levels: readonly Level[]): Outcome {
  const outcome = owned(world.outcomes, me, id);
  need(world, me, `outcome:${id}`, levels);
  return outcome;
}

export function fileFor(world: World, me: Agent | null, id: string, level: "read" | "write"): File {
  const file = owned(world.files, me, id);
  need(world, me, `kb:${id}`, [level]);
  if (file.deleted) throw new No("gone");
  return file;
}

export function idIn(answer: Carried["answer"]): string {
  return String(answer["id"]);
}

export function sha256(content: string | undefined): string {
  return digest("sha256", content ?? "");
}
