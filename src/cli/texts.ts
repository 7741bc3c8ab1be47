import { commandsThatList } from "../contract/listing.ts";
import { conflict, invalid, Refusal, refused } from "../contract/refusal.ts";

/**
 * The texts that several commands share, and every refusal of the command line itself. The description of a command stands
 * in the command's own file, beside its flags.
 */
export const companyFlag = [
  "--company <id or name>",
  "Company to use. Needed only when there are several.",
] as const;
export const jsonFlag = ["--json", "Print the result as JSON."] as const;

/** Shown below the flags of a command. */
export const example = (...commands: readonly string[]): string =>
  `\n${commands.length === 1 ? "Example" : "Examples"}:\n${commands.map((command) => `  ${command}`).join("\n")}`;

export const nounHelp: Readonly<Record<string, string>> = {
  companies: "Create companies and change their settings.",
  agents: "Manage agents and their API keys.",
  kb: "Read, write and search the knowledge base.",
  outcomes: "Create, delegate and review outcomes (goals and tasks).",
  mail: "Track, cancel and acknowledge messages.",
  skills: "Manage the skills agents can read (folders with a SKILL.md).",
  secrets: "Set, list and remove the secrets that configurations refer to by name.",
  sessions: "See what agents did and printed in each session.",
  access: "Grant, revoke and explain access rights.",
  approvals: "List and manage requests that need a decision.",
  reorg: "Change who reports to whom: plan, apply, undo.",
  audit: "Read and verify the record of everything that happened.",
};

export const secretIsSet = ({ name, kept }: { readonly name: string; readonly kept: string }): string =>
  kept === "encrypted"
    ? `${name} is set, and stored encrypted.`
    : kept === "given"
      ? `${name} is set. The value that was given to the daemon at start is used instead.`
      : `${name} is set until the daemon stops, because there is no secrets key. To keep it: openssl rand -hex 32 > ~/.agency/secrets-key; chmod 600 ~/.agency/secrets-key; then restart the daemon.`;

/** A heading and its lines, or nothing if there are none. */
export const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [heading, ...lines.map((line) => `  ${line}`)];

export const howToDecide = (id: string): string =>
  `Approve it: agency approve ${id}\nReject it:  agency reject ${id}`;

export const notAPort = (value: string) =>
  invalid(`AGENCY_PORT is "${value}", which is not a port.`, "Use a number from 0 to 65535.");

export const badLimits = (why: string) =>
  invalid(
    `AGENCY_LIMITS is not valid. ${why}`,
    `Use JSON, such as {"callsAtOnce":64}. The guide limits.md lists all limits.`,
  );

export const notANumber = (flag: string) =>
  invalid(`--${flag} is not a whole number.`, `Use a number, such as --${flag} 42.`);

export const notAnId = (noun: string, given: string) =>
  invalid(
    `\`${given}\` is not ${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}.`,
    commandsThatList(noun).length === 0
      ? "Use an id."
      : `Run ${commandsThatList(noun).join(" or ")} to see them.`,
  );

export const noSuchAgent = (name: string) =>
  new Refusal("not_found", `There is no agent called "${name}".`, "Run `agency org` to see the agents.");

export const severalAgents = (name: string, ids: readonly string[]) =>
  invalid(`Several agents are called "${name}".`, `Use one of their ids: ${ids.join(", ")}.`);

export const noCompanyYet = () =>
  invalid("There is no company yet.", "Create one: agency companies create <name>");

export function whichCompany(
  wanted: string | undefined,
  companies: readonly { readonly id: string; readonly name: string }[],
): Refusal {
  const shown = companies.slice(0, 10).map(({ id, name }) => `${name} (${id})`);
  const list = `${shown.join(", ")}${companies.length > shown.length ? ", …" : ""}`;
  if (wanted === undefined)
    return invalid(
      "Which company? There are several.",
      `Add --company <id or name>. Companies here: ${list}.`,
    );
  return companies.some(({ name }) => name.toLowerCase() === wanted.toLowerCase())
    ? invalid(`Several companies are called "${wanted}".`, `Use an id instead: ${list}.`)
    : invalid(`There is no company called "${wanted}".`, `Companies here: ${list}.`);
}

export const rootIsPaused = (id: string) =>
  refused("The root agent is paused, so it can't take a goal.", `Resume it: agency agents resume ${id}`);

export const hireNeeds = () =>
  invalid(
    "To hire an agent, give its name and its role.",
    "For example: agency hire Vera --role Writer. On a terminal, `agency hire` asks for them.",
  );

export const notJson = (argument: string) =>
  invalid(
    `The argument ${argument} is not JSON.`,
    `Write it in single quotes, such as '{"kind":"fire","agent":"ada"}'. GET /api/openapi.json describes its fields.`,
  );

export const noFolder = (folder: string, which: string) =>
  invalid(`There is no folder ${folder}.`, `Name ${which}.`);

export const folderNotEmpty = (folder: string) =>
  conflict(`${folder} is not empty.`, "Name a new or an empty folder.");

export const folderTooDeep = (folder: string, most: number) =>
  invalid(`${folder} is nested too deeply.`, `A skill can have ${most} levels of folders.`);

export const folderTooLarge = (most: number, file: string) =>
  new Refusal(
    "too_large",
    `The folder holds more than ${most / 1024 / 1024} MB, the maximum (reached at ${file}).`,
    "Remove the largest files and add them afterwards.",
  );

export const fileOutsideFolder = (path: string) =>
  invalid(
    `The daemon returned a file outside the folder: ${path}. Nothing more was written.`,
    "Check that AGENCY_URL points to the right daemon.",
  );

export const notPlain = (path: string, what: "file" | "folder") =>
  invalid(
    `${path} is not a plain ${what}.`,
    `Links, pipes and devices are not followed. Put the ${what} itself there.`,
  );
