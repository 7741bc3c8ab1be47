// Simulates seed after seed and says on standard output what it found first: the run of a planted bug.
import { simulate } from "../../src/simulator/simulate.ts";

const most = Number(process.argv[2] ?? 1);
const calm = process.argv[3] === "calm";
const seeds = new Set([
  Number(process.argv[4] ?? 1),
  ...Array.from({ length: most }, (_, index) => index + 1),
]);
let found: { rule: string; seed: number; step: number; message: string } | null = null;
for (const seed of seeds) {
  if (found !== null) break;
  const { failure } = await simulate(seed, 500, { calm });
  if (failure !== null) found = { seed, step: failure.step, rule: failure.rule, message: failure.message };
}
console.log(JSON.stringify(found));
