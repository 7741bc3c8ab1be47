import { isUtf8 } from "node:buffer";
import { Refusal } from "../contract/refusal.ts";
import { SkillName } from "../contract/skills.ts";
import { readFrontMatter, wrongAt } from "../knowledge/front-matter.ts";

/** A skill as files: `<name>/SKILL.md`, with front matter as Claude Code has it, and whatever that refers to. */
export interface Skill {
  readonly name: string;
  readonly files: readonly (SkillFile & { readonly description: string; readonly mediaType: string })[];
  /** What in it would run a command or let a brain do more than its rights say, in words. */
  readonly commands: readonly string[];
}

export interface SkillFile {
  /** `<name>/<path>` */
  readonly path: string;
  readonly content: Uint8Array;
}

const skillPath = /^[^/]+(?:\/[^./\\:\p{Cc}][^/\\:\p{Cc}]{0,99}){1,5}$/u;

/** What every file system takes. */
const mostNameBytes = 200;

/** Each is checked whole; a refusal names the file as it stands in a company's folder. */
export function readSkills(files: readonly SkillFile[]): Skill[] {
  const names = new Set<string>();
  for (const { path } of files) demandPlace(path, names);
  const skills = Map.groupBy(files, ({ path }) => skillOf(path));
  return [...skills].map(([name, own]) => readSkill(name, own));
}

export const skillOf = (path: string): string => path.slice(0, path.indexOf("/"));

function demandPlace(path: string, taken: Set<string>): void {
  const name = SkillName.safeParse(skillOf(path));
  if (!name.success)
    throw wrong(path, "this is no name for a skill.", `Use ${name.error.issues[0]?.message ?? "another"}.`);
  if (!skillPath.test(path) || path.split("/").some((part) => Buffer.byteLength(part) > mostNameBytes))
    throw wrong(
      path,
      "it has no place in a skill.",
      "Use plain names, not hidden ones, in at most five folders.",
    );
  // On some machines names that differ only in this way are one file.
  const key = path.normalize("NFC").toLowerCase();
  const folders = [...key.matchAll(/\//g)].map(({ index }) => `${key.slice(0, index)}/`);
  if (taken.has(key) || taken.has(`${key}/`) || folders.some((folder) => taken.has(folder.slice(0, -1))))
    throw wrong(path, "there is another file or folder of this name.", "Give each a name of its own.");
  for (const name of [key, ...folders]) taken.add(name);
}

function readSkill(name: string, files: readonly SkillFile[]): Skill {
  const main = files.find(({ path }) => path === `${name}/SKILL.md`);
  if (main === undefined)
    throw wrong(`${name}/SKILL.md`, "it is not there.", "Every skill has one, which says what it is for.");
  if (!isUtf8(main.content)) throw wrong(main.path, "it is no UTF-8 text.", "Save it as UTF-8.");
  const file = shown(main.path);
  const front = readFrontMatter(file, textOf(main));
  const said = front?.values["name"] ?? name;
  if (said !== name)
    throw wrongAt(
      file,
      front?.lineOf("name") ?? 2,
      `its name is not that of its folder, ${name}.`,
      "Make them the same.",
    );
  const description = front?.values["description"];
  return {
    name,
    files: files
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
      .map((one) => ({
        ...one,
        description:
          one === main && typeof description === "string" && description.trim() !== ""
            ? description.trim().slice(0, 1000).toWellFormed()
            : `Skill ${one.path}`,
        mediaType: one.path.endsWith(".md")
          ? "text/markdown"
          : isUtf8(one.content)
            ? "text/plain"
            : "application/octet-stream",
      })),
    commands: [
      ...Object.keys(front?.values ?? {})
        .filter((key) => !harmless.has(key))
        .map((key) => `${file} sets ${key}`),
      ...files.flatMap(commandsIn),
    ],
  };
}

/** Whatever else a brain makes of a key (hooks, allowed-tools, those to come), a person reads it first. */
const harmless = new Set([
  "name",
  "description",
  "license",
  "version",
  "author",
  "metadata",
  "compatibility",
  "tags",
  "category",
  "argument-hint",
  "arguments",
  "when_to_use",
  "user-invocable",
  "disable-model-invocation",
]);

/** Brains run these when they open a Markdown file of a skill, before the model sees it: !`command`, and ```! blocks. */
function commandsIn(file: SkillFile): string[] {
  if (!file.path.toLowerCase().endsWith(".md")) return [];
  return [...textOf(file).matchAll(/!`+([^`\n]+)|^[ \t]*(?:```+|~~~+)!(?:.*\n)?(.*)/gm)]
    .slice(0, 5)
    .map(([, inline, block]) => `${shown(file.path)} runs ${JSON.stringify(inline ?? block)}`);
}

const textOf = ({ content }: SkillFile): string => Buffer.from(content).toString("utf8");
const shown = (path: string): string => `skills/${path}`;
const wrong = (path: string, what: string, hint: string): Refusal =>
  new Refusal("invalid", `${shown(path)}: ${what}`, hint);
