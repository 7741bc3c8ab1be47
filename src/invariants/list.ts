import { contentInvariants } from "./content.ts";
import type { Invariant } from "./invariant.ts";
import { organizationInvariants } from "./organization.ts";
import { outcomeFileInvariants, outcomeInvariants } from "./outcomes.ts";
import { rightInvariants } from "./rights.ts";
import { workInvariants } from "./work.ts";

/** The one list. `agency doctor --deep`, the simulator and the tests all check these, and no other statement about rows. */
export const invariants: readonly Invariant[] = [
  ...organizationInvariants,
  ...outcomeInvariants,
  ...rightInvariants,
  ...workInvariants,
  ...outcomeFileInvariants,
  ...contentInvariants,
];
