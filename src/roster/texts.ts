import { invalid, type Refusal, tooLarge } from "../contract/refusal.ts";
import { mostFileBytes } from "../contract/roster.ts";
import { wrongAt } from "../knowledge/front-matter.ts";

/** All texts about a company's files: refusals, which name the file, and notices of an import. */
export interface WithLines {
  /** Makes a refusal that names the file and the line of a key. */
  readonly wrong: (key: string, what: string, hint: string) => Refusal;
}

const wrong = (file: string, what: string, hint: string) => invalid(`${file}: ${what}`, hint);

export const sentTwice = (file: string) => wrong(file, "this file was sent twice.", "Send each file once.");

export const notUtf8 = (file: string) => wrong(file, "this file is not UTF-8 text.", "Save it as UTF-8.");

export const filesTooLarge = () =>
  tooLarge(
    `The files are larger than ${mostFileBytes} bytes together, the maximum.`,
    "Remove the largest knowledge files and add them after the import.",
  );

export const exportTooLarge = (size: number) =>
  tooLarge(
    `The knowledge files and skills have ${size} bytes. An export can hold ${mostFileBytes}.`,
    "Delete the largest files, or save them one by one (read_file).",
  );

export const noPlace = (file: string) =>
  wrong(
    file,
    "a company's folder can't hold a file with this path.",
    "It holds company.json, agents/<name>.md, skills/<name>/SKILL.md and knowledge/<name>.",
  );

export const manifestNotJson = (manifest: string, why: string) => wrong(manifest, why, "Send valid JSON.");

export const wrongManifest = (manifest: string, why: string, keys: readonly string[]) =>
  wrong(manifest, why, `${manifest} takes ${keys.join(", ")}.`);

export const listedTwice = (manifest: string) =>
  wrong(manifest, "a knowledge file or an id is listed twice.", "List each one once.");

export const fileNotSent = (file: string, manifest: string) =>
  wrong(file, `${manifest} lists this file, but it was not sent.`, "Send it too.");

export const notListed = (file: string, manifest: string) =>
  wrong(
    file,
    `${manifest} does not list this file.`,
    "List it under knowledge, with id, description and mediaType.",
  );

export const secretInFile = (file: string, where: readonly string[], marker: string) =>
  wrong(
    file,
    `a value here looks like a secret${where.length === 0 ? "" : ` (${where.join(", ").slice(0, 200)})`}.`,
    `Replace it with ${marker}, and set the real value after the import.`,
  );

export const idTwice = (file: string) =>
  wrong(file, "another file has the same id.", "Give each file its own id.");

export const companyWithoutName = () =>
  invalid("The company has no name.", "Pass a name, or send a company.json that has one.");

export const noFrontMatter = (file: string) =>
  wrongAt(
    file,
    1,
    "the file does not begin with front matter.",
    "Begin with a line ---, then name: and role:, then another line ---.",
  );

export const wrongMandate = (file: string, line: number) =>
  wrongAt(file, line, "the mandate is too long or not valid text.", "Use at most 20,000 characters.");

export const secondRoot = (second: WithLines, root: string) =>
  second.wrong(
    "reportsTo",
    `${root} already reports to the board.`,
    `Only one agent can report to the board. Write reportsTo: ${root}.`,
  );

export const nameTwice = (definition: WithLines, other: string) =>
  definition.wrong("name", `${other} has the same name.`, "Give each agent its own name.");

export const rootNameTaken = (definition: WithLines, root: string) =>
  definition.wrong(
    "name",
    `${root} is the name of the root agent.`,
    "If this file defines the root agent, add reportsTo: board. Otherwise choose another name.",
  );

export const noSuchBoss = (definition: WithLines, boss: string) =>
  definition.wrong(
    "reportsTo",
    `no definition has the name ${boss}.`,
    "Name another definition, or leave reportsTo out: the agent then reports to the root agent.",
  );

export const bossCircle = (definition: WithLines, names: readonly string[]) =>
  definition.wrong(
    "reportsTo",
    `these agents report to each other in a circle: ${names.join(", ")}.`,
    "Let one of them report to the root agent.",
  );

export const ignoredKeys = (file: string, keys: readonly string[]): string =>
  `${file}: ignored ${keys.join(", ")}.`;

export const brainTools = (file: string, tools: readonly string[]): string =>
  `${file}: ignored the ${tools.length === 1 ? "tool" : "tools"} ${tools.join(", ")}. The brain decides about its own tools.`;

export const hiresWithoutApproval = "In this company, agents can hire without your approval.";

export const secretInSettings = (manifest: string): string =>
  `${manifest}: a secret was removed from the settings. Set it before you use them.`;

export const pausedForSecret = (name: string): string =>
  `${name} is paused because a secret was removed from its configuration. Set the secret, then resume the agent.`;

export const unknownServer = (name: string, server: string): string =>
  `The tools of ${name} name the MCP server ${server}, which the company does not have. Add it (agency servers add), then grant it: agency access grant <agent> mcp:${server}.`;

export const leftOutRight = (name: string, resource: string): string => `${name}'s right to ${resource}`;

export const leftOutPending = (name: string): string => `${name}, whose hire is pending approval`;
