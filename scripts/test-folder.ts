import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface RunFolder {
  readonly path: string;
  /** The content of the folder. Empty after a run that cleaned up. */
  readonly left: () => string[];
  /** The newest files and folders below it. They show which program left them. */
  readonly newestFiles: (count: number) => string[];
  readonly remove: () => void;
}

/**
 * The run's folder for temporary files, in memory if the system supports it. Tests kill processes but don't cut the power, so
 * files need not survive that. On a disk, the store tests took twice as long.
 */
export function runFolder(): RunFolder {
  const inMemory = "/dev/shm";
  const parent = process.env["TMPDIR"] === undefined && hasRoom(inMemory) ? inMemory : tmpdir();
  removeAbandoned(parent);
  const path = mkdtempSync(join(parent, `${prefix}${process.pid}-`));
  // If the tests run as root, PostgreSQL runs as another user and needs access.
  chmodSync(path, 0o1777);
  return {
    path,
    left: () => readdirSync(path),
    newestFiles: (count) =>
      readdirSync(path, { recursive: true, encoding: "utf8" })
        .map((name) => ({ name, changed: lstatSync(join(path, name)).mtime }))
        .toSorted((a, b) => b.changed.getTime() - a.changed.getTime())
        .slice(0, count)
        .map(({ name, changed }) => `${name}, written ${changed.toISOString()}`),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

const prefix = "agency-tests-";
const gigabyte = 2 ** 30;

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > 4 * gigabyte;
  } catch {
    return false;
  }
}

/** Removes the folders of runners that were killed. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = Number(new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
