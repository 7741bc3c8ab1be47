// Plays the property test for a few seeds and says on standard output what it found: the run of a planted bug.
import { playSeeds } from "../model/run.ts";

const count = Number(process.argv[2] ?? 1);
const run = {
  kind: "sqlite",
  seeds: Array.from({ length: count }, (_, index) => index + 1),
  steps: 200,
  wholeEach: 20,
} as const;
const failure = await playSeeds(run, { shrinkSeconds: 0 });
console.log(JSON.stringify({ found: failure === undefined ? null : failure.message, seed: failure?.seed }));
