import { z } from "zod";

/**
 * What a right can be about, and the ladder of levels each kind of resource has.
 *   kb:<id> none < read < write · outcome:<id> read < write · mail:<agent or board> send · mcp:<server> use · repo:<name> use
 *   org:hire use · org:consult use
 * `drive` is not on a ladder and cannot be granted: it is what the agent responsible for an outcome has from structure
 * (create below it, submit it, say that it is blocked), also where it may not change the outcome itself.
 */
export const ladders = {
  kb: ["none", "read", "write"],
  outcome: ["read", "write"],
  mail: ["send"],
  mcp: ["use"],
  repo: ["use"],
  org: ["use"],
} as const;

export type ResourceKind = keyof typeof ladders;
export type GrantableLevel = "none" | "read" | "write" | "send" | "use";
export type Level = GrantableLevel | "drive";
export type Resource = `${ResourceKind}:${string}`;

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const word = "[A-Za-z0-9][A-Za-z0-9._/-]{0,199}";
const shape = new RegExp(
  `^(?:(?:kb|outcome|mail):${uuid}|mail:board|(?:mcp|repo):${word}|org:(?:hire|consult))$`,
);

export const ResourceName = z
  .string()
  .max(220)
  .transform((name) => (/^(?:kb|outcome|mail):/i.test(name) ? name.toLowerCase() : name))
  .refine(
    isResource,
    "a resource is kb:<id>, outcome:<id>, mail:<agent id>, mail:board, mcp:<server>, repo:<name>, org:hire or org:consult",
  );

export const LevelName = z.enum(["none", "read", "write", "send", "use"]);

export function isResource(name: string): name is Resource {
  return shape.test(name);
}

export function resourceKind(resource: Resource): ResourceKind {
  const kind = resource.slice(0, resource.indexOf(":"));
  if (isKind(kind)) return kind;
  throw new TypeError(`not a resource: ${resource}`);
}

function isKind(kind: string): kind is ResourceKind {
  return kind in ladders;
}

export function resourceId(resource: Resource): string {
  return resource.slice(resource.indexOf(":") + 1);
}

/**
 * Levels compare as numbers: none 0, read 1, write 2; send and use, the only rung of their ladder, 1.
 * No right at all, which hides that the thing exists, is -1.
 */
export const ranks: Readonly<Record<GrantableLevel, number>> = {
  none: 0,
  read: 1,
  write: 2,
  send: 1,
  use: 1,
};
export const noRight = -1;

export function levelAt(kind: ResourceKind, rank: number): GrantableLevel | null {
  return ladders[kind].find((level) => ranks[level] === rank) ?? null;
}

export function isOnLadder(kind: ResourceKind, level: string): level is GrantableLevel {
  return ladders[kind].some((rung) => rung === level);
}

/** What a grant without a level means: the least that is of use. */
export function defaultLevel(kind: ResourceKind): GrantableLevel {
  return kind === "kb" || kind === "outcome" ? "read" : ladders[kind][0];
}
