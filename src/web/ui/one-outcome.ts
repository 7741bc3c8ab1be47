import type { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";

export type OneOutcome = Answer<typeof ops.viewOutcome>;
