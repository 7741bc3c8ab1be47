import type { StatsFs } from "node:fs";
import { Refusal } from "../contract/refusal.ts";
import { diskFull } from "./texts.ts";

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
