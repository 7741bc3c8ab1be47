import { plural } from "../contract/phrases.ts";
import { invalid, Refusal, refused } from "../contract/refusal.ts";
import { mostSkillBytes, mostSkillFiles } from "../contract/skills.ts";
import { wrongAt } from "../knowledge/front-matter.ts";

/** The texts about companies and skills. A refusal names a skill's file by its path in a company's folder. */
export const standingPurpose =
  "The standing purpose of this company. Everything the organization does serves it. It never ends.";

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
    "Make them the same.",
  );

export const runsCommands = (commands: readonly string[]) =>
  refused(
    `This would run commands on this machine: ${commands.slice(0, 10).join("; ")}.`,
    "Read the files first. To accept the commands, set allowCommands (on the command line: --allow-commands).",
  );

export const skillsTooLarge = (files: number, bytes: number) =>
  new Refusal(
    "too_large",
    `The company's skills would have ${plural(files, "file")} and ${plural(bytes, "byte")}. The limits are ${mostSkillFiles} files and ${mostSkillBytes} bytes.`,
    "Remove files you don't need, or keep them as knowledge files and link to them (kb://<id>).",
  );
