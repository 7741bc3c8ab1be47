import { invalid, refused } from "../contract/refusal.ts";

export const noSuchInvariant = (given: string) =>
  invalid(
    `There is no invariant called "${given}".`,
    "Pass the invariant and the id of a finding: GET /api/doctor/deep.",
  );

export const notRepairable = (invariant: string, advice: string) =>
  refused(`${invariant} can't be repaired automatically.`, advice);
