import { existsSync, lstatSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, normalize, posix, resolve } from "node:path";
import type { Command } from "commander";
import type { Client } from "../client/client.ts";
import { readFile, readVersion } from "../contract/knowledge.ts";
import type { Output } from "../contract/operation.ts";
import { viewOutcome, viewSubtree } from "../contract/outcomes.ts";
import { plural } from "../contract/phrases.ts";
import { endingOf } from "./media-types.ts";
import { clientOf, type Context, print } from "./terminal.ts";
import { idNamed } from "./resolving.ts";
import { example, jsonFlag, noResultYet, notPlain, wouldOverwrite } from "./texts.ts";

/**
 * `agency save` and `agency results` write knowledge files to disk. The names come from texts of agents, so they are made safe:
 * one plain part each, never a path. Nothing is overwritten without --force, and no link is followed.
 */
export function addSave(program: Command, context: Context): void {
  program
    .command("save")
    .description("Save a knowledge file to disk, exactly as it is stored.")
    .argument("<file>", "Id, short id or description of the file.")
    .option("--to <path>", "File or folder to write to. Defaults to the current folder.")
    .option("--version <number>", "Version to save. Defaults to the current one.", Number)
    .option("--force", "Overwrite an existing file.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency save <file id> --to guide.md"))
    .action(async (given: string, flags: { to?: string; version?: number; force?: true; json?: true }) => {
      const client = clientOf(context.env);
      const id = await idNamed(context, client, "file", given);
      const file =
        flags.version === undefined
          ? await client.call(readFile, { id })
          : await client.call(readVersion, { id, version: flags.version });
      const to = flags.to ?? ".";
      const isFolder = to.endsWith("/") || (existsSync(to) && statSync(to).isDirectory());
      const path = isFolder ? join(to, nameOf(file)) : to;
      writeAll([{ path, bytes: bytesOf(file) }], flags.force === true);
      print(
        context,
        flags,
        { path: resolve(path), id, version: file.version, bytes: file.size },
        `Saved version ${file.version} to ${path} (${plural(file.size, "byte")}).`,
      );
    });
}

export function addResults(program: Command, context: Context): void {
  program
    .command("results")
    .description("Save the result and the deliverables of an outcome to a folder.")
    .argument("<outcome>", "Id, short id or title of the outcome.")
    .requiredOption("--to <folder>", "Folder to write to. It is created if it does not exist.")
    .option("--all", "Also save those of the outcomes below it, each in a folder.")
    .option("--force", "Overwrite existing files.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency results <outcome id> --to ./bread"))
    .action(async (given: string, flags: { to: string; all?: true; force?: true; json?: true }) => {
      const client = clientOf(context.env);
      const id = await idNamed(context, client, "outcome", given);
      const files = await filesOf(client, id, flags.to, new Set());
      const folders = new Set<string>();
      const below = flags.all === true ? (await client.call(viewSubtree, { id, limit: 1000 })).outcomes : [];
      for (const outcome of below) {
        if (outcome.id === id) continue;
        const folder = join(flags.to, freeName(safeName(outcome.title), folders));
        files.push(...(await filesOf(client, outcome.id, folder, new Set())));
      }
      for (const folder of new Set(files.map(({ path }) => dirname(path)))) {
        const facts =
          folder === normalize(flags.to) ? undefined : lstatSync(folder, { throwIfNoEntry: false });
        if (facts !== undefined && !facts.isDirectory()) throw notPlain(folder, "folder");
      }
      if (files.length === 0) throw noResultYet(id, flags.all === true);
      writeAll(files, flags.force === true);
      print(
        context,
        flags,
        {
          folder: resolve(flags.to),
          files: files.map(({ path, bytes }) => ({ path, bytes: bytes.byteLength })),
        },
        ...files.map(({ path, bytes }) => `${path} (${plural(bytes.byteLength, "byte")})`),
        `Saved ${plural(files.length, "file")} to ${flags.to}.`,
      );
    });
}

interface Writable {
  readonly path: string;
  readonly bytes: Buffer;
}

type Content = Output<typeof readFile>;

/** The bytes of a file exactly as they are stored. */
export const bytesOf = ({ content, encoding }: Pick<Content, "content" | "encoding">): Buffer =>
  Buffer.from(content, encoding);

/** The result as result.md, and each deliverable in its delivered version. */
async function filesOf(client: Client, id: string, folder: string, names: Set<string>): Promise<Writable[]> {
  const { result, deliverables } = await client.call(viewOutcome, { id });
  const files: Writable[] = [];
  const add = (name: string, content: Content): void =>
    void files.push({ path: join(folder, freeName(name, names)), bytes: bytesOf(content) });
  if (result !== null) add("result.md", await client.call(readFile, { id: result }));
  for (const { id: file, version } of deliverables) {
    const content = await client.call(readVersion, { id: file, version });
    add(nameOf(content), content);
  }
  return files;
}

/** `guide.md`, `guide-2.md`. Upper and lower case count as equal, as on some disks. */
function freeName(name: string, taken: Set<string>): string {
  const ending = extname(name);
  const stem = name.slice(0, name.length - ending.length);
  for (let number = 1; ; number++) {
    const free = number === 1 ? name : `${stem}-${number}${ending}`;
    if (taken.has(free.toLowerCase())) continue;
    taken.add(free.toLowerCase());
    return free;
  }
}

/**
 * The name of a file on disk: the end of its path if the description starts with one (cli/adding.ts), otherwise the words of
 * the description.
 */
function nameOf({ description, mediaType }: Pick<Content, "description" | "mediaType">): string {
  const label = /^[^:]*\.[A-Za-z0-9]{1,8}(?=:|$)/.exec(description)?.[0];
  if (label !== undefined) return safeName(posix.basename(label));
  return `${safeName(description)}${endingOf(mediaType)}`;
}

/**
 * A safe part of a path: letters, digits, spaces, dots, hyphens and underscores of a text, not hidden, at most 80 characters.
 */
function safeName(text: string): string {
  const name = text
    .normalize("NFC")
    .replace(/[^\p{L}\p{M}\p{N} ._-]+/gu, "-")
    .replace(/\s+/g, " ")
    .replace(/^[. -]+/, "");
  const short = [...name]
    .slice(0, 80)
    .join("")
    .replace(/[. -]+$/, "");
  // Windows opens a device for these names.
  if (short === "" || /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(short))
    return `file-${short}`.replace(/-$/, "");
  return short;
}

/** Writes all files or none: existing files are reported before the first one is written. */
function writeAll(files: readonly Writable[], force: boolean): void {
  const there = files.filter(({ path }) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
  const folder = there.find(({ path }) => lstatSync(path).isDirectory());
  if (folder !== undefined) throw notPlain(folder.path, "file");
  if (there.length > 0 && !force) throw wouldOverwrite(there.map(({ path }) => path));
  for (const { path, bytes } of files) {
    const parent = dirname(path);
    mkdirSync(parent, { recursive: true });
    // A file is either complete or not there. Renaming replaces a link and does not write through it.
    const draft = join(parent, `.${basename(path)}.${process.pid}.part`);
    try {
      writeFileSync(draft, bytes, { flag: "wx" });
      renameSync(draft, path);
    } finally {
      rmSync(draft, { force: true });
    }
  }
}
