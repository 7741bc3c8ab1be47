import { z } from "zod";

/**
 * What a right can be about, and the ladder of levels of each kind of resource.
 *   kb:<id> none < read < write · outcome:<id> read < write · mail:<agent or board> send · mcp:<server> use · repo:<name> use
 *   org:hire use · org:consult use
 * `drive` is not on a ladder and can't be granted. The agent responsible for an outcome has it from structure: it may create
 * outcomes below, submit the outcome and mark it as blocked, even where it may not change the outcome itself.
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
    "kb:<file id>, outcome:<id>, mail:<agent id>, mail:board, mcp:<server>, repo:<name>, org:hire or org:consult",
  )
  .describe(
    "What the right is about: `kb:<file id>`, `outcome:<id>`, `mail:<agent id>` or `mail:board` (send mail there), `mcp:<server>`, `repo:<name>`, `org:hire` (hire agents), `org:consult` (use the brain's sub-agents).",
  );

export const LevelName = z.enum(["none", "read", "write", "send", "use"]);

/** A level as an argument; without one, the lowest level that allows something. */
export const LevelArgument = LevelName.optional().describe(
  "`read` or `write` for kb and outcome (kb also has `none`: know that it exists), `send` for mail, `use` for mcp, repo and org. Default: read, send or use.",
);

/** Rights that come with a hire or a delegation. */
export const ResourceGrants = z
  .array(
    z.strictObject({
      resource: ResourceName.describe(
        "Such as `kb:<file id>`, `mcp:<server>` or `org:hire`. grant_permission describes all forms.",
      ),
      level: LevelName.optional().describe("Default: `read`, `send` or `use`, whichever the resource has."),
    }),
  )
  .max(50);

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
 * Levels compare as numbers: none 0, read 1, write 2. send and use are the only level of their ladder and count 1.
 * No right at all is -1: the thing does not exist for that agent.
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

/** The level of a grant that names none: the lowest one that allows something. */
export function defaultLevel(kind: ResourceKind): GrantableLevel {
  return kind === "kb" || kind === "outcome" ? "read" : ladders[kind][0];
}
