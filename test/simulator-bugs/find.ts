// Does the simulator find bugs? Each run plants one in the text of the product while it is loaded, and simulates seed after
// seed until a rule breaks. Split over two test files, because a file has a time limit.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import type { Edit } from "../planted-bugs/plant.ts";
import { noSweep, simulatorBugs } from "./bugs.ts";

const root = join(import.meta.dirname, "../..");
const mostSeeds = 100;
const hook = fileURLToPath(new URL("../planted-bugs/plant.ts", import.meta.url));
const player = fileURLToPath(new URL("./play.ts", import.meta.url));
const endWithRunner = fileURLToPath(new URL("../../scripts/end-with-runner.ts", import.meta.url));

/** Every second bug, from the first (part 0) or the second (part 1) on. */
export function findBugs(part: 0 | 1): void {
  describe("the simulator", { concurrency: Math.min(2, availableParallelism()) }, () => {
    if (part === 0)
      test("finds nothing when nothing is planted", async () => {
        assert.equal(await found([], 3), null);
      });
    else
      test("finds nothing without the sweep either, as long as nothing goes wrong", async () => {
        assert.equal(await found([noSweep], 10, "calm"), null);
      });

    for (const { name, edits, calm, seed } of simulatorBugs.filter((_, index) => index % 2 === part))
      test(`finds the bug: ${name}`, async (t) => {
        const broken = await found(edits, mostSeeds, calm === true ? "calm" : "", seed);
        assert.notEqual(broken, null, `not found in ${mostSeeds} seeds`);
        t.diagnostic(`seed ${broken?.seed}: ${broken?.rule}`);
      });
  });
}

const Found = z.object({ rule: z.string(), seed: z.number() }).nullable();

/** The rule that broke in a run with these edits, and the seed; null: none. */
async function found(
  edits: readonly Edit[],
  most: number,
  calm = "",
  first = 1,
): Promise<z.infer<typeof Found>> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", endWithRunner, "--import", hook, player, String(most), calm, String(first)],
    { cwd: root, env: { ...process.env, AGENCY_PLANT: JSON.stringify(edits) } },
  );
  return Found.parse(JSON.parse(stdout));
}
