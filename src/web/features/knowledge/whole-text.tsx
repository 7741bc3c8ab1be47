import { type ReactNode, useState } from "react";
import { shown } from "../../../contract/visible-text.ts";
import { Button } from "../../ui/buttons.tsx";
import { figure } from "../../ui/figures.tsx";
import * as texts from "./texts.ts";

/** In characters. More at once would keep the browser busy for too long. */
const mostAtOnce = 200_000;

/** The end of the next part: at the end of a line, if there is one. */
function endAfter(start: number, text: string): number {
  const most = start + mostAtOnce;
  if (most >= text.length) return text.length;
  const line = text.lastIndexOf("\n", most - 1) + 1;
  return line > start ? line : most;
}

/** A text as it is. A long one comes in parts, each when the person asks for it. */
export function WholeText({ text }: { text: string }): ReactNode {
  const [ends, setEnds] = useState(() => [endAfter(0, text)]);
  const end = ends.at(-1) ?? 0;
  return (
    <>
      <pre className="code-box" tabIndex={0}>
        {ends.map((each, at) => (
          <bdi key={each}>{shown(text.slice(ends[at - 1] ?? 0, each))}</bdi>
        ))}
      </pre>
      {end < text.length && (
        <div className="buttons">
          <span className="quiet">{texts.shownSoFar(figure(end), figure(text.length))}</span>
          <Button onClick={() => setEnds([...ends, endAfter(end, text)])}>{texts.showMore}</Button>
        </div>
      )}
    </>
  );
}
