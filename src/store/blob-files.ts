import { mkdirSync, readFileSync } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";

/**
 * Content of knowledge versions as files: `<folder>/<file id>/<sha256>`.
 *
 * Content is durable as a row of `blobs` from the moment its version is. Behind that, and only when the store is not
 * busy, each row is written to its file (temporary name, fsync, rename, fsync of the folder) and then deleted. A crash
 * in between repeats the move, which is harmless: same name, same bytes.
 */
export class BlobFiles {
  readonly #folder: string;
  #settling: Promise<void> | undefined;
  #waitingSince: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closing = false;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  read(fileId: string, hash: string): Uint8Array {
    return readFileSync(join(this.#folder, fileId, hash));
  }

  /** Starts moving content out once no write has come for a moment, under constant load after a while at the latest. */
  settleSoon(db: DatabaseSync): void {
    if (this.#closing || this.#settling !== undefined) return;
    this.#waitingSince ??= performance.now();
    if (this.#timer !== undefined && performance.now() - this.#waitingSince > patienceMilliseconds) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#settling = this.#settle(db, 64).finally(() => {
        this.#settling = undefined;
        this.#timer = undefined;
        this.#waitingSince = undefined;
      });
    }, idleMilliseconds);
    this.#timer.unref();
  }

  /** Stops moving. What is left in the table is moved by the next process. */
  async settleAll(db: DatabaseSync): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#timer);
    await this.#settling;
    await this.#settle(db, 256);
  }

  async #settle(db: DatabaseSync, limit: number): Promise<void> {
    const rows = db.prepare("select file_id, hash from blobs limit ?").all(limit);
    const contentOf = db.prepare("select content from blobs where file_id = ? and hash = ?");
    const folders = new Set<string>();
    // One at a time: many large ones together would not fit into memory.
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
      } finally {
        await file.close();
      }
      await rename(temporary, join(folder, String(hash)));
      folders.add(folder);
    }
    for (const folder of folders) await syncFolder(folder);
    if (rows.length === 0) return;
    await syncFolder(this.#folder);
    // Between two transactions of the store: this runs without waiting, and no transaction waits for anything real.
    if (db.isTransaction) return;
    const remove = db.prepare("delete from blobs where file_id = ? and hash = ?");
    db.exec("begin immediate");
    for (const { file_id, hash } of rows) remove.run(String(file_id), String(hash));
    db.exec("commit");
    if (rows.length === limit && !this.#closing) await this.#settle(db, limit);
  }
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
