import { isUtf8 } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { check, sentencesOf } from "../contract/problems.ts";
import { type CompanyFile, mostFileBytes } from "../contract/roster.ts";
import { Settings } from "../contract/companies.ts";
import { putMcpServer } from "../contract/servers.ts";
import { createFile } from "../contract/knowledge.ts";
import { Id, Name } from "../contract/words.ts";
import { marker, redact } from "../redaction/redact.ts";
import { brainMarks } from "../brains/registry.ts";
import { decodeFile } from "../knowledge/content.ts";
import { mostDefinitionBytes } from "./definition.ts";
import * as texts from "./texts.ts";

/**
 * A company as a folder: company.json (name, settings, MCP servers, the list of knowledge files), agents/*.md, skills/<name>/
 * with a SKILL.md, and knowledge/*. Ids mean nothing in another company. So the files refer to each other by numbers in the
 * shape of ids. The same company makes the same files everywhere, and links stay links.
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
  /** Only the skills that another file refers to. */
  skills: z.array(z.strictObject({ file: z.string(), id: Id })).optional(),
});
export type Manifest = z.infer<typeof Manifest>;

export const manifestFile = "company.json";
const mostManifestBytes = 4 * 1024 * 1024;

/** Numbers in the shape of ids, for the knowledge files and agents of a folder. */
export const numberedFile = (number: number): string => numbered("8", number);
export const numberedAgent = (number: number): string => numbered("9", number);
const numbered = (kind: string, number: number): string =>
  `00000000-0000-4000-${kind}000-${String(number).padStart(12, "0")}`;

/** Replaces every id that is in the map, anywhere in a text. */
export function renumber(words: string, ids: ReadonlyMap<string, string>): string {
  return words.replace(idPattern, (id) => ids.get(id.toLowerCase()) ?? id);
}

export function idsIn(words: string): string[] {
  return [...words.matchAll(idPattern)].map(([id]) => id.toLowerCase());
}

const idPattern = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;

export interface Folder {
  readonly manifest: Manifest | undefined;
  /** Texts by path. */
  readonly definitions: ReadonlyMap<string, string>;
  readonly knowledge: ReadonlyMap<string, Uint8Array>;
  /** Contents by path below skills/. */
  readonly skills: ReadonlyMap<string, Uint8Array>;
}

/** Sorts the files by kind. Refuses a file that does not belong in a company's folder. */
export function readFolder(files: readonly CompanyFile[]): Folder {
  const definitions = new Map<string, string>();
  const knowledge = new Map<string, Uint8Array>();
  const skills = new Map<string, Uint8Array>();
  const seen = new Set<string>();
  let manifest: Manifest | undefined;
  let total = 0;
  for (const file of files) {
    const { path } = file;
    if (seen.has(path.toLowerCase())) throw texts.sentTwice(path);
    seen.add(path.toLowerCase());
    const kind = kindOf(path);
    const limit =
      kind === "manifest" ? mostManifestBytes : kind === "definition" ? mostDefinitionBytes : mostFileBytes;
    const bytes = decodeFile(file, limit);
    total += bytes.byteLength;
    if (total > mostFileBytes) throw texts.filesTooLarge();
    if (kind === "knowledge") knowledge.set(path, bytes);
    else if (kind === "skill") skills.set(path.slice("skills/".length), bytes);
    else if (!isUtf8(bytes)) throw texts.notUtf8(path);
    else if (kind === "manifest") manifest = parseManifest(Buffer.from(bytes).toString("utf8"));
    else definitions.set(path, Buffer.from(bytes).toString("utf8"));
  }
  demandListed(manifest, knowledge, skills);
  return { manifest, definitions, knowledge, skills };
}

/** The kind of a file, by its path. A path that leads out of the folder (`..`) is refused too. */
function kindOf(path: string): "manifest" | "definition" | "knowledge" | "skill" {
  if (path === manifestFile) return "manifest";
  // companies/skill.ts checks the paths inside a skill.
  if (/^skills\/[^/]+\/./.test(path)) return "skill";
  const [, folder, name] = /^(agents|knowledge)\/([^/\\:\p{Cc}]{1,200})$/u.exec(path) ?? [];
  if (name === undefined || name.startsWith(".") || (folder === "agents" && !name.endsWith(".md")))
    throw texts.noPlace(path);
  return folder === "agents" ? "definition" : "knowledge";
}

function parseManifest(words: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(words);
  } catch (error) {
    throw texts.manifestNotJson(manifestFile, error instanceof Error ? error.message : "This is not JSON.");
  }
  const checked = check(Manifest, value);
  if ("data" in checked) return checked.data;
  throw texts.wrongManifest(manifestFile, sentencesOf(checked.problems), Object.keys(Manifest.shape));
}

function demandListed(
  manifest: Manifest | undefined,
  knowledge: ReadonlyMap<string, unknown>,
  skills: ReadonlyMap<string, unknown>,
): void {
  for (const { file } of manifest?.skills ?? [])
    if (!skills.has(file)) throw texts.fileNotSent(`skills/${file}`, manifestFile);
  const listed = manifest?.knowledge ?? [];
  const files = new Set(listed.map(({ file }) => file));
  if (files.size < listed.length || new Set(listed.map(({ id }) => id)).size < listed.length)
    throw texts.listedTwice(manifestFile);
  for (const file of files) if (!knowledge.has(file)) throw texts.fileNotSent(file, manifestFile);
  for (const file of knowledge.keys()) if (!files.has(file)) throw texts.notListed(file, manifestFile);
}

/** Changes content that is text. Other content stays as it is. */
export function changedText(bytes: Uint8Array, change: (words: string) => string): Uint8Array {
  return isUtf8(bytes) ? Buffer.from(change(Buffer.from(bytes).toString("utf8"))) : bytes;
}

/** Refuses secrets in files, even for a company of the same board: files are kept in other places too. */
export function demandNoSecrets(file: string, value: unknown): void {
  const { value: shown, redactedPaths } = redact(value, brainMarks);
  if (isDeepStrictEqual(shown, value)) return;
  const where = redactedPaths.slice(0, 5).filter((path) => path !== "");
  throw texts.secretInFile(file, where, marker);
}
