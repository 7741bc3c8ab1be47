import { randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { mkdir, open, rename, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { runGit } from "./git.ts";
import { commitAt, type Mirrored, type MirrorFolders, must } from "./mirror-folders.ts";
import { noteOf } from "./texts.ts";

/** Clones of a mirror in the workspace of a session. */
export interface CloneOrder extends Mirrored {
  readonly workspace: string;
  /** Whether the session's sandbox shows the mirror. If not, the objects are copied. */
  readonly isShared: boolean;
  readonly defaultBranch: string | null;
  readonly author: { readonly name: string; readonly email: string };
  /** Commits of earlier sessions of the agent that were not published. */
  readonly bundles: readonly { readonly id: string; readonly branch: string }[];
}

export async function cloneFrom(folders: MirrorFolders, order: CloneOrder) {
  const { workspace, isShared, author, defaultBranch, name } = order;
  const { bundleFile, enclose } = folders;
  const folder = folders.folderOf(order);
  // Beside the workspace: the session may change anything inside at any moment, and a rename must stay on one disk.
  const staging = join(dirname(workspace), `.clone-${randomUUID()}`);
  await mkdir(staging, { mode: 0o700 });
  try {
    const bundles = order.bundles.filter(({ id }) => existsSync(bundleFile(id)));
    const within = enclose({
      workspace: staging,
      reads: [folder, ...bundles.map(({ id }) => bundleFile(id))],
    });
    const run = (args: readonly string[], seconds = 300) =>
      runGit({ args, transport: "file", seconds, ...(within && { within }) });
    await must(
      "clone the mirror",
      run([
        "clone",
        "--quiet",
        "--template=",
        isShared ? "--shared" : "--no-hardlinks",
        ...["gc.auto=0", `user.name=${author.name}`, `user.email=${author.email}`].flatMap((each) => [
          "--config",
          each,
        ]),
        ...(defaultBranch === null ? [] : ["--branch", defaultBranch]),
        "--",
        folder,
        staging,
      ]),
    );
    const notes: string[] = [];
    for (const { id, branch } of bundles) {
      const to = `unpublished/${id.slice(-8)}/${branch}`;
      const ref = branch === "HEAD" ? "HEAD" : `refs/heads/${branch}`;
      const args = [
        "-C",
        staging,
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--",
        bundleFile(id),
        `${ref}:refs/heads/${to}`,
      ];
      if ((await run(args)).ok) notes.push(noteOf.unpublished(to));
    }
    const tree = await run([
      "-C",
      staging,
      "ls-files",
      "-s",
      "--",
      ":(glob)**/.gitattributes",
      ".gitmodules",
    ]);
    if (tree.out.includes("\t.gitmodules")) notes.push(noteOf.submodules);
    if (/\.gitattributes/.test(tree.out)) {
      const lfs = await run([
        "-C",
        staging,
        "grep",
        "-q",
        "--cached",
        "-E",
        "filter=lfs",
        "--",
        ":(glob)**/.gitattributes",
      ]);
      if (lfs.ok) notes.push(noteOf.largeFiles);
    }
    const commit = await commitAt(folder, `refs/heads/${defaultBranch ?? "main"}`);
    const place = await placeIn(workspace, name, staging);
    return { folder: basename(place), path: place, branch: defaultBranch, commit: commit ?? null, notes };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Moves a finished clone into the workspace, under the first free name. Does not follow links that the session put there. */
async function placeIn(workspace: string, name: string, from: string): Promise<string> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const directory = await open(workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const inside = process.platform === "linux" ? `/proc/self/fd/${directory.fd}` : workspace;
    for (let number = 1; ; number++) {
      const place = number === 1 ? name : `${name}-${number}`;
      try {
        await mkdir(join(inside, place), { mode: 0o700 });
      } catch (error) {
        if (number < 100 && error instanceof Error && "code" in error && error.code === "EEXIST") continue;
        throw error;
      }
      // The rename can replace an empty folder, and nothing else.
      await rename(from, join(inside, place)).catch(async (error: unknown) => {
        await rmdir(join(inside, place)).catch(() => undefined);
        throw error;
      });
      return join(workspace, place);
    }
  } finally {
    await directory.close();
  }
}
