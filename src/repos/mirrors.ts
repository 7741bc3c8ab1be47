import { randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type CloneOrder, cloneFrom } from "./clones.ts";
import { compareWith } from "./comparing.ts";
import { type GitResult, type GitRun, runGit } from "./git.ts";
import {
  commitAt,
  type Mirrored,
  mirrorFolders,
  type MirrorParts,
  must,
  withObjects,
} from "./mirror-folders.ts";
import { resolveHost } from "../capabilities/hosts.ts";
import { type Reached, originWay } from "./origin-way.ts";
import { bundleCommits, type StorageLeft, takeCommits } from "./taking.ts";
import { gitFailed, noteOf, reservedBranch } from "./texts.ts";
import { inMap } from "../contract/in-map.ts";

/**
 * The mirrors: one bare repository for each repository of a company. Its branches are those of the origin and, below `agency/`,
 * those that agents published. Objects are never removed while the repository exists, because clones share them.
 *
 * Calls share a fetch: during a fetch, and for ten seconds after it, no other one starts. After a failure the origin is
 * not asked for half a minute. A clone needs no origin, because it uses the commits in the mirror.
 */
export interface Fetched {
  readonly at: number | null;
  /** The reason why the last fetch failed. */
  readonly trouble: string | null;
}

const fresh = 10_000;
const patience = 30_000;
/** The longest time that a clone waits for the origin before it uses the mirror as it is. The fetch continues. */
const mostWait = 10_000;

