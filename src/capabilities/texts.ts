import { conflict, forbidden, invalid, refused, Refusal, type RefusalCode } from "../contract/refusal.ts";
import {
  type GrantableLevel,
  ladders,
  type Level,
  type Resource,
  type ResourceKind,
} from "../contract/resources.ts";

/** Everything this folder says about rights. */
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
    `This needs ${need.levels.join(" or ")} on ${need.name === undefined ? need.on : `"${need.name}" (${need.on})`}. You have ${need.held ?? "no right"}.`,
    need.levels.includes("drive")
      ? "Only the agent responsible for an outcome can work below it. Write to that agent or to your manager: send_message."
      : `Ask your manager for it: request_permission {"resource":"${need.on}","level":"${need.levels[0] ?? "read"}","reason":"…"}. explain_access shows what is missing.`,
  );

export const noSuchLevel = (kind: ResourceKind, level: string): Refusal =>
  invalid(`${kind} has no level "${level}".`, `Use one of: ${ladders[kind].join(", ")}.`);

export const notYourReport = (agent: { readonly name: string }, code: RefusalCode, hint: string): Refusal =>
  new Refusal(code, `${agent.name} is not your direct report.`, hint);

export const receiverInactive = ({ name, status }: Agent): Refusal =>
  refused(`${name} is ${status} and can't hold rights.`, "Choose an active agent.");

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

export const mailIsNotGranted = (): Refusal =>
  refused(
    "Agents can't grant mail routes. Mail follows the reporting line.",
    "Ask the board to open a route between the two agents: agency access grant.",
  );

export const heldForAnotherOutcome = (resource: Resource, scope: { id: string; title: string }): Refusal =>
  refused(
    `You hold ${resource} for another outcome, and "${scope.title}" (${scope.id}) is not below that one.`,
    "In outcome, name one that is below the outcome you hold the right for. list_permissions shows it.",
  );

export const notHeld = (resource: Resource, level: string): Refusal =>
  refused(
    `You don't have ${level} on ${resource}, so you can't grant it.`,
    "list_permissions shows what you hold. request_permission asks your manager for more.",
  );

/** What explain_access says. */
export const explained = {
  inactive: ({ name, status }: Agent): string => `${name} is ${status}. Only active agents have rights.`,
  byPosition: ({ name }: Agent, resource: Resource, level: GrantableLevel): string =>
    `${name} has ${level} on ${resource} because of its position in the organization.`,
  granted: ({ name }: Agent, resource: Resource, level: GrantableLevel): string =>
    `${name} was granted ${level} or more on ${resource}, and every grant in the chain is valid.`,
  sent: ({ name }: Agent, resource: Resource): string =>
    `${name} can read the version of ${resource} that was sent to it.`,
  tooLow: ({ name }: Agent, resource: Resource, level: GrantableLevel): string =>
    `${name} has a right on ${resource}, but a lower one than ${level}.`,
  ended: ({ name }: Agent, resource: Resource): string =>
    `${name} was granted ${resource}, but a grant in the chain is no longer valid.`,
  never: ({ name }: Agent, resource: Resource): string => `${name} was not granted any right on ${resource}.`,
  revoke: (grantId: string): string => `Revoke the grant ${grantId}.`,
  managerGrants: ({ name }: Agent): string => `The manager of ${name} can grant it.`,
  reopenScope: "Reopen the outcome that the right was granted for.",
  reopenReason: ({ name }: Agent, resource: Resource): string => `${name} needs ${resource} for it.`,
  boardGrants: ({ name }: Agent): string =>
    `The manager of ${name} does not hold it. The board can grant it.`,
};
