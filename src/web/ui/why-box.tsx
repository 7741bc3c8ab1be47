import type { ReactNode } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { Box } from "./box.tsx";
import { movementWords } from "./standing.ts";
import { Why } from "./why.tsx";

/** Why an outcome moves or not, step by step. */
export function WhyBox({ why }: { why: Answer<typeof ops.why> }): ReactNode {
  return (
    <Box title="Why" label="Why it is or is not moving" end={movementWords[why.state]}>
      <div className="pad">
        <Why of={why} isWhole />
      </div>
    </Box>
  );
}
