// A repository with a bug, and the program that fixes it: for tests of repositories and of their pages.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("developer.mjs", import.meta.url));

/** The brain of a lead, a worker or a reviewer. developer.mjs plays each of them. */
export const developer = (role: string, ...args: string[]) => ({
  adapterType: "process",
  adapterConfig: { command: process.execPath, args: [program, ...args], env: { DEVELOPER: role } },
});

export const git = (cwd: string, ...args: string[]): string =>
  execFileSync("git", ["-c", "user.name=Dev", "-c", "user.email=dev@example.com", ...args], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();

export function makeOrigin(folder: string): string {
  const origin = join(folder, "shop.git");
  const work = join(folder, "work");
  mkdirSync(work);
  git(folder, "init", "-q", "--bare", "-b", "main", origin);
  git(work, "init", "-q", "-b", "main");
  writeFileSync(join(work, "price.mjs"), "export const price = (n) => n * 1.1;\n");
  writeFileSync(
    join(work, "test.mjs"),
    'import { price } from "./price.mjs";\nif (price(3) !== 3.3) throw new Error(`3 costs ${price(3)}`);\nconsole.log("ok 1 - rounds");\n',
  );
  git(work, "add", "-A");
  git(work, "commit", "-qm", "Sell things");
  git(work, "push", "-q", origin, "main");
  return origin;
}
