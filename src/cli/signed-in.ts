import { renameSync, rmSync, writeFileSync } from "node:fs";
import { makeHomeFolder } from "../client/home-folder.ts";
import { type SignedIn, signInFile } from "./where.ts";

/**
 * The sign-in of the command line: the token of a person and the daemon that gave it, in `sign-in.json` of the home folder,
 * mode 0600. The token is sent only to that daemon. Other programs of the person (`agency connect`) have sign-ins under other
 * names.
 */
export function keepSignIn(home: string, kept: SignedIn, name?: string): void {
  makeHomeFolder(home);
  const file = signInFile(home, name);
  writeFileSync(`${file}.tmp`, JSON.stringify(kept), { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

export function forgetSignIn(home: string, name?: string): void {
  rmSync(signInFile(home, name), { force: true });
}
