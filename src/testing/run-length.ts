import { testStores } from "./postgres.ts";

/** How long this run may take. What is played by the number is played less in a quick run, and more in a long one. */
const runLength =
  process.env["AGENCY_TEST_LONG"] === "1" ? "long" : testStores.has("postgres") ? "whole" : "quick";

export const isQuick = runLength === "quick";

export function byLength(numbers: { quick: number; whole: number; long?: number }): number {
  return numbers[runLength] ?? numbers.whole;
}
