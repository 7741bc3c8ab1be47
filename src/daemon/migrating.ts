import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { runningBeside } from "../readers/nodes.ts";
import {
  copiedTables,
  type CopiedTable,
  type CopySource,
  type CopyTarget,
  type StoredContent,
} from "../store/copying.ts";
import * as copies from "./copies.ts";
import { auditKeyFile, type Home, lastingUrlIn, lockHome, ownNodeId, openHome } from "./home.ts";
import * as texts from "./texts.ts";

/** Called for each copied table, and at the end of the copy. */
type Say = (line: string) => void | Promise<void>;

export interface Moved extends copies.Copied {
  from: "sqlite" | "postgres";
  to: "sqlite" | "postgres";
  /** The place of the SQLite files after a move to PostgreSQL. */
  kept: string | null;
}

/**
 * Moves the data of a home to PostgreSQL, or back to SQLite. No node may use the data meanwhile: the home is locked, and a node
 * that renews its leases in the database is reported. Before the daemon uses the copy, it is compared with the source row by
 * row. If the move is interrupted, the same command continues it, up to its last step.
 */
export async function migrate(place: copies.CopyPlace & { readonly say?: Say }, to: string): Promise<Moved> {
  const home = openHome(place.home);
  const lock = lockHome(home);
  try {
    const url = lastingUrlIn(home, place);
    const isToSqlite = to === "sqlite";
    const newUrl = isToSqlite ? undefined : to;
    const ends = {
      from: url === undefined ? "sqlite" : "postgres",
      to: isToSqlite ? "sqlite" : "postgres",
    } as const;
    if (url === newUrl) {
      if (isToSqlite || !existsSync(leaving(home)))
        throw texts.alreadyThere(isToSqlite ? "SQLite" : "this database");
      return { ...nothing(), from: "sqlite", to: "postgres", kept: await useStore(home, newUrl) };
    }
    const key = place.auditKey ?? copies.auditKeyIn(auditKeyFile(home));
    if (key === undefined || (url === undefined && !existsSync(home.database)))
      throw texts.nothingToCopy(home.path);
    const source = await copies.sourceOf(home, url, key);
    try {
      await checkNoOtherNode(home, source);
      const state = await copies.nameOfState(source);
      let isWhole = false;
      const target = await copies.targetOf(home, newUrl, key, {
        taken: async (made) => (isWhole = await isCopyOf(source, made)),
      });
      try {
        const copied = isWhole ? nothing() : await fill(source, target, state, place.say);
        // The source shows one moment. Anything that a node wrote after it would be lost.
        const now = await copies.sourceOf(home, url, key);
        try {
          await checkNoOtherNode(home, now);
          if ((await copies.nameOfState(now)) !== state) throw texts.rowsDiffer("ledger_heads");
        } finally {
          await now.close();
        }
        if (!isWhole) await target.finish();
        await place.say?.("finished");
        return { ...copied, ...ends, kept: await useStore(home, newUrl) };
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  } finally {
    lock.release();
  }
}

const nothing = (): copies.Copied => ({ rows: 0, contents: 0, files: 0, problems: [] });

/** A daemon on SQLite has locked the home. On PostgreSQL, a daemon may run on any machine. */
async function checkNoOtherNode(home: Home, { tx }: CopySource): Promise<void> {
  if (tx.dialect === "sqlite") return;
  const running = await runningBeside(tx, ownNodeId(home));
  if (running.length > 0) throw texts.nodesRunning(running);
}

async function fill(
  source: CopySource,
  target: CopyTarget,
  state: string,
  say?: Say,
): Promise<copies.Copied> {
  await target.begin(state);
  const copied = await copyInto(source, target, say);
  const copy = await target.look();
  try {
    const table = await differing(source, copy);
    if (table !== undefined) {
      await target.clear();
      throw texts.rowsDiffer(table);
    }
    copied.problems.push(...(await copies.damageIn(copy.tx)).map(copies.describe));
  } finally {
    await copy.close();
  }
  return copied;
}

/** Whether a target with data is the finished copy of this source, which only has to be put into use. */
async function isCopyOf(source: CopySource, target: CopyTarget): Promise<boolean> {
  const copy = await target.look();
  try {
    if (
      (await copies.tableDigest(source, "ledger_heads")) !== (await copies.tableDigest(copy, "ledger_heads"))
    )
      return false;
    if ((await differing(source, copy)) !== undefined) return false;
    for await (const versions of copies.versionsOf(source))
      for (const each of await target.lacking(versions))
        if ((await source.content(each)) !== undefined) return false;
    return true;
  } finally {
    await copy.close();
  }
}

/** The first table whose rows differ. */
async function differing(source: CopySource, copy: CopySource): Promise<CopiedTable | undefined> {
  for (const table of copiedTables)
    if ((await copies.tableDigest(source, table)) !== (await copies.tableDigest(copy, table))) return table;
  return undefined;
}

/** The place of SQLite files while they are put aside. If it exists, that step was interrupted. */
const leaving = (home: Home): string => join(home.path, "moving");

/** From the next start on, the daemon uses this store. Returns the place of the old files. */
async function useStore(home: Home, url: string | undefined): Promise<string | null> {
  const setting = join(home.path, "database-url");
  if (url === undefined) {
    await rm(setting, { force: true });
    return null;
  }
  await mkdir(leaving(home), { recursive: true, mode: 0o700 });
  await writeFile(`${setting}.tmp`, `${url}\n`, { mode: 0o600, flush: true });
  await rename(`${setting}.tmp`, setting);
  for (const path of [home.database, `${home.database}-wal`, `${home.database}-shm`, home.knowledge])
    if (existsSync(path)) await rename(path, join(leaving(home), relative(home.path, path)));
  const kept = join(home.path, `moved-${new Date().toISOString().replace(/[:.]/g, "-")}`);
  await rename(leaving(home), kept);
  return kept;
}

async function copyInto(source: CopySource, target: CopyTarget, say?: Say): Promise<copies.Copied> {
  const copied = nothing();
  for (const table of copiedTables) {
    const from = await target.last(table);
    for await (const rows of copies.pagesOf(source, table, from)) {
      await target.insert(table, rows);
      copied.rows += rows.length;
    }
    await say?.(table);
  }
  for await (const versions of copies.versionsOf(source)) {
    let contents: StoredContent[] = [];
    for (const each of await target.lacking(versions)) {
      const bytes = await copies.contentOf(source, each, copied.problems);
      if (bytes === undefined) continue;
      contents.push({ ...each, bytes });
      copied.contents++;
      if (copies.sizeOf(contents) < copies.bytesAtOnce) continue;
      await target.keep(contents);
      contents = [];
    }
    if (contents.length > 0) await target.keep(contents);
  }
  return copied;
}
