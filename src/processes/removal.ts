import { execFile } from "node:child_process";
import { lstatSync, unlinkSync } from "node:fs";

/**
 * Removes folders that a session could fill as it liked: with folders it can't enter, with paths longer than the system
 * accepts, with links to the outside, with any number of files. Other programs do the work. They may take as long as they need
 * without blocking the daemon, and they go from folder to folder, so a long path does not matter. They follow no links. There
 * is one removal at a time, because sessions often end together.
 */
export function remover(): (path: string) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  return (path) => {
    const removed = last.then(() => removeTree(path));
    last = removed.catch(() => undefined);
    return removed;
  };
}

async function removeTree(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === false) unlinkSync(path);
  if (found?.isDirectory() !== true) return;
  for (const step of steps) {
    if (step !== undefined)
      await run(
        step[0],
        step.slice(1).map((word) => (word === "{path}" ? path : word)),
      );
    await run("rm", ["-rf", "--", path]);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  }
  throw new Error(`The folder ${path} can't be removed.`);
}

/**
 * The steps to try when `rm` alone fails. Only the modes of folders are changed: a file may have another name outside, which
 * shares its mode. `-execdir` runs before find enters the folder.
 */
const steps: readonly (readonly [string, ...string[]] | undefined)[] = [
  undefined,
  ["find", "{path}", "-type", "d", "!", "-perm", "-0700", "-execdir", "chmod", "u+rwx", "{}", ";"],
  ["chattr", "-R", "-i", "-a", "--", "{path}"],
];

/** Fails silently, because removeTree() looks at the result. */
async function run(program: string, args: readonly string[]): Promise<void> {
  await new Promise<void>((resolve) => {
    execFile(program, args, { env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" }, cwd: "/" }, () => resolve());
  });
}
