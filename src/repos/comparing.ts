import { commitAt, type Mirrored, type MirrorFolders, withObjects } from "./mirror-folders.ts";

/** The changes in a published branch. */
export interface Comparison {
  readonly base: string | null;
  readonly files: { path: string; added: number | null; removed: number | null }[];
  readonly log: { commit: string; author: string; at: string; subject: string }[];
  readonly commits: number;
  readonly diff: string;
  readonly truncated: boolean;
}

const mostDiff = 400_000;
const mostLog = 100;
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** The changes that a commit adds to the default branch. `apart` is the folder of objects that are not in the mirror yet. */
export async function compareWith(
  { folderOf, inMirror, enclose }: MirrorFolders,
  mirror: Mirrored,
  commit: string,
  defaultBranch: string | null,
  apart: string | null = null,
): Promise<Comparison> {
  const head =
    defaultBranch === null ? undefined : await commitAt(folderOf(mirror), `refs/heads/${defaultBranch}`);
  const merged =
    head === undefined
      ? undefined
      : await inMirror(mirror, ["merge-base", "--end-of-options", head, commit], withObjects(apart));
  const base = merged?.ok === true ? merged.out.trim() : null;
  const from = base ?? emptyTree;
  const plain = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--end-of-options",
    from,
    commit,
  ];
  const within = enclose({
    workspace: folderOf(mirror),
    readOnly: true,
    reads: apart === null ? [] : [apart],
  });
  const look = (args: readonly string[], mostBytes?: number) =>
    inMirror(mirror, args, {
      ...withObjects(apart),
      ...(within && { within }),
      ...(mostBytes && { mostBytes }),
    });
  const range = base === null ? [commit] : [`${base}..${commit}`];
  const log = await look([
    "log",
    `--max-count=${mostLog}`,
    "--format=%H%x1f%an%x1f%aI%x1f%s",
    "--end-of-options",
    ...range,
  ]);
  const numbers = await look(["diff", "--numstat", "-z", ...plain], 4 * 1024 * 1024);
  const diff = await look(["diff", ...plain], 4 * mostDiff);
  const count = await look(["rev-list", "--count", "--end-of-options", ...range]);
  return {
    base,
    commits: Number(count.out.trim()),
    files: numbers.out.split("\0").flatMap((line) => {
      const [added = "", removed = "", path] = line.split("\t");
      const lines = (text: string) => (text === "-" ? null : Number(text));
      return path === undefined
        ? []
        : [{ path: path.toWellFormed(), added: lines(added), removed: lines(removed) }];
    }),
    log: log.out.split("\n").flatMap((line) => {
      const [id = "", author = "", at = "", subject] = line.split("\x1f");
      return subject === undefined ? [] : [{ commit: id, author, at, subject }];
    }),
    diff: diff.out.slice(0, mostDiff).toWellFormed(),
    truncated: diff.cut === "size" || diff.out.length > mostDiff,
  };
}
