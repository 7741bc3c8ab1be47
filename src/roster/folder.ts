import { isUtf8 } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { check, sentencesOf } from "../contract/problems.ts";
import { type CompanyFile, mostFileBytes } from "../contract/roster.ts";
import { putMcpServer, Settings } from "../contract/companies.ts";
import { createFile } from "../contract/knowledge.ts";
import { Refusal } from "../contract/refusal.ts";
import { Id, Name } from "../contract/words.ts";
import { marker, redact } from "../capabilities/redaction.ts";
import { decodeFile } from "../knowledge/content.ts";
import { mostDefinitionBytes } from "./definition.ts";

/**
 * A company as a folder: company.json (name, settings, MCP servers, the list of knowledge files), agents/*.md,
 * skills/<name>/SKILL.md with what belongs to it, and knowledge/*. Ids mean nothing elsewhere, so files refer to each other by numbers in the shape of ids: the same company
 * makes the same files wherever it is, and links stay links.
 */
export const Manifest = z.strictObject({
  format: z.literal("agency-company/1"),
  name: Name,
  settings: Settings.partial(),
  mcpServers: z.array(
    z.strictObject({ name: putMcpServer.input.shape.name, config: putMcpServer.input.shape.config }),
  ),
  knowledge: z.array(
    z.strictObject({
      file: z.string(),
      id: Id,
      description: createFile.input.shape.description,
      mediaType: z.string().pipe(createFile.input.shape.mediaType.unwrap()),
    }),
  ),
  /** Only those that another file refers to. */
  skills: z.array(z.strictObject({ file: z.string(), id: Id })).optional(),
});
export type Manifest = z.infer<typeof Manifest>;

export const manifestFile = "company.json";
const mostManifestBytes = 4 * 1024 * 1024;

/** Numbers in the shape of ids, for what is in the files. */
export const numberedFile = (number: number): string => numbered("8", number);
export const numberedAgent = (number: number): string => numbered("9", number);
const numbered = (kind: string, number: number): string =>
  `00000000-0000-4000-${kind}000-${String(number).padStart(12, "0")}`;

/** Every id that is in the map, wherever it stands in a text. */
export function renumber(words: string, ids: ReadonlyMap<string, string>): string {
  return words.replace(idPattern, (id) => ids.get(id.toLowerCase()) ?? id);
}

export function idsIn(words: string): string[] {
  return [...words.matchAll(idPattern)].map(([id]) => id.toLowerCase());
}

const idPattern = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;

export interface Folder {
  readonly manifest: Manifest | undefined;
  /** By path, as text. */
  readonly definitions: ReadonlyMap<string, string>;
  readonly knowledge: ReadonlyMap<string, Uint8Array>;
  /** By path in the folder of skills. */
  readonly skills: ReadonlyMap<string, Uint8Array>;
}

/** What was sent, sorted by what it is; whatever does not belong into such a folder is refused. */
export function readFolder(files: readonly CompanyFile[]): Folder {
  const definitions = new Map<string, string>();
  const knowledge = new Map<string, Uint8Array>();
  const skills = new Map<string, Uint8Array>();
  const seen = new Set<string>();
  let manifest: Manifest | undefined;
  let total = 0;
  for (const file of files) {
    const { path } = file;
    if (seen.has(path.toLowerCase())) throw wrong(path, "it is there twice.", "Send each file once.");
    seen.add(path.toLowerCase());
    const kind = kindOf(path);
    const limit =
      kind === "manifest" ? mostManifestBytes : kind === "definition" ? mostDefinitionBytes : mostFileBytes;
    const bytes = decodeFile(file, limit);
    total += bytes.byteLength;
    if (total > mostFileBytes)
      throw new Refusal(
        "too_large",
        `The files are larger than ${mostFileBytes} bytes together.`,
        "Leave the largest knowledge files out and add them afterwards.",
      );
    if (kind === "knowledge") knowledge.set(path, bytes);
    else if (kind === "skill") skills.set(path.slice("skills/".length), bytes);
    else if (!isUtf8(bytes)) throw wrong(path, "it is no UTF-8 text.", "Save it as UTF-8.");
    else if (kind === "manifest") manifest = parseManifest(Buffer.from(bytes).toString("utf8"));
    else definitions.set(path, Buffer.from(bytes).toString("utf8"));
  }
  demandListed(manifest, knowledge, skills);
  return { manifest, definitions, knowledge, skills };
}

/** Also in a folder nobody looks at: a path that leads elsewhere is nobody's mistake. */
function kindOf(path: string): "manifest" | "definition" | "knowledge" | "skill" {
  if (path === manifestFile) return "manifest";
  // What may stand below is for the rules of skills to say (companies/skill.ts).
  if (/^skills\/[^/]+\/./.test(path)) return "skill";
  const [, folder, name] = /^(agents|knowledge)\/([^/\\:\p{Cc}]{1,200})$/u.exec(path) ?? [];
  if (name === undefined || name.startsWith(".") || (folder === "agents" && !name.endsWith(".md")))
    throw wrong(
      path,
      "it has no place in a company's folder.",
      "There are company.json, agents/<name>.md, skills/<name>/SKILL.md and knowledge/<name>.",
    );
  return folder === "agents" ? "definition" : "knowledge";
}

function parseManifest(words: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(words);
  } catch (error) {
    throw wrong(manifestFile, error instanceof Error ? error.message : "no JSON.", "Send valid JSON.");
  }
  const checked = check(Manifest, value);
  if ("data" in checked) return checked.data;
  throw wrong(
    manifestFile,
    sentencesOf(checked.problems),
    `${manifestFile} takes ${Object.keys(Manifest.shape).join(", ")}.`,
  );
}

function demandListed(
  manifest: Manifest | undefined,
  knowledge: ReadonlyMap<string, unknown>,
  skills: ReadonlyMap<string, unknown>,
): void {
  for (const { file } of manifest?.skills ?? [])
    if (!skills.has(file)) throw wrong(`skills/${file}`, notThere, "Send it, too.");
  const listed = manifest?.knowledge ?? [];
  const files = new Set(listed.map(({ file }) => file));
  if (files.size < listed.length || new Set(listed.map(({ id }) => id)).size < listed.length)
    throw wrong(manifestFile, "a knowledge file or an id is listed twice.", "List each once.");
  for (const file of files) if (!knowledge.has(file)) throw wrong(file, notThere, "Send it, too.");
  for (const file of knowledge.keys())
    if (!files.has(file))
      throw wrong(
        file,
        `${manifestFile} does not list it.`,
        "List it under knowledge, with id, description and mediaType.",
      );
}

const notThere = `${manifestFile} lists it, and it is not there.`;

/** Bytes that are text, changed; others as they are. */
export function changedText(bytes: Uint8Array, change: (words: string) => string): Uint8Array {
  return isUtf8(bytes) ? Buffer.from(change(Buffer.from(bytes).toString("utf8"))) : bytes;
}

/** Secrets do not travel in files: not even into one's own company, since the files are kept elsewhere, too. */
export function demandNoSecrets(file: string, value: unknown): void {
  const { value: shown, redactedPaths } = redact(value);
  if (isDeepStrictEqual(shown, value)) return;
  const where = redactedPaths.slice(0, 5).filter((path) => path !== "");
  throw wrong(
    file,
    `there is something in it that looks like a secret${where.length === 0 ? "" : ` (${where.join(", ").slice(0, 200)})`}.`,
    `Put ${marker} in its place, and set it after the import.`,
  );
}

export const wrong = (file: string, what: string, hint: string): Refusal =>
  new Refusal("invalid", `${file}: ${what}`, hint);
