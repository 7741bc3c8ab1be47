import { isUtf8 } from "node:buffer";
import { SkillName } from "../contract/skills.ts";
import { readFrontMatter } from "../knowledge/front-matter.ts";
import * as texts from "./texts.ts";

/** A skill as files: `<name>/SKILL.md`, with the front matter of Claude Code, and the files that it refers to. */
export interface Skill {
  readonly name: string;
  readonly files: readonly (SkillFile & { readonly description: string; readonly mediaType: string })[];
  /** Everything in the skill that would run a command or widen what a brain may do, as short descriptions. */
  readonly commands: readonly string[];
}

export interface SkillFile {
  /** `<name>/<path>` */
  readonly path: string;
  readonly content: Uint8Array;
}

const skillPath = /^[^/]+(?:\/[^./\\:\p{Cc}][^/\\:\p{Cc}]{0,99}){1,5}$/u;

/** The most bytes of a name that every file system accepts. */
const mostNameBytes = 200;

/** Reads and checks the skills in a set of files. */
export function readSkills(files: readonly SkillFile[]): Skill[] {
  const names = new Set<string>();
  for (const { path } of files) demandPlace(path, names);
  const skills = Map.groupBy(files, ({ path }) => skillOf(path));
  return [...skills].map(([name, own]) => readSkill(name, own));
}

export const skillOf = (path: string): string => path.slice(0, path.indexOf("/"));

function demandPlace(path: string, taken: Set<string>): void {
  const name = SkillName.safeParse(skillOf(path));
  if (!name.success) throw texts.wrongSkillName(path, name.error.issues[0]?.message ?? "another name");
  if (!skillPath.test(path) || path.split("/").some((part) => Buffer.byteLength(part) > mostNameBytes))
    throw texts.wrongSkillPath(path);
  // Some file systems treat names that differ only in case or Unicode form as the same file.
  const key = path.normalize("NFC").toLowerCase();
  const folders = [...key.matchAll(/\//g)].map(({ index }) => `${key.slice(0, index)}/`);
  if (taken.has(key) || taken.has(`${key}/`) || folders.some((folder) => taken.has(folder.slice(0, -1))))
    throw texts.skillPathTaken(path);
  for (const name of [key, ...folders]) taken.add(name);
}

function readSkill(name: string, files: readonly SkillFile[]): Skill {
  const main = files.find(({ path }) => path === `${name}/SKILL.md`);
  if (main === undefined) throw texts.noSkillFile(name);
  if (!isUtf8(main.content)) throw texts.skillNotUtf8(main.path);
  const file = texts.shownSkillPath(main.path);
  const front = readFrontMatter(file, textOf(main));
  const said = front?.values["name"] ?? name;
  if (said !== name) throw texts.skillNameDiffers(main.path, front?.lineOf("name") ?? 2, name);
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

/**
 * Keys that only describe the skill. A person must first read every other key: hooks, allowed-tools, and keys still to come.
 */
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

/** Commands that brains run when they open a Markdown file of a skill, before the model sees it: !`command` and ```! blocks. */
function commandsIn(file: SkillFile): string[] {
  if (!file.path.toLowerCase().endsWith(".md")) return [];
  return [...textOf(file).matchAll(/!`+([^`\n]+)|^[ \t]*(?:```+|~~~+)!(?:.*\n)?(.*)/gm)]
    .slice(0, 5)
    .map(([, inline, block]) => `${texts.shownSkillPath(file.path)} runs ${JSON.stringify(inline ?? block)}`);
}

const textOf = ({ content }: SkillFile): string => Buffer.from(content).toString("utf8");
