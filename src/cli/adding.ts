import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, extname, isAbsolute, join, normalize, posix, resolve, sep } from "node:path";
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { Command } from "commander";
import type { Client } from "../client/client.ts";
import { createFile, type FileSummary, listFiles, viewHistory, writeFile } from "../contract/knowledge.ts";
import { plural } from "../contract/phrases.ts";
import { Refusal } from "../contract/refusal.ts";
import { readPlain } from "./folder.ts";
import { mediaTypeOf } from "./media-types.ts";
import { clientOf, companyOf, type Context, nounOf, print } from "./terminal.ts";
import { companyFlag, example, fileTooLarge, jsonFlag, nothingToAdd } from "./texts.ts";

/**
 * `agency kb add` puts files and whole folders into the knowledge base. Each gets its path as a label at the start of its
 * description, and a second run finds it by this label: unchanged files stay, changed ones get a new version. Only files that
 * people created are found this way. Otherwise an agent could name a file like a path and get the content.
 */
export function addKnowledge(program: Command, context: Context): void {
  nounOf(program, "kb")
    .command("add")
    .description("Add files and folders. Run it again to update them: unchanged files are left alone.")
    .argument("<paths...>", "Files and folders. Hidden and ignored files in folders are skipped.")
    .option("--dry-run", "Only show what would be added.")
    .option(...companyFlag)
    .option(...jsonFlag)
    .addHelpText("after", example("agency kb add ./handbook", "agency kb add notes.md logo.png"))
    .action(async (paths: string[], flags: { dryRun?: true; company?: string; json?: true }) => {
      const client = clientOf(context.env);
      const found = { files: new Map<string, string>(), skipped: [] as Skipped[] };
      for (const path of paths) collect(path, found);
      if (found.files.size === 0) throw nothingToAdd(paths, found.skipped);
      const companyId = await companyOf(client, flags.company);
      const known = await labelled(client, companyId);
      const done: { path: string; what: string; file?: string; why?: string }[] = [];
      for (const [label, path] of found.files) {
        const one = await addOne(client, companyId, { label, path, known, isTry: flags.dryRun === true });
        done.push({ path: label, ...one });
        const count = `[${done.length}/${found.files.size}]`;
        if (flags.json !== true)
          context.terminal.out(`${count} ${one.what} ${label}${one.why === undefined ? "" : `: ${one.why}`}`);
      }
      const sum = (what: string): number => done.filter((one) => one.what === what).length;
      const failed = sum("failed");
      if (failed > 0) context.exitCode = 1;
      const skipped = found.skipped.map(({ path, why }) => `  ${path}: ${why}`);
      print(
        context,
        flags,
        { files: done, skipped: found.skipped },
        `${flags.dryRun === true ? "Nothing was changed. It would be: " : ""}${sum("added")} added, ${sum("updated")} updated, ${sum("unchanged")} unchanged, ${failed} failed.`,
        ...(skipped.length === 0
          ? []
          : [`Skipped ${plural(skipped.length, "path")}:`, ...skipped.slice(0, 20)]),
        ...(skipped.length > 20 ? [`  … and ${skipped.length - 20} more`] : []),
      );
    });
}

interface Skipped {
  readonly path: string;
  readonly why: string;
}

interface Found {
  /** Maps each label to the path of its file. */
  readonly files: Map<string, string>;
  readonly skipped: Skipped[];
}

function collect(given: string, found: Found): void {
  const facts = lstatSync(given, { throwIfNoEntry: false });
  const path = resolve(given);
  if (facts === undefined) found.skipped.push({ path: given, why: "it does not exist" });
  else if (facts.isDirectory()) walk(path, basename(path), [], found);
  else if (facts.isFile()) {
    const relative = normalize(given).split(sep).join("/");
    keep(isAbsolute(given) || relative.startsWith("..") ? basename(path) : relative, path, found);
  } else found.skipped.push({ path: given, why: notFollowed });
}

function keep(label: string, path: string, found: Found): void {
  if (found.files.has(label) && found.files.get(label) !== path)
    found.skipped.push({ path, why: `another file is already called ${label}` });
  else found.files.set(label, path);
}

interface Rule {
  readonly folder: string;
  readonly pattern: string;
  readonly isNegated: boolean;
  readonly onlyFolders: boolean;
}

function walk(folder: string, label: string, above: readonly Rule[], found: Found): void {
  const rules = [...above, ...rulesIn(folder)];
  for (const name of readdirSync(folder).toSorted()) {
    const path = join(folder, name);
    const facts = lstatSync(path);
    const below = `${label}/${name}`;
    // Hidden files hold settings and secrets. Installed packages are not knowledge.
    if (name.startsWith(".") || name === "node_modules" || isIgnored(path, facts.isDirectory(), rules))
      continue;
    if (facts.isDirectory()) walk(path, below, rules, found);
    else if (facts.isFile()) keep(below, path, found);
    else found.skipped.push({ path: below, why: notFollowed });
  }
}