export function keepMirrors(parts: MirrorParts) {
  const folders = mirrorFolders(parts);
  const { folderOf, bundleFile, inMirror } = folders;
  const fetches = new Map<string, { running: Promise<Fetched> | null; ended: number; last: Fetched }>();
  // A branch of the origin called `agency` would take the place of the published ones.
  const refspecs = [
    "+refs/heads/*:refs/heads/*",
    "^refs/heads/agency",
    "^refs/heads/agency/*",
    "+refs/tags/*:refs/tags/*",
  ];

  const { resolve = resolveHost } = parts;
  const knownHosts = join(parts.folder, "known_hosts");
  const aligning = new Map<string, Promise<void>>();

  /** Runs git with an origin, at an address that was checked. */
  async function withOrigin(reached: Reached, run: GitRun): Promise<GitResult> {
    const { origin, credential } = reached;
    const way = await originWay(reached, { resolve, knownHosts });
    if ("blocked" in way) return { ok: false, out: "", says: way.blocked, cut: null };
    return runGit({ ...run, transport: origin.transport, way, ...(credential && { credential }) });
  }

  const fetchInto = (folder: string, reached: Reached): Promise<GitResult> =>
    withOrigin(reached, {
      args: [
        "--git-dir",
        folder,
        "fetch",
        "--quiet",
        "--prune",
        "--no-tags",
        "--no-write-fetch-head",
        "--",
        reached.origin.url,
        ...refspecs,
      ],
      seconds: 1800,
    });

  /** Creates the mirror under another name. `place` moves it to its place, `drop` removes it. */
  async function create(mirror: Mirrored, reached: Reached) {
    const folder = join(dirname(folderOf(mirror)), `.${mirror.name}.${randomUUID()}`);
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    const drop = async (): Promise<void> => {
      for (const made of [folder, folderOf(mirror)]) await rm(made, { recursive: true, force: true });
      // Remove these folders only if they are empty.
      for (const empty of [dirname(folder), parts.folder]) await rmdir(empty).catch(() => undefined);
    };
    try {
      await must(
        "make the mirror",
        runGit({ args: ["init", "--quiet", "--bare", "--template=", "--", folder] }),
      );
      const asked = await withOrigin(reached, {
        args: ["ls-remote", "--symref", "--", reached.origin.url, "HEAD"],
      });
      if (!asked.ok) throw gitFailed("reach the origin", asked.says);
      const [, branch] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(asked.out) ?? [];
      if (branch === "agency") throw reservedBranch();
      const fetched = await fetchInto(folder, reached);
      if (!fetched.ok) throw gitFailed("fetch the origin", fetched.says);
      const head = branch === undefined ? undefined : await commitAt(folder, `refs/heads/${branch}`);
      const defaultBranch = head === undefined ? await anyBranch(folder) : (branch ?? null);
      if (defaultBranch !== null) await pointHead(folder, defaultBranch);
      const place = async (): Promise<void> => {
        await rename(folder, folderOf(mirror));
        fetches.set(folderOf(mirror), {
          running: null,
          ended: -Infinity,
          last: { at: Date.now(), trouble: null },
        });
      };
      return { defaultBranch, place, drop };
    } catch (error) {
      await drop();
      throw error;
    }
  }

  const pointHead = (folder: string, branch: string) =>
    runGit({ args: ["--git-dir", folder, "symbolic-ref", "HEAD", `refs/heads/${branch}`] });

  async function anyBranch(folder: string): Promise<string | null> {
    const format = "--format=%(refname:lstrip=2)";
    const { out } = await runGit({ args: ["--git-dir", folder, "for-each-ref", format, "refs/heads"] });
    const all = out.split("\n").filter((name) => name !== "" && !name.startsWith("agency/"));
    return ["main", "master"].find((name) => all.includes(name)) ?? all[0] ?? null;
  }

  /** Fetches once for all who ask at the same time. `force` fetches even right after another fetch. */
  function fetch(mirror: Mirrored, reached: Reached, { force = false } = {}): Promise<Fetched> {
    const folder = folderOf(mirror);
    const known = inMap(fetches, folder, () => ({
      running: null,
      ended: -Infinity,
      last: stateOf(folder),
    }));
    if (known.running !== null) return known.running;
    const rest = known.last.trouble === null ? fresh : patience;
    if (!force && performance.now() - known.ended < rest) return Promise.resolve(known.last);
    const running = update(mirror, reached)
      .then(({ ok, says }) => ({ at: ok ? Date.now() : known.last.at, trouble: ok ? null : says }))
      .catch((error: unknown) => ({
        at: known.last.at,
        trouble: error instanceof Error ? error.message : String(error),
      }))
      .then((last) => {
        Object.assign(known, { running: null, ended: performance.now(), last });
        return last;
      });
    known.running = running;
    return running;
  }

  /** If another node added the repository, this node creates its own mirror now. */
  async function update(mirror: Mirrored, reached: Reached): Promise<{ ok: boolean; says: string }> {
    if (existsSync(folderOf(mirror))) return fetchInto(folderOf(mirror), reached);
    await (await create(mirror, reached)).place();
    return { ok: true, says: "" };
  }

  const stateOf = (folder: string): Fetched => ({
    at: statSync(join(folder, "packed-refs"), { throwIfNoEntry: false })?.mtimeMs ?? null,
    trouble: null,
  });

  const state = (mirror: Mirrored): Fetched =>
    fetches.get(folderOf(mirror))?.last ?? stateOf(folderOf(mirror));

  /** Whether one commit is part of the history of another. */
  const contains = async (
    mirror: Mirrored,
    commit: string,
    within: { readonly commit: string; readonly apart: string | null },
  ): Promise<boolean> =>
    (
      await inMirror(
        mirror,
        ["merge-base", "--is-ancestor", commit, within.commit],
        withObjects(within.apart),
      )
    ).ok;

  async function setBranch(mirror: Mirrored, branch: string, commit: string): Promise<void> {
    const args = ["update-ref", "--end-of-options", `refs/heads/${branch}`, commit];
    await must("name the branch", inMirror(mirror, args, { seconds: 10 }));
  }

  /**
   * Makes the published branches of a mirror match the rows. A branch is named before its row is committed, and the commit may
   * fail. The rows are read when it is this mirror's turn, so they are never older than the branches. Commits that only another
   * node's mirror has stay without a branch here.
   */
  function align(mirror: Mirrored, rows: () => Promise<readonly { name: string; commit_id: string }[]>) {
    const folder = folderOf(mirror);
    const work = async (): Promise<void> => {
      if (!existsSync(folder)) return;
      const wanted = new Map((await rows()).map((row) => [`refs/heads/${row.name}`, row.commit_id]));
      const format = "--format=%(objectname) %(refname)";
      const { out } = await inMirror(mirror, ["for-each-ref", format, "refs/heads/agency/"]);
      const there = new Map(
        out.split("\n").flatMap((line): [string, string][] => {
          const [commit = "", ref] = line.split(" ", 2);
          return ref === undefined ? [] : [[ref, commit]];
        }),
      );
      for (const ref of there.keys())
        if (!wanted.has(ref)) await inMirror(mirror, ["update-ref", "-d", "--end-of-options", ref]);
      for (const [ref, commit] of wanted)
        if (
          there.get(ref) !== commit &&
          (await inMirror(mirror, ["cat-file", "-e", `${commit}^{commit}`])).ok
        )
          await inMirror(mirror, ["update-ref", "--end-of-options", ref, commit]);
    };
    const mine = (aligning.get(folder) ?? Promise.resolve()).then(work, work);
    aligning.set(folder, mine);
    return mine.finally(() => aligning.get(folder) === mine && aligning.delete(folder));
  }

  async function push(mirror: Mirrored, reached: Reached, commit: string, to: string) {
    const args = [
      "--git-dir",
      folderOf(mirror),
      "push",
      "--quiet",
      "--no-verify",
      "--no-follow-tags",
      "--",
      reached.origin.url,
      `${commit}:refs/heads/${to}`,
    ];
    const pushed = await withOrigin(reached, { args, seconds: 300 });
    if (!pushed.ok) throw gitFailed(`push to the branch ${to} of the origin`, pushed.says);
    if (!to.startsWith("agency/")) await setBranch(mirror, to, commit);
  }

  return {
    folderOf,
    create,
    fetch,
    /** Like fetch, but stops waiting soon if the origin does not answer. */
    refresh: async (mirror: Mirrored, reached: Reached): Promise<Fetched> => {
      const fetching = fetch(mirror, reached);
      if (!existsSync(folderOf(mirror))) {
        const made = await fetching;
        if (made.trouble !== null) throw gitFailed("fetch the origin", made.trouble);
        return made;
      }
      return Promise.race([
        fetching,
        new Promise<Fetched>((resolve) => {
          setTimeout(() => resolve({ ...state(mirror), trouble: noteOf.slow }), mostWait).unref();
        }),
      ]);
    },
    state,
    clone: (order: CloneOrder) => cloneFrom(folders, order),
    take: (mirror: Mirrored, from: { workspace: string; path: string; branch: string }, room: StorageLeft) =>
      takeCommits(folders, mirror, from, room),
    compare: (mirror: Mirrored, commit: string, defaultBranch: string | null, apart?: string | null) =>
      compareWith(folders, mirror, commit, defaultBranch, apart),
    contains,
    setBranch,
    align,
    push,
    bundle: (mirror: Mirrored, workspace: string, path: string) =>
      bundleCommits(folders, mirror, workspace, path),
    /** Bundles that can't be removed now are removed at the next start. */
    dropBundles: async (ids: readonly string[]): Promise<void> => {
      for (const id of ids) await rm(bundleFile(id), { force: true }).catch(() => undefined);
    },
    bundleFile,
    has: (mirror: Mirrored): boolean => existsSync(folderOf(mirror)),
    remove: async (mirror: Mirrored): Promise<void> => {
      fetches.delete(folderOf(mirror));
      await rm(folderOf(mirror), { recursive: true, force: true }).catch(() => undefined);
    },
    /** Removes what a crash left: unfinished work, and files that no row names any more. */
    sweep: async (isGone: {
      readonly mirror: (companyId: string, folder: string) => Promise<boolean>;
      readonly bundle: (id: string) => Promise<boolean>;
    }): Promise<void> => {
      for (const companyId of await namesIn(parts.folder))
        for (const name of await namesIn(join(parts.folder, companyId))) {
          const isLeft =
            companyId.startsWith(".") ||
            name.startsWith(".") ||
            (companyId === "bundles"
              ? await isGone.bundle(name.replace(/\.bundle$/, ""))
              : await isGone.mirror(companyId, join(parts.folder, companyId, name)));
          if (isLeft) await rm(join(parts.folder, companyId, name), { recursive: true, force: true });
        }
    },
  };
}
const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

export type Mirrors = ReturnType<typeof keepMirrors>;
