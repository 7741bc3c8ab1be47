import { z } from "zod";
import { shownInTools } from "./words.ts";

/**
 * The resources of rights, and the ladder of levels of each kind.
 *   kb:<id> none < read < write · outcome:<id> read < write · mail:<agent or board> send · mcp:<server> use · repo:<name> read < push
 *   net:<host> use (`net:*`: every host) · org:hire use · org:consult use
 * `drive` is not on a ladder and can't be granted. The agent responsible for an outcome has it from structure: it may create
 * outcomes below, submit the outcome and mark it as blocked, even if it can't change the outcome itself.
 */
export const ladders = {
  kb: ["none", "read", "write"],
  outcome: ["read", "write"],
  mail: ["send"],
  mcp: ["use"],
  repo: ["read", "push"],
  net: ["use"],
  org: ["use"],
} as const;

export type ResourceKind = keyof typeof ladders;
export type GrantableLevel = "none" | "read" | "write" | "send" | "use" | "push";
export type Level = GrantableLevel | "drive";
export type Resource = `${ResourceKind}:${string}`;

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const word = "[A-Za-z0-9][A-Za-z0-9._/-]{0,199}";
const shape = new RegExp(
  `^(?:(?:kb|outcome|mail):${uuid}|mail:board|(?:mcp|repo):${word}|net:(?:\\*|[a-z0-9._-]{1,253}|\\[[0-9a-f:.]{2,45}\\])|org:(?:hire|consult))$`,
);

const resourceForms =
  "`kb:<file id>`, `outcome:<id>`, `mail:<agent id>`, `mcp:<server>`, `repo:<name>`, `net:<host>`, `org:hire` or `org:consult`.";
const levelForms = "`read` or `write` for kb and outcome, `read` or `push` for repo. Default: the lowest.";

export const ResourceName = z
  .string()
  .max(270)
  .transform((name) => (/^(?:kb|outcome|mail):/i.test(name) ? name.toLowerCase() : withHost(name)))
  .refine(
    isResource,
    "kb:<file id>, outcome:<id>, mail:<agent id>, mail:board, mcp:<server>, repo:<name>, net:<host>, org:hire or org:consult",
  )
  .describe(resourceForms);

export const LevelName = z.enum(["none", "read", "write", "send", "use", "push"]);

/** Any level. Only questions can name `drive`: it can't be granted. */
export const AnyLevel = z.enum([...LevelName.options, "drive"]);

/** A level as an argument; without one, the lowest level that allows something. */
export const LevelArgument = LevelName.register(shownInTools, { type: "string", enum: undefined })
  .optional()
  .describe(levelForms);

/**
 * The resource of a right, for tools other than request_permission. Every agent finds that tool, which describes resource and
 * level in full.
 */
export const sameAsRequested = {
  resource: ResourceName.describe(resourceForms).register(shownInTools, {
    description: "As for request_permission.",
  }),
  level: LevelArgument.describe(levelForms).register(shownInTools, {
    description: "As for request_permission.",
  }),
};

/** Rights that come with a hire or a delegation. */
export const ResourceGrants = z
  .array(
    z.strictObject({
      resource: ResourceName.describe("Such as `kb:<file id>`."),
      level: LevelName.optional().describe("Default: the lowest."),
    }),
  )
  .max(50)
  // The description of each argument shows an example.
  .register(shownInTools, { type: "array", items: { type: "object" } });

/**
 * A host in its canonical form: lower case, without a final dot, letters of other alphabets encoded. Undefined if it is not a
 * host.
 */
export function canonicalHost(host: string): string | undefined {
  if (!/^(?:[^\s/@?#\\:[\]%]{1,253}|\[[0-9a-f:.]+\])$/i.test(host)) return undefined;
  return URL.parse(`http://${host}`)?.hostname.replace(/\.$/, "");
}

function withHost(name: string): string {
  if (!name.startsWith("net:") || name === "net:*") return name;
  return `net:${canonicalHost(name.slice("net:".length)) ?? " "}`;
}

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
 * Levels compare as numbers: none 0, read 1, write and push 2. send and use are the only level of their ladder and count 1.
 * Without any right the number is -1: the thing does not exist for that agent.
 */
export const ranks: Readonly<Record<GrantableLevel, number>> = {
  none: 0,
  read: 1,
  write: 2,
  send: 1,
  use: 1,
  push: 2,
};
export const noRight = -1;

export function levelAt(kind: ResourceKind, rank: number): GrantableLevel | null {
  return ladders[kind].find((level) => ranks[level] === rank) ?? null;
}

export function isOnLadder(kind: ResourceKind, level: string): level is GrantableLevel {
  return ladders[kind].some((rung) => rung === level);
}

/** Whether an agent can have this level on a resource of this kind: a rung of its ladder or, on an outcome, `drive`. */
export function isHoldable(kind: ResourceKind, level: Level): boolean {
  return level === "drive" ? kind === "outcome" : isOnLadder(kind, level);
}

/** The level of a grant that names none: the lowest one that allows something. */
export function defaultLevel(kind: ResourceKind): GrantableLevel {
  return kind === "kb" || kind === "outcome" ? "read" : ladders[kind][0];
}
