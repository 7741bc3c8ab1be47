import { hash as digest } from "node:crypto";
import { constants, existsSync, readdirSync, statSync } from "node:fs";
import {
  appendFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { dirname, join, normalize, sep } from "node:path";
import { RowCheck } from "../events/rows.ts";
import { type Damage, verify } from "../events/verify.ts";
import { macOf } from "../store/chain.ts";
import {
  columnsIn,
  type StoredContent,
  copiedTables,
  type CopiedTable,
  type CopySource,
  type CopyTarget,
  keyPlaces,
  shapeOfTables,
  type Version,
} from "../store/copying.ts";
import type { Value } from "../store/columns.ts";
import type { ReadTx } from "../store/store.ts";
import { type BackupHead, headOfBackup, keyOfBackup, backupLines, writeBackup } from "./backup-file.ts";
import { knownBeside } from "../readers/nodes.ts";
import { givenText } from "./given-text.ts";
import {
  auditKeyFile,
  type DatabaseSources,
  type Home,
  lastingUrlIn,
  lockHome,
  openHome,
  ownNodeId,
} from "./home.ts";
import * as texts from "./texts.ts";
import { version } from "./version.ts";

/** Backups of a whole installation, and restores (store/copying.ts). Moves between the stores are in migrating.ts. */
export interface CopyPlace extends DatabaseSources {
  readonly home: string;
  readonly auditKey?: string | undefined;
  /** Whether a key for secrets comes from the environment. */
  readonly hasSecretsKey?: boolean;
}

export interface Copied {
  rows: number;
  contents: number;
  /** Files of the home beside the database: transcripts, repositories, homes of agents. */
  files: number;
  /** Faults of the record, and versions whose content is lost. */
  problems: string[];
}

const rowsAtOnce = 1000;
const contentsAtOnce = 200;
export const bytesAtOnce = 4 * 1024 * 1024;
/** In the order in which a repository is read consistently: references before objects. */
const folders = ["transcripts", "homes", "repos"] as const;

/** Writes a backup, whether the daemon runs or not. */
export async function backUp(
  place: CopyPlace,
  file: string,
): Promise<Copied & { bytes: number; says: string[] }> {
  const home = openHome(place.home);
  const url = lastingUrlIn(home, place);
  if (url === undefined && !existsSync(home.database)) throw texts.nothingToCopy(home.path);
  const key = place.auditKey ?? auditKeyIn(auditKeyFile(home));
  if (key === undefined) throw texts.nothingToCopy(home.path);
  const source = await sourceOf(home, url, key);
  const copied: Copied = { rows: 0, contents: 0, files: 0, problems: [] };
  try {
    copied.problems.push(...(await damageIn(source.tx)).map(describe));
    // The homes of their agents and their repositories are on their machines.
    const others = url === undefined ? [] : await knownBeside(source.tx, ownNodeId(home));
    const at = new Date(source.tx.now).toISOString();
    const head: BackupHead = {
      agency: "backup",
      format: 1,
      version,
      at,
      shape: shapeOfTables,
      state: await nameOfState(source),
    };
    const backup = await writeBackup(file, head, source.tx.mac);
    try {
      for await (const { table, rows } of rowsOf(source)) {
        copied.rows += rows.length;
        await backup.put({ table, rows: rows.map((row) => row.map(plain)) });
      }
      for await (const versions of versionsOf(source))
        for (const each of versions) {
          const bytes = await contentOf(source, each, copied.problems);
          if (bytes === undefined) continue;
          copied.contents++;
          await backup.put({ content: [each.fileId, each.hash, Buffer.from(bytes).toString("base64")] });
        }
      for (const folder of folders) copied.files += await putFolder(home.path, folder, backup.put);
      const bytes = await backup.finish();
      await rm(`${file}.key`, { force: true });
      if (place.auditKey === undefined)
        await writeFile(`${file}.key`, `${key}\n`, { mode: 0o600, flush: true });
      const says = [
        place.auditKey === undefined ? texts.auditKeyBeside(`${file}.key`) : texts.auditKeyGiven,
        hasSecretsKey(home, place) ? texts.secretsKeyApart : texts.noSecretsKey,
        ...(others.length === 0 ? [] : [texts.otherNodesLeftOut(others)]),
      ];
      return { ...copied, bytes, says };
    } catch (error) {
      await backup.abandon();
      throw error;
    }
  } finally {
    await source.close();
  }
}

/** Fills an empty home, or an empty database and home, from a backup. The record must verify. */
export async function restoreBackup(
  place: CopyPlace,
  file: string,
  given: { readonly keys?: string | undefined; readonly despiteDamage?: boolean } = {},
): Promise<Copied & { at: string; says: string[] }> {
  const head = await headOfBackup(file);
  if (head.shape !== shapeOfTables) throw texts.otherShape(file, head.version, version);
  const home = openHome(place.home);
  const lock = lockHome(home);
  try {
    const own = auditKeyIn(auditKeyFile(home));
    const keys = [place.auditKey, auditKeyIn(given.keys ?? `${file}.key`), own].filter(
      (each) => each !== undefined,
    );
    const key = await keyOfBackup(
      file,
      keys.map((each) => ({ key: each, mac: macOf(each) })),
    );
    if (own !== undefined && own !== key) throw texts.otherKeyInHome(home.path);
    const url = lastingUrlIn(home, place);
    const target = await targetOf(home, url, key, {
      free: () => {
        const files = folders.map((name) => join(home.path, name));
        // An unfinished copy may also come from `migrate`. Then the files belong to a home in use.
        const isTaken = (!existsSync(home.restoring) && files.some(hasSomething)) || hasOther(home, url);
        if (isTaken) throw texts.notEmptyHome(home.path);
      },
    });
    try {
      await writeFile(home.restoring, "", { flush: true });
      const copied = await fillFrom(home, target, head, file);
      const copy = await target.look();
      try {
        copied.problems.push(...(await damageIn(copy.tx)).map(describe));
      } finally {
        await copy.close();
      }
      const [first] = copied.problems;
      if (first !== undefined && given.despiteDamage !== true)
        throw texts.brokenRecord(file, copied.problems.length, first);
      if (own === undefined && key !== place.auditKey)
        await writeFile(auditKeyFile(home), `${key}\n`, { mode: 0o600, flush: true });
      // The anchor has events after the backup, so with it the restored record would count as rolled back.
      if (existsSync(home.anchor)) await rename(home.anchor, `${home.anchor}.before-restore`);
      await target.finish();
      await rm(home.restoring, { force: true });
      const says = hasSecretsKey(home, place) ? [] : [texts.secretsNeedKey];
      return { ...copied, at: head.at, says };
    } catch (error) {
      await target.clear();
      for (const folder of folders) await rm(join(home.path, folder), { recursive: true, force: true });
      await rm(home.restoring, { force: true });
      throw error;
    } finally {
      await target.close();
    }
  } finally {
    lock.release();
  }
}

async function fillFrom(home: Home, target: CopyTarget, head: BackupHead, file: string): Promise<Copied> {
  const copied: Copied = { rows: 0, contents: 0, files: 0, problems: [] };
  // An interrupted restore is not continued, because its files may be incomplete.
  await target.clear();
  for (const folder of folders) await rm(join(home.path, folder), { recursive: true, force: true });
  await target.begin(head.state);
  let contents: StoredContent[] = [];
  const keep = async (): Promise<void> => {
    if (contents.length > 0) await target.keep(contents);
    contents = [];
  };
  for await (const line of backupLines(file)) {
    if ("rows" in line) {
      const table = copiedTables.find((name) => name === line.table);
      if (table === undefined) throw texts.damagedBackup(file);
      await target.insert(table, line.rows);
      copied.rows += line.rows.length;
    } else if ("content" in line) {
      const [fileId, hash, text] = line.content;
      const bytes = Buffer.from(text, "base64");
      if (digest("sha256", bytes) !== hash) copied.problems.push(texts.contentLost(fileId));
      contents.push({ fileId, hash, bytes });
      copied.contents++;
      if (contents.length >= contentsAtOnce || sizeOf(contents) > bytesAtOnce) await keep();
    } else if ("folder" in line) {
      await mkdir(inside(home, line.folder, file), { recursive: true, mode: 0o700 });
    } else {
      const [path, mode, text] = line.file;
      await mkdir(dirname(inside(home, path, file)), { recursive: true, mode: 0o700 });
      await appendFile(inside(home, path, file), Buffer.from(text, "base64"), { mode });
      if (!line.more) copied.files++;
    }
  }
  await keep();
  return copied;
}

/** The path of a file in a backup. It must lead to one of the folders that backups have. */
function inside(home: Home, path: string, file: string): string {
  const [first] = normalize(path).split(sep);
  if (normalize(path) !== path || !folders.some((name) => name === first)) throw texts.damagedBackup(file);
  return join(home.path, path);
}

/** Only content may be stored as bytes. */
function plain(value: Value): string | number | null {
  if (value instanceof Uint8Array) throw new TypeError("a column of text holds bytes");
  return value;
}

export const sizeOf = (contents: readonly StoredContent[]): number =>
  contents.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);

