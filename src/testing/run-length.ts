/**
 * How many seeds, kills and steps a run plays. The runner (scripts/test.ts) sets the length. A file that is run by hand plays
 * as many as a whole run.
 */
const lengths = ["quick", "whole", "long"] as const;
export const runLength = lengths.find((known) => known === process.env["AGENCY_TEST_LENGTH"]) ?? "whole";

/** AGENCY_TEST_SCALE=10 makes the campaigns of a long run ten times as long, for a run overnight. */
const scale = Number(process.env["AGENCY_TEST_SCALE"] ?? 1);

export function byLength<T>(choices: { quick: T; whole: T; long?: T }): T {
  return choices[runLength] ?? choices.whole;
}

/** The number of seeds or kills of a campaign. */
export function campaign(counts: { quick: number; whole: number; long: number }): number {
  return runLength === "long" ? Math.ceil(counts.long * scale) : counts[runLength];
}
