import type { Changes } from "../contract/approvals.ts";
import type { GrantableLevel, Resource } from "../contract/resources.ts";
import { JsonObject } from "../contract/words.ts";
import { brainMarks } from "../brains/registry.ts";
import { explain } from "../capabilities/explain.ts";
import { type Member, memberById } from "../capabilities/members.ts";
import { type Viewer, visibleName } from "../capabilities/visible.ts";
import { secretNames } from "../redaction/marks.ts";
import { redact, redactText } from "../redaction/redact.ts";
import type { ReadTx } from "../store/store.ts";
import { boardGives } from "./texts.ts";

/** The sections of what an approval would change. Each type of request builds its own from these. */
export type Sections = Partial<Omit<Changes, "summary" | "fields" | "money">>;

export const noSections: Required<Sections> = {
  place: null,
  headcount: null,
  rights: [],
  brain: null,
  heldUp: [],
  obstacles: [],
};

/** The line from the root agent down to the manager of a new agent. */
export async function placeBelow(tx: ReadTx, managerId: string | null): Promise<Changes["place"]> {
  const path = [];
  for (
    let next = await memberById(tx, managerId);
    next !== undefined;
    next = await memberById(tx, next.boss_id)
  )
    path.unshift({ id: next.id, name: next.name });
  return { manager: path.at(-1) ?? null, path };
}

/** A right that approving would give. How the giver got it is shown to people, to the giver and to the giver's manager. */
export async function rightFrom(
  tx: ReadTx,
  viewer: Viewer,
  companyId: string,
  giver: Member | null,
  right: { readonly resource: Resource; readonly level: GrantableLevel },
): Promise<Changes["rights"][number]> {
  const { resource, level } = right;
  const { title } = await visibleName(tx, viewer, companyId, resource);
  if (giver === null)
    return { resource, title, level, from: null, held: true, because: boardGives, chain: [] };
  const { allowed, because, chain } = await explain(tx, viewer, giver, resource, level);
  const isTold = viewer.agentId === null || [giver.id, giver.boss_id].includes(viewer.agentId);
  const told = isTold ? { because, chain } : { because: "", chain: [] };
  return { resource, title, level, from: { id: giver.id, name: giver.name }, held: allowed, ...told };
}

export function brainShown(
  viewer: Viewer,
  brain: {
    readonly adapterType: string;
    readonly adapterConfig: Readonly<Record<string, unknown>>;
    readonly model: string | null;
    readonly effort: string | null;
    readonly prompt: string | null;
  },
): Changes["brain"] {
  const { adapterConfig } = brain;
  const shown = JsonObject.parse(redact({ adapterConfig }, brainMarks).value);
  const config = JsonObject.parse(shown["adapterConfig"]);
  const { command, args } = config;
  return {
    type: brain.adapterType,
    command: typeof command === "string" ? [command, ...(Array.isArray(args) ? args : [])].join(" ") : null,
    model: brain.model,
    effort: brain.effort,
    prompt: brain.prompt === null ? null : redactText(brain.prompt),
    config,
    secrets: viewer.agentId === null ? secretNames(adapterConfig) : [],
  };
}
