import type { StatsFs } from "node:fs";
import { Refusal } from "../contract/refusal.ts";

/** A full disk is not a bug: the daemon refuses what it can't write, and continues when there is space again. */
export const diskFull = (): Refusal =>
  new Refusal(
    "unavailable",
    "The disk is full, and nothing was changed. Reading still works.",
    "Free space on the disk of the daemon's data, then call again. The daemon continues without a restart.",
    { retryAfterSeconds: 5 },
  );

/** The database does not answer, or not in time. What was asked for may or may not have happened, if it was a change. */
export const databaseAway = (): Refusal =>
  new Refusal(
    "unavailable",
    "The database does not answer.",
    "Call again in a few seconds, with the same idempotency key if this was a change: it may have been made. The daemon continues without a restart.",
    { retryAfterSeconds: 2 },
  );

/** Whether nothing can be written now, for a reason that ends by itself or outside the daemon. */
export const isUnavailable = (error: unknown): boolean =>
  isDiskFull(error) || (error instanceof Refusal && error.code === "unavailable");

/** Whether an error of the database or the file system says that there is no space left. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof Refusal) return error.message === diskFull().message;
  if (typeof error !== "object" || error === null) return false;
  if ("errcode" in error && sqliteCodes.has(Number(error.errcode))) return true;
  return "code" in error && systemCodes.has(String(error.code));
}

/** The refusal for a write that the disk had no space for; any other error unchanged. */
export function refusedIfFull(error: unknown): unknown {
  return isDiskFull(error) ? diskFull() : error;
}

/** Whether less is free than the margin: a tenth of the disk, 64 MB at most, and the bytes that are needed anyway. */
export function isLow({ bavail, blocks, bsize }: Sizes, needed = 0, factor = 1): boolean {
  return bavail * bsize < (Math.min(64 * 1024 * 1024, (blocks * bsize) / 10) + needed) * factor;
}

type Sizes = Pick<StatsFs, "bavail" | "blocks" | "bsize">;

/** SQLITE_FULL, and SQLITE_IOERR while writing, while truncating, in the shared memory file and while syncing. */
const sqliteCodes = new Set([13, 778, 1034, 1546, 4874, 5386]);
/** The last one is PostgreSQL's. */
const systemCodes = new Set(["ENOSPC", "EDQUOT", "53100"]);
