import { diffLines, diffWordsWithSpace } from "diff";
import { type ReactNode, useMemo } from "react";
import { shown } from "../../../contract/visible-text.ts";

const mostCharacters = 400_000;
/** Longer texts are marked only line by line. */
const mostWords = 4000;

/** Two texts line by line: removed and added lines. Within changed lines, the differing words are marked. */
export function TextDiff({ before, after }: { before: string; after: string }): ReactNode {
  const parts = useMemo(
    () => (before.length + after.length > mostCharacters ? undefined : diffLines(before, after)),
    [before, after],
  );
  if (parts === undefined) return <p>These versions are too long to compare here.</p>;
  if (parts.every(({ added, removed }) => !added && !removed)) return <p>The texts are the same.</p>;
  return (
    <pre className="text-diff" tabIndex={0}>
      {parts.map(({ value, added, removed }, at) => {
        const other = removed ? parts[at + 1] : parts[at - 1];
        const isPair = removed ? other?.added === true : added && other?.removed === true;
        const words = isPair && other !== undefined ? wordsOf(value, other.value, removed) : shown(value);
        if (added) return <ins key={at}>{words}</ins>;
        return removed ? <del key={at}>{words}</del> : <span key={at}>{shown(value)}</span>;
      })}
    </pre>
  );
}

function wordsOf(value: string, other: string, removed: boolean): ReactNode {
  if (value.length + other.length > mostWords) return shown(value);
  const [old, now] = removed ? [value, other] : [other, value];
  return diffWordsWithSpace(old, now)
    .filter((part) => (removed ? !part.added : !part.removed))
    .map((part, at) =>
      part.added || part.removed ? (
        <mark key={at}>{shown(part.value)}</mark>
      ) : (
        <i key={at}>{shown(part.value)}</i>
      ),
    );
}
