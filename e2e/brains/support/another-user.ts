// A daemon that runs as another user of the machine, for tests that run as root. That user can't read the folders of root, so
// copies of the program, its Node and the programs of the brains are mounted elsewhere.
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DaemonOptions } from "../../support/daemon.ts";
import { programFolder } from "./programs.ts";

/** The user without rights, on every Linux. */
export const anotherUser = 65_534;
export const isRoot = process.getuid?.() === 0;

/** Gives the home to that user, and returns the command for its daemon. `folder` gets the mounted folders. */
export function asAnotherUser(
  folder: string,
  home: string,
): Required<Pick<DaemonOptions, "command" | "env">> {
  chmodSync(folder, 0o755);
  chownSync(home, anotherUser, anotherUser);
  const shown = {
    node: dirname(process.execPath),
    agency: fileURLToPath(new URL("../../..", import.meta.url)),
    programs: dirname(dirname(programFolder())),
  };
  const binds = Object.entries(shown).flatMap(([name, path]) => {
    const place = join(folder, name);
    mkdirSync(place, { mode: 0o755 });
    return [path, place];
  });
  const script = [
    'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 1; shift 2; done; shift',
    `exec setpriv --reuid=${anotherUser} --regid=${anotherUser} --clear-groups "$@"`,
  ].join("; ");
  const at = (...path: readonly string[]): string => join(folder, ...path);
  return {
    command: [
      "unshare",
      "--mount",
      "sh",
      "-c",
      script,
      "sh",
      ...binds,
      "--",
      at("node", "node"),
      at("agency", "dist/cli/main.js"),
    ],
    env: {
      HOME: home,
      PATH: `${at("programs", "node_modules", ".bin")}:${at("node")}:/usr/bin:/bin`,
      NODE_COMPILE_CACHE: "",
    },
  };
}
