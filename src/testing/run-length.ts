/**
 * How much a run plays of what can be played more or less: seeds, kills, steps. The runner (scripts/test.ts) sets it. A
 * file that is run by hand plays what a whole run plays.
 */
const lengths = ["quick", "whole", "long"] as const;
export const runLength = lengths.find((known) => known === process.env["AGENCY_TEST_LENGTH"]) ?? "whole";

/** AGENCY_TEST_SCALE=10 makes the campaigns of a long run ten times as long, for a night. */
const scale = Number(process.env["AGENCY_TEST_SCALE"] ?? 1);

export function byLength<T>(choices: { quick: T; whole: T; long?: T }): T {
  return choices[runLength] ?? choices.whole;
}

/** How many seeds or kills. */
export function campaign(counts: { quick: number; whole: number; long: number }): number {
  return runLength === "long" ? Math.ceil(counts.long * scale) : counts[runLength];
}
