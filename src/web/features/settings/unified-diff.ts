/** A diff of git, as its files with their lines. Unknown content stays a line of the file. */
export interface DiffLine {
  readonly kind: "added" | "removed" | "same" | "place";
  /** The text with its line break, without the sign. */
  readonly text: string;
}

export interface FileDiff {
  readonly path: string;
  readonly lines: readonly DiffLine[];
}

export function filesOfDiff(diff: string): FileDiff[] {
  return diff
    .split(/^(?=diff --git )/m)
    .filter((part) => part.startsWith("diff --git "))
    .map((part) => {
      const all = part.split("\n");
      if (all.at(-1) === "") all.pop();
      const first = all.findIndex((line) => line.startsWith("@@"));
      const head = first === -1 ? all : all.slice(0, first);
      return {
        path: pathIn(head),
        lines: first === -1 ? head.slice(1).map(same) : all.slice(first).map(lineOf),
      };
    });
}

function pathIn(head: readonly string[]): string {
  const named = (sign: string): string | undefined =>
    head.find((line) => line.startsWith(`${sign} `) && !line.endsWith("/dev/null"))?.slice(4);
  const name = (named("+++") ?? named("---"))?.replace(/^"?[ab]\//, "").replace(/"$/, "");
  return name ?? head[0]?.replace(/^diff --git "?a\/.*? "?b\//, "").replace(/"$/, "") ?? "";
}

const same = (text: string): DiffLine => ({ kind: "same", text: `${text}\n` });

function lineOf(line: string): DiffLine {
  const rest = `${line.slice(1)}\n`;
  if (line.startsWith("+")) return { kind: "added", text: rest };
  if (line.startsWith("-")) return { kind: "removed", text: rest };
  if (line.startsWith("@@")) return { kind: "place", text: `${line}\n` };
  return { kind: "same", text: rest };
}
