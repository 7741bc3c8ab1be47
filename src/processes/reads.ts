import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, sep } from "node:path";

/**
 * The files that a session must be able to read to run this command: Node, the program, its interpreter, what is installed with
 * them, and the files that the arguments and the brain name. Files in Agency's home, and folders that contain it, are left out
 * even if the command names them.
 */
export function readsOf(
  command: readonly string[],
  at: { path: string; home: string; more?: readonly string[] },
): string[] {
  const [program = "", ...args] = command;
  const home = realpathSync(at.home);
  const found = [
    ...readsOfProgram(process.execPath, at.path),
    ...readsOfProgram(program, at.path),
    ...args.filter((arg) => isAbsolute(arg) && isFile(arg)).flatMap((arg) => [arg, ...packagesAround(arg)]),
    ...(at.more ?? []),
  ].filter((path) => overlaps(realpathSync(path), home) === false);
  // Files in one of the folders need not be named again, and a symbolic link there can't be.
  return [...new Set(found)].filter(
    (path) => !found.some((folder) => folder !== path && overlaps(path, folder) === "inside"),
  );
}

/** Whether a folder neither contains Agency's home nor lies in it. */
export const isApartFrom = (path: string, home: string): boolean =>
  overlaps(realpathSync(path), realpathSync(home)) === false;

function readsOfProgram(program: string, path: string, depth = 0): string[] {
  const file = findProgram(program, path);
  if (file === undefined || depth > 3) return [];
  const interpreters = interpretersOf(file).flatMap((next) => readsOfProgram(next, path, depth + 1));
  return [file, ...installFolders(file), ...interpreters];
}

function findProgram(program: string, path: string): string | undefined {
  const places = program.includes("/")
    ? [program]
    : path.split(delimiter).map((folder) => join(folder, program));
  return places.find((place) => isAbsolute(place) && isFile(place) && isAllowed(place, constants.X_OK));
}

/** `#!/usr/bin/env node` names env and node. */
function interpretersOf(file: string): string[] {
  const start = Buffer.alloc(256);
  // A program that can be run but not read has no readable first line.
  if (!isAllowed(file, constants.R_OK)) return [];
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, start);
  } finally {
    closeSync(descriptor);
  }
  const [, line = ""] = /^#!\s*([^\n\0]+)/.exec(start.toString("latin1")) ?? [];
  return line.split(/\s+/).filter((word) => word !== "" && !word.startsWith("-"));
}

/**
 * The folder with the `bin` and `lib` of a program, unless people keep other things there, and the packages around the program.
 */
function installFolders(file: string): string[] {
  const prefixes = [file, realpathSync(file)]
    .filter((path) => basename(dirname(path)) === "bin")
    .map((path) => dirname(dirname(path)))
    .filter((prefix) => existsSync(join(prefix, "lib")) && !isPersonal(prefix));
  return [realpathSync(file), ...prefixes, ...packagesAround(file)];
}

/** The outermost node_modules around a file: packages use each other. */
function packagesAround(file: string): string[] {
  return [file, realpathSync(file)].flatMap((path) => {
    const [before = "", inside] = path.split(`${sep}node_modules${sep}`, 2);
    return inside === undefined ? [] : [join(before, "node_modules")];
  });
}

function isPersonal(folder: string): boolean {
  const above = dirname(folder);
  return (
    overlaps(realOr(homedir()), realOr(folder)) === "inside" ||
    ["/", "/home", "/Users"].some((place) => place === above || place === folder) ||
    basename(folder) === ".local"
  );
}

/** The relation of two folders, as seen from the second: the first one is inside it, around it, or apart. */
function overlaps(first: string, second: string): "inside" | "around" | false {
  if (`${first}/`.startsWith(`${second}/`)) return "inside";
  return `${second}/`.startsWith(`${first}/`) ? "around" : false;
}

/** Some users have a home that does not exist. */
function realOr(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
