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
import { join } from "node:path";
import { Refusal } from "../contract/refusal.ts";
import { type CompanyFile, mostFileBytes } from "../contract/roster.ts";

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
    ...(namesIn(join(folder, "knowledge")) ?? []).map((name) => read(folder, `knowledge/${name}`, left)),
  ];
}

/** The definitions in a folder of them; none where there is no such folder. */
export function definitionsIn(folder: string, left = { bytes: mostFileBytes }): CompanyFile[] {
  return (namesIn(folder) ?? [])
    .filter((name) => name.endsWith(".md"))
    .map((name) => ({ ...read(folder, name, left), path: `agents/${name}` }));
}

/** Into a folder that holds nothing yet, so that nothing is overwritten and nothing old is left among the new. */
export function writeCompanyFolder(folder: string, files: readonly CompanyFile[]): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw new Refusal("conflict", `${folder} is not empty.`, "Name a new or an empty folder.");
  for (const name of ["agents", "knowledge"]) mkdirSync(join(folder, name));
  for (const { path, content, encoding } of files) {
    // The daemon says so, and is not believed.
    if (!/^(?:company\.json|(?:agents|knowledge)\/[^./\\\p{Cc}][^/\\\p{Cc}]*)$/u.test(path))
      throw new Refusal(
        "invalid",
        `The daemon named a file outside the folder: ${path}.`,
        "Is it the right daemon?",
      );
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
