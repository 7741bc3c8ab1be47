// The process of a run with a planted bug. Plays a suite seed after seed and prints the first failure.
//   node play.ts SUITE COUNT
import { z } from "zod";
import { Refusal } from "../../src/contract/refusal.ts";
import { simulate } from "../../src/simulator/simulate.ts";
import { corpusOf } from "../../src/testing/seeds.ts";
import { playSeeds } from "../model/run.ts";
import { compareWorlds } from "../two-worlds/play.ts";
import { playReorganizations } from "../reorganization/play.ts";

const [suite, count] = z
  .tuple([z.enum(["core", "reorganization", "simulator", "calm", "worlds"]), z.coerce.number()])
  .parse(process.argv.slice(2));

const violationOf: Record<typeof suite, (seed: number) => Promise<string | undefined>> = {
  core: async (seed) => {
    const run = { kind: "sqlite", seeds: [seed], steps: 200, wholeEach: 20 } as const;
    return (await playSeeds(run, { shrinkSeconds: 0 }))?.message;
  },
  reorganization: async (seed) => {
    try {
      await playReorganizations("sqlite", seed, 120);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  },
  worlds: async (seed) => {
    try {
      return (await compareWorlds("sqlite", seed, 4)).difference;
    } catch (error) {
      // A bug may break the operation itself. A refusal is one of the suite's own calls.
      if (error instanceof Refusal) throw error;
      return String(error);
    }
  },
  simulator: async (seed) => (await simulate(seed, 500)).failure?.rule,
  calm: async (seed) => (await simulate(seed, 500, { calm: true })).failure?.rule,
};

const seeds = new Set([...corpusOf(suite), ...Array.from({ length: count }, (_, index) => index + 1)]);
let found: { seed: number; violation: string } | null = null;
for (const seed of seeds) {
  const violation = await violationOf[suite](seed);
  if (violation === undefined) continue;
  found = { seed, violation };
  break;
}
console.log(JSON.stringify(found));
