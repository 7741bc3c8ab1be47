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
import { type CompanyFile, mostFileBytes } from "../contract/roster.ts";
import { mostSkillBytes } from "../contract/skills.ts";
import * as texts from "./texts.ts";

/**
 * Reads and writes a company as a folder. Such folders come from other people, so links, pipes and devices in them are refused.
 * Files that don't belong to a company (a README, .git) are ignored.
 */
export function readCompanyFolder(folder: string): CompanyFile[] {
  const room = wholeRoom(mostFileBytes);
  const names = namesIn(folder);
  if (names === undefined)
    throw texts.noFolder(folder, "a folder that `agency export` wrote, or one with agents/*.md in it");
  return [
    ...(names.includes("company.json") ? [read(folder, "company.json", room)] : []),
    ...definitionsIn(join(folder, "agents"), room),
    ...skillsIn(join(folder, "skills"), room).map((file) => ({ ...file, path: `skills/${file.path}` })),
    ...(namesIn(join(folder, "knowledge")) ?? []).map((name) => read(folder, `knowledge/${name}`, room)),
  ];
}

/** The total number of bytes that may be read, and the number left. */
interface Room {
  readonly most: number;
  left: number;
}

const wholeRoom = (most: number): Room => ({ most, left: most });

/** The files of every skill in a folder of skills, as `<skill>/<path>`. Loose files beside the skills are ignored. */
export function skillsIn(folder: string, room = wholeRoom(mostFileBytes)): CompanyFile[] {
  return (namesIn(folder) ?? [])
    .filter((name) => !lstatSync(join(folder, name)).isFile())
    .flatMap((name) => filesBelow(folder, name, room));
}

/** Every file of one skill, by its path inside the skill. */
export function readSkillFolder(folder: string): CompanyFile[] {
  if (namesIn(folder) === undefined) throw texts.noFolder(folder, "the folder that holds SKILL.md");
  return filesBelow(folder, ".", wholeRoom(mostSkillBytes));
}

function filesBelow(folder: string, path: string, room: Room): CompanyFile[] {
  const here = join(folder, path);
  if (path.split("/").length > deepest) throw texts.folderTooDeep(here, deepest - 1);
  return (namesIn(here) ?? [])
    .map((name) => (path === "." ? name : `${path}/${name}`))
    .flatMap((below) =>
      lstatSync(join(folder, below)).isDirectory()
        ? filesBelow(folder, below, room)
        : [read(folder, below, room)],
    );
}

/** If the folder was named by mistake, for example a whole disk, the walk stops at this depth. */
const deepest = 6;

/** The definitions of agents in a folder. Empty if the folder does not exist. */
export function definitionsIn(folder: string, room = wholeRoom(mostFileBytes)): CompanyFile[] {
  return (
    (namesIn(folder) ?? [])
      // A README explains the folder to people and defines no agent.
      .filter((name) => name.endsWith(".md") && name.toLowerCase() !== "readme.md")
      .map((name) => ({ ...read(folder, name, room), path: `agents/${name}` }))
  );
}

const plainName = "[^./\\\\\\p{Cc}][^/\\\\\\p{Cc}]*";
const isInFolder = new RegExp(
  `^(?:company\\.json|(?:agents|knowledge|skills(?:/${plainName}){1,5})/${plainName})$`,
  "u",
);

/** Writes only into an empty folder: nothing is overwritten, and no old file stays among the new ones. */
export function writeCompanyFolder(folder: string, files: readonly CompanyFile[]): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) throw texts.folderNotEmpty(folder);
  for (const { path, content, encoding } of files) {
    // A wrong or hostile daemon must not choose where files are written.
    if (!isInFolder.test(path)) throw texts.fileOutsideFolder(path);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), Buffer.from(content, encoding ?? "utf8"), { flag: "wx" });
  }
}

/** The names in a folder, sorted, without hidden ones. Undefined if the folder does not exist. */
function namesIn(folder: string): string[] | undefined {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isDirectory()) throw texts.notPlain(folder, "folder");
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .toSorted();
}

function read(folder: string, path: string, room: Room): CompanyFile {
  const full = join(folder, path);
  const bytes = readPlain(full, (size) => {
    room.left -= size;
    if (room.left < 0) throw texts.folderTooLarge(room.most, full);
  });
  return isUtf8(bytes)
    ? { path, content: bytes.toString("utf8") }
    : { path, content: bytes.toString("base64"), encoding: "base64" };
}

/** The bytes of a plain file. `check` may refuse its size before it is read. */
export function readPlain(full: string, check: (size: number) => void): Buffer {
  let descriptor: number;
  try {
    // O_NOFOLLOW refuses a link. O_NONBLOCK keeps a pipe from blocking the read.
    descriptor = openSync(full, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ELOOP" || error.code === "ENXIO"))
      throw texts.notPlain(full, "file");
    throw error;
  }
  try {
    const facts = fstatSync(descriptor);
    if (!facts.isFile()) throw texts.notPlain(full, "file");
    check(facts.size);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
