import { conflict, forbidden, invalid, refused, Refusal, type RefusalCode } from "../contract/refusal.ts";
import {
  type GrantableLevel,
  ladders,
  type Level,
  type Resource,
  type ResourceKind,
} from "../contract/resources.ts";

import type { Reference } from "../contract/words.ts";

/** All texts of this folder about rights. */
interface Agent {
  readonly name: string;
  readonly status: string;
}

/** `name` is the title of an outcome, the description of a file or the name of an agent. */
export const needsRight = (need: {
  readonly on: Resource;
  readonly name: string | undefined;
  readonly levels: readonly Level[];
  readonly held: string | null;
}): Refusal =>
  forbidden(
    `This call needs ${need.levels.join(" or ")} on ${need.name === undefined ? need.on : `"${need.name}" (${need.on})`}. You have ${need.held ?? "no right"}.`,
    need.levels.includes("drive")
      ? "Only the agent responsible for an outcome can work below it. Write to that agent or to your manager: send_message."
      : `Ask your manager for it: request_permission {"resource":"${need.on}","level":"${need.levels[0] ?? "read"}","reason":"…"}. explain_access shows what is missing.`,
  );

/** `more`: levels that can be named here, besides those that can be granted. */
export const noSuchLevel = (kind: ResourceKind, level: string, more: readonly string[] = []): Refusal =>
  invalid(`${kind} has no level "${level}".`, `Use one of: ${[...ladders[kind], ...more].join(", ")}.`);

export const notYourReport = (agent: { readonly name: string }, code: RefusalCode, hint: string): Refusal =>
  new Refusal(code, `${agent.name} is not your direct report.`, hint);

export const receiverInactive = ({ name, status }: Agent): Refusal =>
  refused(`${name} is ${status} and can't hold rights.`, "Choose an active agent: list_roster.");

export const alreadyRevoked = ({ resource }: { readonly resource: Resource }): Refusal =>
  conflict(
    `This grant of ${resource} is already revoked.`,
    "You don't have to do anything. list_permissions shows the grants that are valid.",
  );

export const scopeEnded = (outcome: { id: string; title: string; status: string }): Refusal =>
  refused(
    `"${outcome.title}" (${outcome.id}) is ${outcome.status}, so a right granted for it would end at once.`,
    `Name an open outcome, or reopen this one: reopen_outcome {"id":"${outcome.id}","reason":"…"}.`,
  );

export const noSuchServer = (name: string, known: readonly string[]): Refusal =>
  refused(
    `The company has no MCP server called "${name}". ${known.length === 0 ? "It has none yet." : `Its MCP servers: ${known.join(", ")}.`}`,
    `${known.length === 0 ? "" : "Name one of these. "}The board adds a server: agency servers add.`,
  );

export const noSuchRepository = (name: string, known: readonly string[]): Refusal =>
  refused(
    `The company has no repository called "${name}". ${known.length === 0 ? "It has none yet." : `Its repositories: ${known.join(", ")}.`}`,
    `${known.length === 0 ? "" : "Name one of these. "}The board adds a repository: agency repos add <name> <url>.`,
  );

export const mailIsNotGranted = (): Refusal =>
  refused(
    "Agents can't grant mail routes. Mail follows the reporting line.",
    "Ask the board to open a route between the two agents: agency access grant.",
  );

export const heldForAnotherOutcome = (resource: Resource, scope: { id: string; title: string }): Refusal =>
  refused(
    `Your right on ${resource} belongs to another outcome, and "${scope.title}" (${scope.id}) is not below that outcome.`,
    "Call list_permissions to see the outcome of your right. Then set `outcome` to an outcome below it.",
  );

export const notHeld = (resource: Resource, level: string): Refusal =>
  refused(
    `You don't have ${level} on ${resource}, so you can't grant it.`,
    "list_permissions shows what you hold. request_permission asks your manager for more.",
  );

