import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates the home folder, and missing folders above it. Node's own recursive mkdir never returns on some file systems, such as
 * /proc: they refuse every new folder as if its parent were missing.
 */
export function makeHomeFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  if (found === undefined && dirname(path) !== path) makeHomeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created the folder since.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
