// Checks whether a suite finds bugs. Each run plants one bug in the product while it is loaded (plant.ts), then plays seed
// after seed until a rule breaks.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import type { Suite } from "../../src/testing/seeds.ts";
import type { Edit } from "./resolve.ts";

const root = join(import.meta.dirname, "../..");
const hook = join(import.meta.dirname, "plant.ts");
const player = join(import.meta.dirname, "play.ts");
const endWithRunner = join(root, "scripts/end-with-runner.ts");

/** As in the processes of the runner: other cores are in use, so threads that collect garbage gain nothing. */
const collecting = ["--single-threaded-gc", "--max-semi-space-size=64"];

const Found = z.object({ violation: z.string(), seed: z.number() }).nullable();

/** The rule that a run with these edits broke, and the seed. Null if no rule broke. */
export async function found(
  suite: Suite,
  edits: readonly Edit[],
  seeds: number,
): Promise<z.infer<typeof Found>> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...collecting, "--import", endWithRunner, "--import", hook, player, suite, String(seeds)],
    { cwd: root, env: { ...process.env, AGENCY_PLANT: JSON.stringify(edits) } },
  );
  return Found.parse(JSON.parse(stdout));
}