/** The relation of an agent to an outcome that delivers a file. */
export type Relation = "owner" | "verifier" | "decider" | "ancestor" | "dependent";

/** Why an agent can read one version of a file. */
export const pinnedBy = {
  unreadable: "an outcome that you can't read",
  message: (version: number, who: string, sender: string): string =>
    `${sender} sent version ${version} to ${who}.`,
  deliverable: (how: Relation, version: number, who: string, outcome: string, own: string): string =>
    `Version ${version} was delivered with ${outcome}, ${
      {
        owner: `and ${who} is responsible for that outcome.`,
        verifier: `and ${who} verifies that outcome.`,
        decider: `and ${who} is a manager above its verifier while the verdict is escalated.`,
        ancestor: `which was accepted and is below ${own}. ${who} is responsible for ${own}.`,
        dependent: `which was accepted, and ${own} depends on it. ${who} is responsible for ${own}.`,
      }[how]
    }`,
};

/** The name of a right's resource in a sentence. The id is left out: the answer has it beside the sentence. */
export function resourceWords(resource: Resource, { kind, id, title }: Reference): string {
  if (kind === "file" || kind === "outcome")
    return title === null ? `that ${kind}` : `the ${kind} "${title}"`;
  if (kind === "board" || kind === "agent") return `the mail route to ${title ?? "that agent"}`;
  if (kind === "mcp") return `the MCP server ${id ?? ""}`;
  if (kind === "net") return id === "*" ? "all hosts on the internet" : `the host ${id ?? ""}`;
  return kind === "repo" ? `the repository ${id ?? ""}` : resource;
}

/** Sentences of explain_access. `on` names the resource. */
export const explained = {
  inactive: ({ name, status }: Agent): string => `${name} is ${status}. Only active agents have rights.`,
  byPosition: ({ name }: Agent, on: string, level: GrantableLevel): string =>
    `${name} has ${level} on ${on} because of its position in the organization.`,
  granted: ({ name }: Agent, on: string, level: GrantableLevel): string =>
    `${name} was granted ${level} or more on ${on}, and every grant in the chain is valid.`,
  pinned: ({ name }: Agent, on: string, reasons: readonly string[]): string =>
    `${name} can't read every version of ${on}, only those it was given. ${reasons.join(" ")}`,
  inherited: ({ name }: Agent, author: string, on: string, level: GrantableLevel): string =>
    `${name} has ${level} on ${on} because ${author}, who has left, created it, and ${name} is the nearest manager above ${author}.`,
  answer: ({ name }: Agent, on: string): string =>
    `${name} doesn't hold ${on}, but has an unanswered message that came that way. ${name} can answer it once.`,
  drives: ({ name }: Agent, on: string): string =>
    `${name} is responsible for ${on}, so ${name} can create outcomes below it, submit it and mark it as blocked.`,
  drivesNot: ({ name }: Agent, on: string): string =>
    `${name} is not responsible for ${on}. Only the agent responsible for an outcome can drive it, and this can't be granted.`,
  tooLow: ({ name }: Agent, on: string, level: GrantableLevel): string =>
    `${name} has a right on ${on}, but a lower one than ${level}.`,
  ended: ({ name }: Agent, on: string): string =>
    `${name} was granted a right on ${on}, but a grant in the chain is no longer valid.`,
  never: ({ name }: Agent, on: string): string => `${name} was not granted any right on ${on}.`,
  revoke: ({ name }: Agent, on: string): string => `Revoke the grant of ${on} to ${name}.`,
  managerGrants: ({ name }: Agent): string => `The manager of ${name} can grant the right.`,
  reopenScope: "Reopen the outcome that the right was granted for.",
  reopenReason: ({ name }: Agent, on: string): string => `${name} needs ${on} for it.`,
  boardGrants: ({ name }: Agent): string =>
    `The manager of ${name} does not hold this right. The board can grant it.`,
};
