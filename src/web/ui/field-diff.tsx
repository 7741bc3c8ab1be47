import { diffWordsWithSpace } from "diff";
import type { ReactNode } from "react";
import { roundMoney } from "./figures.tsx";
import { shown } from "../../contract/visible-text.ts";

/** A field before and after. In longer texts, the differing words are marked. */
export function FieldDiff({
  field,
  before,
  after,
}: {
  field: string;
  before?: unknown;
  after?: unknown;
}): ReactNode {
  const old = textOf(before, field);
  const now = textOf(after, field);
  const isLong = old.length + now.length > 80 && old !== "" && now !== "" && old.length + now.length < 40_000;
  const parts = isLong ? diffWordsWithSpace(old, now) : [];
  return (
    <div>
      <span className="f">{wordsOf(field)}</span>
      <span className="v">
        {old !== "" && (
          <del className="del">
            <bdi>{isLong ? <Marked parts={parts.filter(({ added }) => !added)} /> : old}</bdi>
          </del>
        )}
        {now !== "" && (
          <ins className="add">
            <bdi>{isLong ? <Marked parts={parts.filter(({ removed }) => !removed)} /> : now}</bdi>
          </ins>
        )}
      </span>
    </div>
  );
}

/** One of the two texts, with the words marked that the other does not have. */
function Marked({ parts }: { parts: ReturnType<typeof diffWordsWithSpace> }): ReactNode {
  return parts.map(({ value, added, removed }, at) =>
    added || removed ? <b key={at}>{value}</b> : <span key={at}>{value}</span>,
  );
}

/** `budget.usd` as "budget", `budget.tokens` as "budget, tokens", `canCreateAgents` as "can create agents". */
const wordsOf = (field: string): string =>
  field
    .replace(/([A-Z])/g, " $1")
    .toLowerCase()
    .replace(/\.usd$/, "")
    .replaceAll(".", ", ");

function textOf(value: unknown, field: string): string {
  if (value === null || value === undefined) return "";
  if (field === "budget.usd" && typeof value === "number") return `${roundMoney(value)} a month`;
  return shown(typeof value === "string" ? value : JSON.stringify(value, null, 1));
}
