import type { ReactNode } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";
import { movementWords } from "../../ui/standing.ts";
import { Line, Name, Said } from "../../ui/words.tsx";

/** Why an outcome moves or not, step by step. */
export function WhyBox({ why }: { why: Answer<typeof ops.why> }): ReactNode {
  return (
    <section className="box" aria-label="Why it is or is not moving">
      <header>
        <h2>Why</h2>
        <span className="end">{movementWords[why.state]}</span>
      </header>
      <div className="pad">
        <Said text={why.says} most={1000} />
        {why.path.length > 1 && (
          <ol className="why-path">
            {why.path.map((step, at) => (
              <li key={`${step.id} ${at}`}>
                <Name
                  of={{ kind: step.kind, id: step.id, title: step.title }}
                  tile={step.kind === "agent" ? "agent" : undefined}
                />
                <span>
                  <Line text={step.what} />
                </span>
              </li>
            ))}
          </ol>
        )}
      </div>
    </section>
  );
}