const notFollowed = "links, pipes and devices are not followed";

/** The patterns of a .gitignore file. A link in its place is not followed. */
function rulesIn(folder: string): Rule[] {
  const path = join(folder, ".gitignore");
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return [];
  return readFileSync(path, "utf8")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({
      folder,
      pattern: line.replace(/^!/, "").replace(/\/$/, ""),
      isNegated: line.startsWith("!"),
      onlyFolders: line.endsWith("/"),
    }));
}

/** The last pattern that matches decides. A pattern without a slash matches a name anywhere below its file. */
function isIgnored(path: string, isFolder: boolean, rules: readonly Rule[]): boolean {
  const last = rules.findLast(({ folder, pattern, onlyFolders }) => {
    if (onlyFolders && !isFolder) return false;
    const relative = path
      .slice(folder.length + 1)
      .split(sep)
      .join("/");
    return pattern.includes("/")
      ? posix.matchesGlob(relative, pattern.replace(/^\//, ""))
      : posix.matchesGlob(posix.basename(relative), pattern);
  });
  return last !== undefined && !last.isNegated;
}

/** The files of the company, by the label at the start of their description. */
async function labelled(client: Client, companyId: string): Promise<Map<string, FileSummary[]>> {
  const byLabel = new Map<string, FileSummary[]>();
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await client.call(listFiles, {
      companyId,
      kind: "file",
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    cursor = page.nextCursor ?? undefined;
    for (const file of page.files) {
      const label = file.description.split(": ")[0] ?? "";
      byLabel.set(label, [...(byLabel.get(label) ?? []), file]);
    }
  }
  return byLabel;
}

async function addOne(
  client: Client,
  companyId: string,
  one: { label: string; path: string; known: ReadonlyMap<string, FileSummary[]>; isTry: boolean },
): Promise<{ what: "added" | "updated" | "unchanged" | "failed"; file?: string; why?: string }> {
  try {
    const bytes = readPlain(one.path, (size) => {
      if (size > mostBytes) throw fileTooLarge(size, mostBytes);
    });
    const isText = isUtf8(bytes);
    const content = {
      content: bytes.toString(isText ? "utf8" : "base64"),
      encoding: isText ? "utf8" : "base64",
    } as const;
    const known = await ofPeople(client, one.known.get(one.label) ?? []);
    const hash = createHash("sha256").update(bytes).digest("hex");
    if (known?.hash === hash) return { what: "unchanged", file: known.id };
    const description = describe(one.label, isText ? bytes.toString("utf8") : "");
    if (one.isTry) return { what: known === undefined ? "added" : "updated" };
    if (known !== undefined) {
      const { id, version } = known;
      await patiently(() =>
        client.call(writeFile, { id, version, hash: known.hash, description, ...content }),
      );
      return { what: "updated", file: id };
    }
    const mediaType = mediaTypeOf(extname(one.path), isText);
    const made = await patiently(() =>
      client.call(createFile, { companyId, description, mediaType, ...content }),
    );
    return { what: "added", file: made.id };
  } catch (error) {
    // A file that is too large or can't be read is reported. The others are still added.
    if (!(error instanceof Error) || (error instanceof Refusal && error.code === "unauthenticated"))
      throw error;
    if (!(error instanceof Refusal) && !("code" in error)) throw error;
    return { what: "failed", why: error.message };
  }
}

/** No company accepts a larger file. The daemon checks the limit of this company. */
const mostBytes = 100 * 1024 * 1024;

async function ofPeople(client: Client, files: readonly FileSummary[]): Promise<FileSummary | undefined> {
  for (const file of files) {
    const { versions } = await client.call(viewHistory, { id: file.id, limit: 1000 });
    const first = versions.find(({ version }) => version === 1);
    if (first !== undefined && (first.author.kind === "board" || first.author.personId !== null)) return file;
  }
  return undefined;
}

/** The label, and the first heading of a text. */
function describe(label: string, text: string): string {
  const heading = /^(?:#{1,6}\s+|title:\s*)(.+?)\s*#*\s*$/m.exec(text.slice(0, 10_000))?.[1];
  const whole = heading === undefined ? label : `${label}: ${heading}`;
  return whole
    .replace(/\p{Cc}+/gu, " ")
    .slice(0, 1000)
    .toWellFormed();
}

/** If the daemon asks to wait, waits and tries again. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++)
    try {
      return await call();
    } catch (error) {
      const seconds = error instanceof Refusal ? error.details?.["retryAfterSeconds"] : undefined;
      if (typeof seconds !== "number" || tries === 10) throw error;
      await new Promise((done) => setTimeout(done, seconds * 1000));
    }
}
