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
import { Refusal } from "../contract/refusal.ts";

/**
 * Files that cross between a session's workspace and the knowledge base.
 *
 * A session controls its workspace and may change it while we look. So nothing is decided from a name: the file is
 * opened first, without following a link at its end and without waiting on a pipe; then the opened descriptor is asked
 * what it is and where it lies; and the bytes are read from that descriptor. Rejected: resolve the name, then read it
 * (swapping a link in between reads any file of the host).
 */
export function readFromWorkspace(workspace: string, path: string, maxBytes: number): Uint8Array {
  if (path.includes("\0")) throw outside(path);
  const root = rootOf(workspace);
  const target = isAbsolute(path) ? resolve(path) : resolve(root, path);
  const descriptor = openWithoutFollowing(target, path);
  try {
    const before = fstatSync(descriptor);
    if (!before.isFile())
      throw new Refusal(
        "refused",
        `${path} is not a regular file.`,
        "Name a regular file in your workspace.",
      );
    // A second name may lie outside the workspace: the bytes would then not be the session's own.
    if (before.nlink !== 1)
      throw new Refusal(
        "refused",
        `${path} has more than one name (hard links).`,
        "Copy it within your workspace and name the copy.",
      );
    const place = placeOf(descriptor, target);
    if (!liesWithin(place, root)) throw outside(path);
    // A name that is being removed has left the count before it leaves the folder: a file outside looks for a moment as
    // if it had one name, and that one here. Whoever removes it holds the folder; reading the folder waits for that.
    waitForFolder(dirname(place));
    if (placeOf(descriptor, target) !== place) throw outside(path);
    if (before.size > maxBytes) throw tooLarge(before.size, maxBytes);
    return readWhole(descriptor, maxBytes);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * A read-only copy of a version at `kb/<id>` in the workspace; answers its path. Made under another name and moved into
 * place, which replaces a link there instead of following it, and below the folder that was opened, which on Linux stays
 * the same whatever its name leads to by now.
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
    throw new Refusal(
      "refused",
      `The copy of ${fileId} could not be placed in the workspace (${codeOf(error)}).`,
      "Remove what stands in its way (kb must be a folder, not a link) and call again; or read_file.",
    );
  }
  return join(folder, fileId);
}

export function tooLarge(size: number, maxBytes: number): Refusal {
  return new Refusal(
    "too_large",
    `The content has ${size} bytes; a file may have ${maxBytes}.`,
    "Split it into smaller files that link to each other (kb://<id>), or ask the board to raise maxFileBytes.",
  );
}

function openWithoutFollowing(target: string, path: string): number {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return openSync(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ELOOP")
      throw new Refusal("refused", `${path} is a link.`, "Name the file itself, in your workspace.");
    throw new Refusal(
      "refused",
      `${path} cannot be opened (${code}).`,
      "Name a file that exists in your workspace.",
    );
  }
}

function rootOf(workspace: string): string {
  try {
    return realpathSync(workspace);
  } catch (error) {
    throw new Refusal(
      "refused",
      `Your workspace cannot be opened (${codeOf(error)}).`,
      "Send content instead of path; read files one by one (read_file).",
    );
  }
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}

/** Where the opened file lies; the empty text when nobody can tell. */
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
    // It was moved or deleted; then the file is not where it was either.
  }
}

/** Without /proc: the name as it resolves now, if it still leads to the very file that was opened. */
function whereItIsNow(descriptor: number, target: string): string | undefined {
  const place = realpathSync(target);
  const opened = fstatSync(descriptor);
  const named = statSync(place);
  return opened.dev === named.dev && opened.ino === named.ino ? place : undefined;
}

/** Reads to the end, also when the file grows meanwhile, but never more than one byte past the limit. */
function readWhole(descriptor: number, maxBytes: number): Uint8Array {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const chunk = new Uint8Array(Math.min(65_536, maxBytes + 1 - size));
    const count = readSync(descriptor, chunk, 0, chunk.length, null);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    size += count;
    if (size > maxBytes) throw tooLarge(size, maxBytes);
  }
  return Buffer.concat(chunks);
}

function outside(path: string): Refusal {
  return new Refusal(
    "refused",
    `${path} is not inside your workspace.`,
    "Write the file into your workspace first, then name it.",
  );
}