export async function contentOf(
  source: CopySource,
  each: Version,
  problems: string[],
): Promise<Uint8Array | undefined> {
  const bytes = await source.content(each);
  if (bytes !== undefined && digest("sha256", bytes) === each.hash) return bytes;
  problems.push(texts.contentLost(each.fileId));
  return undefined;
}

export async function* pagesOf(
  source: CopySource,
  table: CopiedTable,
  from: readonly Value[] | null,
): AsyncGenerator<Value[][]> {
  const places = keyPlaces(table);
  for (let after = from; ;) {
    const rows = await source.rows(table, after, rowsAtOnce);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return;
    after = places.map((place) => last[place] ?? null);
  }
}

async function* rowsOf(source: CopySource): AsyncGenerator<{ table: CopiedTable; rows: Value[][] }> {
  for (const table of copiedTables)
    for await (const rows of pagesOf(source, table, null)) yield { table, rows };
}

/** The versions with stored content, each content of a file once. */
export async function* versionsOf(source: CopySource): AsyncGenerator<Version[]> {
  const [fileAt, hashAt] = ["file_id", "hash"].map((column) => columnsIn("versions").indexOf(column));
  let page = new Map<string, Version>();
  for await (const rows of pagesOf(source, "versions", null))
    for (const row of rows) {
      const fileId = String(row[fileAt ?? -1]);
      const hash = String(row[hashAt ?? -1]);
      page.set(`${fileId} ${hash}`, { fileId, hash });
      if (page.size < contentsAtOnce) continue;
      yield [...page.values()];
      page = new Map();
    }
  if (page.size > 0) yield [...page.values()];
}

