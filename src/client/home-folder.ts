import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes the home folder, and the folders above it, if they are missing. Node's own recursive mkdir never returns on a file system
 * that refuses every new folder as if its parent were missing, such as /proc.
 */
export function makeHomeFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  if (found === undefined && dirname(path) !== path) makeHomeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it since.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
