import { conflict, refused, type Refusal } from "../contract/refusal.ts";
import { nameKey } from "../contract/names.ts";
import { notYourReport } from "../capabilities/texts.ts";

/** All texts about agents, their names and their keys. */
interface Named {
  readonly name: string;
  readonly status: string;
}

export const reservedName = (name: string, reserved: readonly string[]): Refusal =>
  refused(
    `"${name}" is a reserved name, or looks like one.`,
    `Choose another name. Reserved are: ${reserved.join(", ")}.`,
  );

export const mixedAlphabets = (name: string, alphabets: readonly string[]): Refusal =>
  refused(
    `"${name}" mixes ${alphabets.join(" and ")} letters, so it could pass for another name.`,
    "Write the name in one alphabet.",
  );

export const nameTaken = (name: string, other: string): Refusal =>
  conflict(
    nameKey(other) === nameKey(name)
      ? `The company already has an agent called "${other}".`
      : `"${name}" looks like the name of another agent, "${other}".`,
    "Choose another name.",
  );

export const nameHeld = (name: string): Refusal =>
  conflict(
    `The name "${name}" is held for an agent that is waiting for approval.`,
    "Choose another name, or wait for the decision.",
  );

export const hasLeft = ({ name }: Pick<Named, "name">): Refusal =>
  refused(`${name} has left the company and can't come back.`, "Hire a new agent: hire_agent.");

export const notADirectReport = ({ name }: Pick<Named, "name">): Refusal =>
  notYourReport(
    { name },
    "forbidden",
    `Only ${name}'s own manager and the board can do this. If ${name} works under a report of yours, ask that report: send_message.`,
  );

export const notActive = ({ name, status }: Named): Refusal =>
  refused(
    `${name} is ${status}. Only an active agent can be chosen.`,
    "Choose an active agent: list_roster.",
  );

export const noKeyFor = ({ name, status }: Named): Refusal =>
  refused(
    `${name} is ${status} and can't have an API key.`,
    "Create the key for an active agent. `agency agents list` shows them.",
  );

export const keyAlreadyRevoked = (label: string): Refusal =>
  conflict(`The key "${label}" is already revoked.`, "You don't have to do anything.");

/** The message that comes with work if the manager wrote none. */
export const workForYou = "You are now responsible for this outcome.";

/** Delegated work, with the manager's message. */
export const order = (
  message: string,
  outcome: { readonly id: string; readonly title: string; readonly acceptance: string | null },
): string =>
  [
    message,
    "",
    `Outcome: "${outcome.title}" kb://${outcome.id}`,
    ...(outcome.acceptance === null ? [] : ["", "Acceptance criteria:", outcome.acceptance]),
  ].join("\n");
