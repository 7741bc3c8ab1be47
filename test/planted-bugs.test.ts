// Does the property test find bugs? Each run plants one in the product (bugs.ts) and must report a violation.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bugs, type Edit } from "./planted-bugs/bugs.ts";

const root = join(import.meta.dirname, "..");
const seeds = 60;
const hook = fileURLToPath(new URL("./planted-bugs/plant.ts", import.meta.url));
const player = fileURLToPath(new URL("./planted-bugs/play.ts", import.meta.url));
const endWithRunner = fileURLToPath(new URL("../scripts/end-with-runner.ts", import.meta.url));

describe("the property test", { concurrency: Math.min(2, availableParallelism()) }, () => {
  test("finds nothing when nothing is planted", async () => {
    assert.equal(await found([], 5), null);
  });

  for (const { name, edits } of bugs)
    test(`finds the bug: ${name}`, async () => {
      const violation = await found(edits, seeds);
      assert.notEqual(violation, null, `not found in ${seeds} seeds`);
    });

  test("does not pass a bug that cannot be planted", async () => {
    const edit = { file: "src/capabilities/grants.ts", find: "no such text", replace: "" };
    await assert.rejects(found([edit], 1), /holds 0 times, not once/);
    await assert.rejects(found([{ ...edit, file: "src/cli/main.ts" }], 1), /never loaded/);
  });
});

/** What a run with these edits reports; null: nothing. */
async function found(edits: readonly Edit[], count: number): Promise<string | null> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", endWithRunner, "--import", hook, player, String(count)],
    { cwd: root, env: { ...process.env, AGENCY_PLANT: JSON.stringify(edits) } },
  );
  const report = JSON.parse(stdout) as { found: string | null };
  return report.found;
}
