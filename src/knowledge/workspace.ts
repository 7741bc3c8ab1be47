import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import * as texts from "./texts.ts";

/**
 * Files that cross between a session's workspace and the knowledge base.
 *
 * A session controls its workspace and may change it at any moment, so a name proves nothing. The file is opened first,
 * without following a link at the end of the path and without waiting on a pipe. The open descriptor then tells what kind
 * of file it is and where it lies, and the bytes are read from that same descriptor.
 *
 * Rejected: resolve the name, then read the file. A session that swaps in a link between the two steps would read any file of
 * the host.
 */
export function readFromWorkspace(workspace: string, path: string, maxBytes: number): Uint8Array {
  if (path.includes("\0")) throw outside(path);
  const root = rootOf(workspace);
  const target = isAbsolute(path) ? resolve(path) : resolve(root, path);
  const descriptor = openWithoutFollowing(target, path);
  try {
    const before = fstatSync(descriptor);
    const place = placeOf(descriptor, target);
    if (!liesWithin(place, root)) throw outside(path);
    if (!before.isFile()) throw texts.unusablePath(path, "is not a regular file");
    // A second hard link may lie outside the workspace. The bytes would then belong to another user or program.
    if (before.nlink !== 1)
      throw texts.unusablePath(path, "has several hard links, so it may also lie outside your workspace");
    // While a hard link is being removed, the kernel lowers the count before the name leaves its folder. For a moment, a file
    // outside could look as if its only name were here. The removal holds the folder's lock, so reading the folder waits until
    // the removal is done. After that the place is checked again.
    waitForFolder(dirname(place));
    if (placeOf(descriptor, target) !== place) throw outside(path);
    if (before.size > maxBytes) throw texts.contentTooLarge(before.size, maxBytes);
    return readWhole(descriptor, maxBytes);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Writes a read-only copy of a version to `kb/<id>` in the workspace and returns its path. The copy is written under another
 * name and renamed, because a rename replaces a link at the target instead of following it. On Linux, both names are
 * reached through the open folder (/proc/self/fd), so it does not matter if `kb` becomes a link meanwhile.
 */
export function placeCopy(workspace: string, fileId: string, content: Uint8Array): string {
  const folder = join(rootOf(workspace), "kb");
  const { O_RDONLY, O_WRONLY, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW } = constants;
  try {
    mkdirSync(folder, { recursive: true });
    const directory = openSync(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const inside = process.platform === "linux" ? `/proc/self/fd/${directory}` : folder;
      const temporary = join(inside, `.${fileId}`);
      rmSync(temporary, { force: true });
      const descriptor = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o444);
      try {
        writeFileSync(descriptor, content);
        fchmodSync(descriptor, 0o444);
      } finally {
        closeSync(descriptor);
      }
      renameSync(temporary, join(inside, fileId));
    } finally {
      closeSync(directory);
    }
  } catch (error) {
    throw texts.copyFailed(fileId, codeOf(error));
  }
  return join(folder, fileId);
}

function openWithoutFollowing(target: string, path: string): number {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    throw outside(path);
  }
}

function rootOf(workspace: string): string {
  try {
    return realpathSync(workspace);
  } catch (error) {
    throw texts.workspaceUnreadable(codeOf(error));
  }
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}

/** The place of the open file. Empty if it can't be found out; the file is then refused as outside. */
function placeOf(descriptor: number, target: string): string {
  try {
    return process.platform === "linux"
      ? readlinkSync(`/proc/self/fd/${descriptor}`)
      : (whereItIsNow(descriptor, target) ?? "");
  } catch {
    return "";
  }
}

function liesWithin(place: string, root: string): boolean {
  return place.startsWith(root + sep) && !place.endsWith(" (deleted)");
}

function waitForFolder(folder: string): void {
  try {
    const entries = opendirSync(folder, { bufferSize: 1 });
    entries.readSync();
    entries.closeSync();
  } catch {
    // The folder was moved or deleted. Then the file has moved too, and the second check of its place refuses it.
  }
}

/** For systems without /proc: the path as it resolves now, if it still leads to the file that is open. */
function whereItIsNow(descriptor: number, target: string): string | undefined {
  const place = realpathSync(target);
  const opened = fstatSync(descriptor);
  const named = statSync(place);
  return opened.dev === named.dev && opened.ino === named.ino ? place : undefined;
}

/** Reads to the end of the file. The file may grow meanwhile, so reading stops one byte past the limit. */
function readWhole(descriptor: number, maxBytes: number): Uint8Array {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const chunk = new Uint8Array(Math.min(65_536, maxBytes + 1 - size));
    const count = readSync(descriptor, chunk, 0, chunk.length, null);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    size += count;
    if (size > maxBytes) throw texts.contentTooLarge(size, maxBytes);
  }
  return Buffer.concat(chunks);
}

/**
 * One refusal for four cases: the file does not exist, is a link, can't be opened, or lies outside. A folder on the way may be
 * a link, so a more exact refusal would tell what exists on this machine.
 */
const outside = (path: string) =>
  texts.unusablePath(path, "is not a file in your workspace that can be opened without following a link");
