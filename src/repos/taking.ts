import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { isCommit, type Mirrored, type MirrorFolders, must } from "./mirror-folders.ts";
import type { Refusal } from "../contract/refusal.ts";
import { gitFailed, noCloneThere } from "./texts.ts";

const mostPack = 512 * 1024 * 1024;

/** Commits taken out of a clone. They are apart from the mirror until `place` moves them there. `drop` removes them. */
export interface Taken {
  /** Null if the clone has no such branch; git says why. */
  readonly commit: string | null;
  readonly says: string;
  readonly bytes: number;
  /** The folder with their objects while they are apart. */
  readonly apart: string | null;
  readonly place: () => Promise<void>;
  readonly drop: () => Promise<void>;
}

const nothing = {
  bytes: 0,
  apart: null,
  place: async (): Promise<void> => undefined,
  drop: async (): Promise<void> => undefined,
};

/** How many bytes may still be stored, and the refusal if there are more. */
export interface StorageLeft {
  readonly bytes: number;
  readonly full: Refusal;
}

/**
 * Whether a folder is a clone of this mirror inside the workspace. Without a sandbox, nothing in the clone may point elsewhere:
 * git would read the repositories of others for this session.
 */
async function isCloneIn(
  { folderOf, enclose }: MirrorFolders,
  mirror: Mirrored,
  workspace: string,
  path: string,
): Promise<boolean> {
  try {
    const [root, real] = [await realpath(workspace), await realpath(path)];
    if (real !== root && !real.startsWith(root + sep)) return false;
    const repository = join(real, ".git");
    if (!(await lstat(repository)).isDirectory()) return false;
    if (enclose({ workspace, readOnly: true, reads: [] }) !== undefined) return true;
    const all = await readdir(repository, { recursive: true, withFileTypes: true });
    if (all.some((entry) => entry.isSymbolicLink())) return false;
    if (all.some(({ name, parentPath }) => name === "commondir" && parentPath === repository)) return false;
    const alternates = await readFile(join(repository, "objects", "info", "alternates"), "utf8").catch(
      () => "",
    );
    return alternates.split("\n").every((line) => line === "" || line === join(folderOf(mirror), "objects"));
  } catch {
    return false;
  }
}

/**
 * Takes the commits of a branch out of a session's clone. The session may have prepared the clone to attack its readers. So git
 * makes the pack in a sandbox that shows only the workspace and the mirror. The daemon indexes the pack strictly in a separate
 * folder and checks that nothing is missing.
 */
export async function takeCommits(
  folders: MirrorFolders,
  mirror: Mirrored,
  from: { readonly workspace: string; readonly path: string; readonly branch: string },
  room: StorageLeft,
): Promise<Taken> {
  const { inMirror, exclusions } = folders;
  const folder = folders.folderOf(mirror);
  const { workspace, path, branch } = from;
  const inside = folders.insideOf(mirror, workspace);
  if (!(await isCloneIn(folders, mirror, workspace, path))) throw noCloneThere(path);
  const clone = ["--git-dir", join(path, ".git")];
  const asked = await inside({
    args: [...clone, "rev-parse", "--verify", "--quiet", "--end-of-options", `refs/heads/${branch}^{commit}`],
  });
  const commit = asked.out.trim();
  if (!asked.ok || !isCommit(commit)) return { ...nothing, commit: null, says: asked.says };
  if (await isIn(folders, mirror, commit)) return { ...nothing, commit, says: "" };
  if (room.bytes <= 0) throw room.full;
  const quarantine = join(folders.all, `.incoming-${randomUUID()}`);
  const drop = (): Promise<void> => rm(quarantine, { recursive: true, force: true });
  await mkdir(join(quarantine, "pack"), { recursive: true, mode: 0o700 });
  try {
    const pack = join(quarantine, "received");
    const packed = await inside({
      args: [...clone, "pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"],
      input: `${commit}\n${await exclusions(mirror)}`,
      output: pack,
      mostBytes: Math.min(mostPack, room.bytes),
      seconds: 300,
    });
    if (packed.cut === "size" && room.bytes < mostPack) throw room.full;
    if (!packed.ok) throw gitFailed("pack the commits", packed.says);
    const env = {
      GIT_OBJECT_DIRECTORY: quarantine,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(folder, "objects"),
    };
    const limits = { env, seconds: 300, memoryMb: 4096 };
    await must(
      "accept the commits",
      inMirror(mirror, ["index-pack", "--strict", "--stdin", `--max-input-size=${mostPack}`], {
        ...limits,
        inputFile: pack,
      }),
    );
    await must(
      "find everything that the commits need",
      inMirror(mirror, ["rev-list", "--objects", "--quiet", commit, "--not", "--all"], limits),
    );
    const { size: bytes } = await stat(pack);
    await rm(pack);
    const place = async (): Promise<void> => {
      // The index comes last: without it, git ignores the pack.
      const made = await readdir(join(quarantine, "pack"));
      await mkdir(join(folder, "objects", "pack"), { recursive: true });
      for (const file of made.toSorted((a, b) => Number(a.endsWith(".idx")) - Number(b.endsWith(".idx"))))
        await rename(join(quarantine, "pack", file), join(folder, "objects", "pack", file));
    };
    return { commit, says: "", bytes, apart: quarantine, place, drop };
  } catch (error) {
    await drop();
    throw error;
  }
}

const isIn = async ({ inMirror }: MirrorFolders, mirror: Mirrored, commit: string): Promise<boolean> =>
  (await inMirror(mirror, ["rev-list", "--quiet", "--objects", commit, "--not", "--all"])).ok;

/** Writes the clone's commits that the mirror lacks into bundles, one for each branch. */
export async function bundleCommits(
  folders: MirrorFolders,
  mirror: Mirrored,
  workspace: string,
  path: string,
) {
  if (!(await isCloneIn(folders, mirror, workspace, path))) return [];
  const inside = folders.insideOf(mirror, workspace);
  const clone = ["--git-dir", join(path, ".git")];
  const found = await inside({
    args: [...clone, "for-each-ref", "--count=50", "--format=%(objectname) %(refname)", "refs/heads"],
  });
  const head = await inside({ args: [...clone, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"] });
  const tips = found.out.split("\n").flatMap((line) => {
    const [commit = "", ref = ""] = line.split(" ");
    return isCommit(commit) ? [{ commit, ref }] : [];
  });
  const detached = head.out.trim();
  if (head.ok && isCommit(detached) && !tips.some(({ commit }) => commit === detached))
    tips.push({ commit: detached, ref: "HEAD" });
  const not = await folders.exclusions(mirror);
  const kept = [];
  for (const { commit, ref } of tips) {
    const counted = await inside({
      args: [...clone, "rev-list", "--count", "--stdin"],
      input: `${commit}\n${not}`,
    });
    const commits = Number(counted.out.trim());
    if (!counted.ok || commits === 0) continue;
    const id = randomUUID();
    const file = folders.bundleFile(id);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const made = await inside({
      args: [...clone, "bundle", "create", "--quiet", "-", ref, "--stdin"],
      input: not,
      output: `${file}.part`,
      mostBytes: mostPack,
      seconds: 300,
    });
    if (!made.ok) {
      await rm(`${file}.part`, { force: true });
      throw new Error(`The unpublished commits of ${ref} can't be kept: ${made.says}`);
    }
    await rename(`${file}.part`, file);
    kept.push({
      id,
      commit,
      commits,
      bytes: (await stat(file)).size,
      branch: ref.replace(/^refs\/heads\//, ""),
    });
  }
  return kept;
}