export async function tableDigest(source: CopySource, table: CopiedTable): Promise<string> {
  let sum = "";
  for await (const rows of pagesOf(source, table, null)) sum = digest("sha256", sum + JSON.stringify(rows));
  return sum;
}

/** A name for the state of a store. Any change that the ledger records gives another name. */
export async function nameOfState(source: CopySource): Promise<string> {
  return `${shapeOfTables} ${await tableDigest(source, "ledger_heads")}`;
}

/** Checks the chains and every sealed row. */
export async function damageIn(tx: ReadTx): Promise<Damage[]> {
  const problems: Damage[] = [];
  for (let from: Parameters<typeof verify>[2] = null; ;) {
    const part = await verify(tx, new Map(), from, 10_000);
    problems.push(...part.problems);
    if (part.next === null) break;
    from = part.next;
  }
  const rows = new RowCheck();
  for (let done = false; !done;) {
    const step = await rows.step(tx);
    problems.push(...step.problems);
    ({ done } = step);
  }
  return problems;
}

export const describe = ({ companyId, seq, row, what }: Damage): string =>
  `${row === null ? `Event ${seq} of ${companyId === "" ? "the installation" : `company ${companyId}`}` : `Row ${row}`}: ${what}`;

export async function sourceOf(home: Home, url: string | undefined, key: string): Promise<CopySource> {
  if (url !== undefined) return (await import("../store/copy-postgres.ts")).readPostgres({ url, key });
  const { readSqlite } = await import("../store/copy-sqlite.ts");
  return readSqlite({ path: home.database, blobFolder: home.knowledge, key });
}

