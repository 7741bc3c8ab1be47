import { plural } from "../contract/phrases.ts";
import { conflict, damaged, invalid, Refusal, refused, tooLarge } from "../contract/refusal.ts";
import { mostSkillBytes, mostSkillFiles } from "../contract/skills.ts";
import { wrongAt } from "../knowledge/front-matter.ts";

/** The texts about companies and skills. A refusal names a skill's file by its path in a company's folder. */
export const standingPurpose =
  "The standing purpose of this company. Everything the organization does serves it. It never ends.";

export const alreadyFrozen = ({ name }: { readonly name: string }) =>
  conflict(`${name} is already frozen.`, "Thaw it when its agents should work again: agency thaw.");

export const notFrozen = ({ name }: { readonly name: string }) =>
  conflict(`${name} is not frozen.`, "There is nothing to thaw.");

export const notArchived = ({ name }: { readonly name: string }) =>
  conflict(`${name} is not archived.`, "There is nothing to take out of the archive.");

export const monthNotOver = (month: string) =>
  refused(
    `${month} is not over (UTC), so its events can't be exported yet.`,
    "Export the month when it is over.",
  );

export const nothingInMonth = (month: string) =>
  new Refusal(
    "not_found",
    `The record has no events in ${month}.`,
    "Choose another month: agency audit events.",
  );

export const monthRemoved = (month: string, file: string, isPartly: boolean) =>
  refused(
    isPartly
      ? `A part of ${month} was exported to ${file} and removed. The rest can't be exported alone.`
      : `The events of ${month} were exported to ${file} and removed.`,
    isPartly
      ? `Remove the rest with the same file: agency audit export --month ${month} --to ${file} --remove.`
      : `Look for the file ${file}. Check it: agency audit verify ${file}.`,
  );

export const earlierMonth = (month: string) =>
  refused(
    `Months are removed in order: ${month} comes first.`,
    `Export and remove ${month}, then repeat this.`,
  );

export const notInMonth = (month: string, until: number) =>
  invalid(`Event ${until} is not in ${month}.`, "Pass the number of an event of this month.");

export const tooManyEvents = (most: number) =>
  invalid(
    `One call removes at most ${most} events.`,
    "Pass the number of an earlier event, then call again.",
  );

export const notExported = (month: string) =>
  refused(
    `The file does not have these events of ${month}: it was changed, or it is an export of another company. Nothing was removed.`,
    "Export the month again, to another file.",
  );

export const changedMonth = (month: string) =>
  damaged(
    `The events of ${month} do not verify. Nothing was removed.`,
    "See what was changed: agency audit verify.",
  );

export const shownSkillPath = (path: string): string => `skills/${path}`;

const wrong = (path: string, what: string, hint: string) => invalid(`${shownSkillPath(path)}: ${what}`, hint);

export const wrongSkillName = (path: string, expected: string) =>
  wrong(path, "the skill's name is not valid.", `Use ${expected}.`);

export const wrongSkillPath = (path: string) =>
  wrong(
    path,
    "a skill can't hold a file with this path.",
    "Use plain names that don't start with a dot, at most five folders deep.",
  );

export const skillPathTaken = (path: string) =>
  wrong(
    path,
    "another file or folder has the same name. Upper and lower case count as equal.",
    "Give each its own name.",
  );

export const noSkillFile = (name: string) =>
  wrong(`${name}/SKILL.md`, "this file is missing.", "Add it. SKILL.md says what the skill is for.");

export const skillNotUtf8 = (path: string) =>
  wrong(path, "this file is not UTF-8 text.", "Save it as UTF-8.");

export const skillNameDiffers = (path: string, line: number, folder: string) =>
  wrongAt(
    shownSkillPath(path),
    line,
    `the name here differs from the folder's name, ${folder}.`,
    "Give both the same name.",
  );

export const runsCommands = (commands: readonly string[]) =>
  refused(
    `This would run commands on this machine: ${commands.slice(0, 10).join("; ")}.`,
    "Read the files first. To accept the commands, set allowCommands (on the command line: --allow-commands).",
  );

export const skillsTooLarge = (files: number, bytes: number) =>
  tooLarge(
    `The company's skills would have ${plural(files, "file")} and ${plural(bytes, "byte")}. The limits are ${mostSkillFiles} files and ${mostSkillBytes} bytes.`,
    "Remove files you don't need, or keep them as knowledge files and link to them (kb://<id>).",
  );

export const valueInServer = (server: string, key: string) =>
  refused(
    `The MCP server ${server} has the value of ${key} in its configuration.`,
    `Set it as a secret (agency secrets set ${key}) and refer to it: {"${key}": {"secret": "${key}"}}.`,
  );

export const secretInServer = (server: string, isCommand: boolean) =>
  refused(
    `The ${isCommand ? "command" : "URL"} of the MCP server ${server} seems to contain a secret. Other users of the machine could see the secret, and records would show it.`,
    isCommand
      ? 'Give it as a variable: "env": {"API_KEY": {"secret": "<name>"}}. Set its value: agency secrets set <name>'
      : 'Give it as a header: "headers": {"Authorization": {"secret": "<name>"}}. Set its value: agency secrets set <name>',
  );

export const addressNeverReached = (url: string) =>
  refused(
    `Agency never connects to ${new URL(url).hostname}: the address is link-local or reserved.`,
    "Use the server's own address or name.",
  );

/** The reason why a server can't be used, for people who can set its secrets. */
export const serverLacksSecrets = (names: readonly string[]): string =>
  names.map((name) => `The secret ${name} has no value. Set it: agency secrets set ${name}`).join(" ");
