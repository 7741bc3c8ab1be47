import type { StatsFs } from "node:fs";
import { Refusal } from "../contract/refusal.ts";
import { diskFull } from "./texts.ts";

/** Whether nothing can be written now, for a reason that will end without a change of the program. */
export const isUnavailable = (error: unknown): boolean =>
  isDiskFull(error) || (error instanceof Refusal && error.code === "unavailable");

/** Whether an error of the database or the file system means that there is no space left. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof Refusal) return error.message === diskFull().message;
  if (typeof error !== "object" || error === null) return false;
  if ("errcode" in error && sqliteCodes.has(Number(error.errcode))) return true;
  return "code" in error && systemCodes.has(String(error.code));
}

/** A refusal if the disk had no space for a write. Any other error is returned unchanged. */
export function refusedIfFull(error: unknown): unknown {
  return isDiskFull(error) ? diskFull() : error;
}

/** Whether the free space is below the margin: a tenth of the disk, at most 64 MB, plus the needed bytes. */
export function isLow({ bavail, blocks, bsize }: Sizes, needed = 0, factor = 1): boolean {
  return bavail * bsize < (Math.min(64 * 1024 * 1024, (blocks * bsize) / 10) + needed) * factor;
}

type Sizes = Pick<StatsFs, "bavail" | "blocks" | "bsize">;

/** SQLITE_FULL, and SQLITE_IOERR while writing, while truncating, in the shared memory file and while syncing. */
const sqliteCodes = new Set([13, 778, 1034, 1546, 4874, 5386]);
/** The last code is PostgreSQL's. */
const systemCodes = new Set(["ENOSPC", "EDQUOT", "53100"]);
