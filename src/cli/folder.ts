import { isUtf8 } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Refusal } from "../contract/refusal.ts";
import { type CompanyFile, mostFileBytes } from "../contract/roster.ts";
import { mostSkillBytes } from "../contract/skills.ts";

/**
 * A company's folder on this machine. Such folders come from others, so nothing in them is followed: a link, a pipe or a
 * device is refused, and what has no place in such a folder (a README, .git) is not looked at.
 */
export function readCompanyFolder(folder: string): CompanyFile[] {
  const left = { bytes: mostFileBytes };
  const names = namesIn(folder);
  if (names === undefined)
    throw new Refusal("invalid", `There is no folder ${folder}.`, "Name a folder that was exported.");
  return [
    ...(names.includes("company.json") ? [read(folder, "company.json", left)] : []),
    ...definitionsIn(join(folder, "agents"), left),
    ...skillsIn(join(folder, "skills"), left).map((file) => ({ ...file, path: `skills/${file.path}` })),
    ...(namesIn(join(folder, "knowledge")) ?? []).map((name) => read(folder, `knowledge/${name}`, left)),
  ];
}

/** The folders of skills in a folder, as `<name>/<path>`; files beside them belong to none. */
export function skillsIn(folder: string, left = { bytes: mostFileBytes }): CompanyFile[] {
  return (namesIn(folder) ?? [])
    .filter((name) => !lstatSync(join(folder, name)).isFile())
    .flatMap((name) => filesBelow(folder, name, left));
}

/** Every file of one skill, by its path in it. */
export function readSkillFolder(folder: string): CompanyFile[] {
  if (namesIn(folder) === undefined)
    throw new Refusal("invalid", `There is no folder ${folder}.`, "Name the folder that SKILL.md is in.");
  return filesBelow(folder, ".", { bytes: mostSkillBytes });
}

function filesBelow(folder: string, path: string, left: { bytes: number }): CompanyFile[] {
  const here = join(folder, path);
  if (path.split("/").length > deepest)
    throw new Refusal("invalid", `${here} is too deep.`, "A skill has at most five folders in each other.");
  return (namesIn(here) ?? [])
    .map((name) => (path === "." ? name : `${path}/${name}`))
    .flatMap((below) =>
      lstatSync(join(folder, below)).isDirectory()
        ? filesBelow(folder, below, left)
        : [read(folder, below, left)],
    );
}

/** So that a folder that was named by mistake, a whole disk say, is not walked through. */
const deepest = 6;

/** The definitions in a folder of them; none where there is no such folder. */
export function definitionsIn(folder: string, left = { bytes: mostFileBytes }): CompanyFile[] {
  return (
    (namesIn(folder) ?? [])
      // What tells people about the folder describes nobody.
      .filter((name) => name.endsWith(".md") && name.toLowerCase() !== "readme.md")
      .map((name) => ({ ...read(folder, name, left), path: `agents/${name}` }))
  );
}

const plainName = "[^./\\\\\\p{Cc}][^/\\\\\\p{Cc}]*";
const isInFolder = new RegExp(
  `^(?:company\\.json|(?:agents|knowledge|skills(?:/${plainName}){1,5})/${plainName})$`,
  "u",
);

/** Into a folder that holds nothing yet, so that nothing is overwritten and nothing old is left among the new. */
export function writeCompanyFolder(folder: string, files: readonly CompanyFile[]): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw new Refusal("conflict", `${folder} is not empty.`, "Name a new or an empty folder.");
  for (const { path, content, encoding } of files) {
    // The daemon says so, and is not believed.
    if (!isInFolder.test(path))
      throw new Refusal(
        "invalid",
        `The daemon named a file outside the folder: ${path}.`,
        "Is it the right daemon?",
      );
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), Buffer.from(content, encoding ?? "utf8"), { flag: "wx" });
  }
}

/** Names that are not hidden, sorted; undefined where there is no folder. */
function namesIn(folder: string): string[] | undefined {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isDirectory()) throw notPlain(folder, "a folder");
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .toSorted();
}

function read(folder: string, path: string, left: { bytes: number }): CompanyFile {
  const full = join(folder, path);
  let descriptor: number;
  try {
    // Not followed if it is a link, not waited for if it is a pipe.
    descriptor = openSync(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ELOOP" || error.code === "ENXIO"))
      throw notPlain(full, "a plain file");
    throw error;
  }
  try {
    const facts = fstatSync(descriptor);
    if (!facts.isFile()) throw notPlain(full, "a plain file");
    left.bytes -= facts.size;
    if (left.bytes < 0)
      throw new Refusal(
        "too_large",
        `The folder holds more than ${mostFileBytes} bytes (at ${full}).`,
        "Leave the largest knowledge files out and add them afterwards.",
      );
    const bytes = readFileSync(descriptor);
    return isUtf8(bytes)
      ? { path, content: bytes.toString("utf8") }
      : { path, content: bytes.toString("base64"), encoding: "base64" };
  } finally {
    closeSync(descriptor);
  }
}

const notPlain = (path: string, what: string): Refusal =>
  new Refusal(
    "invalid",
    `${path} is not ${what}.`,
    "Links, pipes and devices are not followed; put the file itself there.",
  );
