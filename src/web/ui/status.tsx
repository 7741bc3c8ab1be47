import type { ReactNode } from "react";
import { type MarkName, type StateMark, stateMarks } from "./marks.ts";

export type { MarkName } from "./marks.ts";

/** A state as a shape with its colour. The label is there for readers and as the tooltip, unless a text beside it says it. */
export function StatusMark({ mark, label }: { mark: MarkName; label?: string }): ReactNode {
  const { tone, parts }: StateMark = stateMarks[mark];
  const said =
    label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label, title: label };
  return (
    <span className={`st ${tone}`} {...said}>
      <svg viewBox="0 0 14 14">
        {parts.map(({ d, isFilled, isDashed, isPulse, width }) => (
          <path
            key={d}
            d={d}
            className={isPulse ? "pulse" : undefined}
            strokeWidth={width}
            strokeDasharray={isDashed ? "2.2 2" : undefined}
            {...(isFilled && { fill: "currentColor", stroke: "none" })}
          />
        ))}
      </svg>
    </span>
  );
}
