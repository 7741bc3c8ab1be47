import { contentInvariants } from "./content-invariants.ts";
import type { Invariant } from "./invariant.ts";
import { agentInvariants } from "./agent-invariants.ts";
import { outcomeHistoryInvariants, outcomeInvariants } from "./outcome-invariants.ts";
import { grantInvariants } from "./grant-invariants.ts";
import { workInvariants } from "./work-invariants.ts";

/** The only list of invariants. `agency doctor --deep`, the simulator and the tests all check exactly these. */
export const invariants: readonly Invariant[] = [
  ...agentInvariants,
  ...outcomeInvariants,
  ...grantInvariants,
  ...workInvariants,
  ...outcomeHistoryInvariants,
  ...contentInvariants,
];
