import { hash as digest } from "node:crypto";
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { mkdir, open, rename, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isLow } from "./disk.ts";
import { contentDamaged, diskFull } from "./texts.ts";

/**
 * Moves the content of knowledge versions from the table `blobs` to files named `<folder>/<file id>/<sha256>`.
 *
 *   row of `blobs` ──copied, fsync──▶ row and file ──row deleted──▶ file
 *
 * A version and its row are committed together, so content is durable from the start. The move happens later, when the
 * store is not busy: write to a temporary name, fsync, rename, fsync the folder, delete the row. A crash on the way only
 * repeats the move, with the same name and the same bytes. Readers look for the row first and then for the file.
 */
export class BlobFiles {
  readonly #folder: string;
  #settling: Promise<void> | undefined;
  #waitingSince: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** True if there was a write since the move began. */
  #isWanted = false;
  #retry: NodeJS.Timeout | undefined;
  #closing = false;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  read(fileId: string, hash: string): Uint8Array | undefined {
    const file = join(this.#folder, fileId, hash);
    return existsSync(file) ? readFileSync(file) : undefined;
  }

  /** Starts the move after 200 milliseconds without a write. Under constant load it starts after about 5 seconds. */
  settleSoon(db: DatabaseSync): void {
    this.#isWanted = true;
    if (this.#closing || this.#settling !== undefined) return;
    this.#waitingSince ??= performance.now();
    if (this.#timer !== undefined && performance.now() - this.#waitingSince > patienceMilliseconds) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isWanted = false;
      this.#settling = this.#settle(db, 64)
        // Failed, for example on a full disk. The content is safe in its row, and is moved later.
        .then(
          () => false,
          () => true,
        )
        .then((failed) => {
          this.#settling = undefined;
          this.#timer = undefined;
          this.#waitingSince = undefined;
          if (failed) this.#retry = setTimeout(() => this.settleSoon(db), patienceMilliseconds).unref();
          else if (this.#isWanted) this.settleSoon(db);
        });
    }, idleMilliseconds);
    this.#timer.unref();
  }

  /** Moves one last batch when the store closes. The next process moves the rest. */
  async settleAll(db: DatabaseSync): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    await this.#settling;
    await this.#settle(db, 256).catch(() => undefined);
  }

  async #settle(db: DatabaseSync, limit: number): Promise<void> {
    const rows = db.prepare("select file_id, hash from blobs limit ?").all(limit);
    const contentOf = db.prepare("select content from blobs where file_id = ? and hash = ?");
    const folders = new Set<string>();
    // For a moment, moved content takes twice the space.
    if (rows.length > 0 && isLow(await statfs(this.#folder))) throw diskFull();
    // One at a time, because many large contents would not fit into memory together.
    for (const { file_id, hash } of rows) {
      const content = contentOf.get(String(file_id), String(hash))?.["content"];
      if (!(content instanceof Uint8Array)) continue;
      const folder = join(this.#folder, String(file_id));
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const temporary = join(folder, `.${String(hash)}.tmp`);
      const file = await open(temporary, "w", 0o600);
      try {
        await file.writeFile(content);
        await file.sync();
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      } finally {
        await file.close();
      }
      await rename(temporary, join(folder, String(hash)));
      folders.add(folder);
    }
    for (const folder of folders) await syncFolder(folder);
    if (rows.length === 0) return;
    await syncFolder(this.#folder);
    // This uses the writer's connection. If a group is running on it, the rows stay and the next move deletes them.
    if (db.isTransaction) return;
    const remove = db.prepare("delete from blobs where file_id = ? and hash = ?");
    db.exec("begin immediate");
    try {
      for (const { file_id, hash } of rows) remove.run(String(file_id), String(hash));
      db.exec("commit");
    } catch (error) {
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
    if (rows.length === limit && !this.#closing) await this.#settle(db, limit);
  }
}

/** The content of a version, if it still has the hash of the version. */
export function intact(fileId: string, hash: string, content: unknown): Uint8Array {
  if (content instanceof Uint8Array && digest("sha256", content) === hash) return content;
  throw contentDamaged(fileId, hash, content instanceof Uint8Array);
}

/** Creates the file if it is missing, readable by its owner only. SQLite gives its other files (-wal, -shm) the same mode. */
export function privateFile(path: string): string {
  closeSync(openSync(path, "a", 0o600));
  for (const name of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(name)) chmodSync(name, 0o600);
  return path;
}

const idleMilliseconds = 200;
const patienceMilliseconds = 5000;

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
