import { rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isLow } from "../store/disk.ts";
import type { Home } from "./home.ts";

/**
 * The space on the disk of the home folder.
 *
 *   ample ──less than the margin is free──▶ low ──more than the margin and a quarter is free──▶ ample
 *
 * While space is low, operations that change something are refused. The margin is for writes that must still be possible: records
 * of reads, the ends of sessions, and the part of the database that is still in its log. If other programs use up the
 * margin too, the store refuses these writes as well.
 *
 * SQLite needs a few pages to open a database, even for reading. They come from a reserve file. It is removed when a daemon
 * starts while space is low, and written again once the database is open.
 */
export interface Space {
  readonly isLow: () => boolean;
  /** Called when the database is open. Keeps space for the next start. */
  keepReserve(): void;
  stop(): void;
}

const reserveBytes = 1024 * 1024;
const lookEvery = 20;
const lookIdlyEvery = 1000;

export function watchSpace(home: Home, onChange: (isLow: boolean) => void): Space {
  const reserve = join(home.path, "reserve");
  let low = false;
  let lookedAt = -Infinity;
  const look = (): boolean => {
    if (performance.now() - lookedAt < lookEvery) return low;
    lookedAt = performance.now();
    const was = low;
    low = isLow(statfsSync(home.path), sizeOf(`${home.database}-wal`), was ? 1.25 : 1);
    if (low !== was) onChange(low);
    return low;
  };
  const keepReserve = (): void => {
    for (let size = reserveBytes; size > sizeOf(reserve) && !fill(reserve, size); size /= 2) continue;
  };
  if (look()) rmSync(reserve, { force: true });
  const timer = setInterval(() => {
    if (!look()) keepReserve();
  }, lookIdlyEvery);
  timer.unref();
  return { isLow: look, keepReserve, stop: () => clearInterval(timer) };
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function fill(reserve: string, size: number): boolean {
  try {
    writeFileSync(reserve, Buffer.alloc(size, "reserve "), { mode: 0o600 });
    return true;
  } catch {
    rmSync(reserve, { force: true });
    return size < 64 * 1024;
  }
}
