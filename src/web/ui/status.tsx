import type { ReactNode } from "react";
import { type MarkName, type StateMark, stateMarks } from "./marks.ts";

/** A state as a shape with a colour. The label is for screen readers and the tooltip, unless a text beside it says the same. */
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
