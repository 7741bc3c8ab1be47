import { join } from "node:path";
import type { Resolve } from "../capabilities/hosts.ts";
import { type Enclosure, type GitResult, type GitRun, runGit } from "./git.ts";
import { gitFailed } from "./texts.ts";

/** Where mirrors and bundles are stored, and how git runs in a mirror or in a session's clone. */
export interface MirrorParts {
  /** The folder of all mirrors. */
  readonly folder: string;
  /**
   * Makes a sandbox for git that shows these paths and nothing else of this machine's data. Undefined if there is no sandbox.
   */
  readonly enclose: (shows: Shows) => Enclosure | undefined;
  readonly resolve?: Resolve;
}

export interface Shows {
  /** The folder where git starts. Git may write to it unless `readOnly` is set. */
  readonly workspace: string;
  readonly readOnly?: boolean;
  readonly reads: readonly string[];
}

export interface Mirrored {
  readonly companyId: string;
  readonly name: string;
  /** A repository that is removed and added again gets another id. So no node shows what it kept of the first one. */
  readonly id: string;
}

/** Returns the answer of git, or refuses with what git could not do. */
export async function must(what: string, run: Promise<GitResult>): Promise<string> {
  const result = await run;
  if (!result.ok) throw gitFailed(what, result.says);
  return result.out;
}

export async function commitAt(folder: string, ref: string): Promise<string | undefined> {
  const args = [
    "--git-dir",
    folder,
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${ref}^{commit}`,
  ];
  const { ok, out } = await runGit({ args });
  return ok ? out.trim() : undefined;
}

/** Lets git see objects that are not in the mirror yet. */
export const withObjects = (apart: string | null): Pick<GitRun, "env"> =>
  apart === null ? {} : { env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: apart } };

export const isCommit = (id: string): boolean => /^[0-9a-f]{40}$|^[0-9a-f]{64}$/.test(id);

export function mirrorFolders({ folder: all, enclose }: MirrorParts) {
  const folderOf = ({ companyId, name, id }: Mirrored): string => join(all, companyId, `${name}.${id}.git`);
  const inMirror = (mirror: Mirrored, args: readonly string[], more: Partial<GitRun> = {}) =>
    runGit({ args: ["--git-dir", folderOf(mirror), ...args], ...more });
  return {
    all,
    enclose,
    folderOf,
    bundles: join(all, "bundles"),
    bundleFile: (id: string): string => join(all, "bundles", `${id}.bundle`),
    inMirror,

    /** Runs git in the clone of a session, in a sandbox that shows only the workspace and the mirror. */
    insideOf: (mirror: Mirrored, workspace: string) => {
      const folder = folderOf(mirror);
      const within = enclose({ workspace, readOnly: true, reads: [folder] });
      const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(folder, "objects") };
      return (run: GitRun) => runGit({ ...run, env, ...(within && { within }) });
    },

    /** The commits that the mirror already has, as arguments for git. */
    exclusions: async (mirror: Mirrored): Promise<string> => {
      const { out } = await inMirror(mirror, ["for-each-ref", "--format=^%(objectname)"]);
      return [...new Set(out.split("\n"))].join("\n");
    },
  };
}
export type MirrorFolders = ReturnType<typeof mirrorFolders>;