/** The target of a copy. `check` may refuse an empty or unfinished target, and may allow one with data. */
export async function targetOf(
  home: Home,
  url: string | undefined,
  key: string,
  check: {
    readonly free?: (state: "empty" | "unfinished") => void;
    readonly taken?: (target: CopyTarget) => Promise<boolean>;
  },
): Promise<CopyTarget> {
  const target =
    url === undefined
      ? (await import("../store/copy-sqlite.ts")).fillSqlite({
          path: home.database,
          blobFolder: home.knowledge,
          key,
        })
      : await (await import("../store/copy-postgres.ts")).fillPostgres({ url, key });
  try {
    const state = await target.state();
    if (state !== "taken") check.free?.(state);
    else if ((await check.taken?.(target)) !== true)
      throw url === undefined ? texts.notEmptyHome(home.path) : texts.notEmptyDatabase();
    return target;
  } catch (error) {
    await target.close();
    throw error;
  }
}

/** Whether the home has another database than the one to fill. */
const hasOther = (home: Home, url: string | undefined): boolean =>
  url !== undefined && existsSync(home.database);

/** Whether a path is a file, or a folder that is not empty. */
const hasSomething = (path: string): boolean =>
  existsSync(path) && (!statSync(path).isDirectory() || readdirSync(path).length > 0);

const hasSecretsKey = (home: Home, place: CopyPlace): boolean =>
  place.hasSecretsKey === true || existsSync(join(home.path, "secrets-key"));

export function auditKeyIn(file: string): string | undefined {
  return existsSync(file) ? givenText(file, { ownerOnly: true }) : undefined;
}

/** Adds a folder. Files may come and go meanwhile: those that are gone when they are read are left out. */
async function putFolder(
  home: string,
  folder: string,
  put: Awaited<ReturnType<typeof writeBackup>>["put"],
): Promise<number> {
  if (!existsSync(join(home, folder))) return 0;
  let files = 0;
  await put({ folder });
  const entries = await readdir(join(home, folder), { withFileTypes: true });
  // `objects` comes last, so everything that a reference names exists by then.
  entries.sort(
    (a, b) => Number(a.name === "objects") - Number(b.name === "objects") || (a.name < b.name ? -1 : 1),
  );
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files += await putFolder(home, path, put);
    else if (entry.isFile()) files += Number(await putFile(home, path, put));
  }
  return files;
}

/**
 * Adds a file. After its folder was listed, an agent may put a link or a pipe in place of the file, or of a folder above it. A
 * backup contains only files of the home itself.
 */
export async function putFile(
  home: string,
  path: string,
  put: Awaited<ReturnType<typeof writeBackup>>["put"],
): Promise<boolean> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let file: FileHandle;
  try {
    file = await open(join(home, path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (["ENOENT", "ELOOP", "ENOTDIR", "ENXIO"].includes(code)) return false;
    throw error;
  }
  try {
    const found = await file.stat();
    // Only Linux tells the place of an open file.
    const place = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
    // The person may have put one of the home's own folders elsewhere, behind a link.
    const [top = "", ...below] = path.split(sep);
    const expected = async (): Promise<string> => join(await realpath(join(home, top)), ...below);
    if (!found.isFile() || (place !== undefined && place !== (await expected()))) return false;
    let before: Buffer | undefined;
    const part = (bytes: Buffer, more: boolean) =>
      put({ file: [path, found.mode & 0o700, bytes.toString("base64")], more });
    for await (const chunk of file.createReadStream({ highWaterMark: 1024 * 1024, autoClose: false })) {
      if (before !== undefined) await part(before, true);
      before = chunk;
    }
    await part(before ?? Buffer.alloc(0), false);
    return true;
  } finally {
    await file.close();
  }
}
