import type { ReactNode } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { movementWords } from "./standing.ts";
import { Why } from "./why.tsx";

/** Why an outcome moves or not, step by step. */
export function WhyBox({ why }: { why: Answer<typeof ops.why> }): ReactNode {
  return (
    <section className="box" aria-label="Why it is or is not moving">
      <header>
        <h2>Why</h2>
        <span className="end">{movementWords[why.state]}</span>
      </header>
      <div className="pad">
        <Why of={why} isWhole />
      </div>
    </section>
  );
}
