// Every planted bug still fits the product. A long run checks whether the suites find them (*planted-bugs*.test.ts).
import assert from "node:assert/strict";
import { test } from "node:test";
import { coreBugs } from "./planted-bugs/core.ts";
import { found } from "./planted-bugs/find.ts";
import { reorganizationBugs } from "./planted-bugs/reorganization.ts";
import { changedModules } from "./planted-bugs/resolve.ts";
import { simulatorBugs } from "./planted-bugs/simulator.ts";
import { wakeupBugs } from "./planted-bugs/wakeups.ts";
import { leaks } from "./planted-bugs/worlds.ts";

test("every planted bug fits exactly one place of the product", () => {
  const misfits = [...coreBugs, ...leaks, ...reorganizationBugs, ...simulatorBugs, ...wakeupBugs].flatMap(
    ({ name, edits }) => {
      try {
        assert.ok(changedModules(edits).size > 0);
        return [];
      } catch (error) {
        return [`${name}: ${error instanceof Error ? error.message : String(error)}`];
      }
    },
  );
  assert.deepEqual(misfits, [], "adapt the bug in test/planted-bugs/ to the new code");
});

test("a bug fits its place whatever the spacing, and fits no other place", () => {
  const edit = { in: "changedModules", find: "x", replace: "" };
  assert.throws(() => changedModules([edit]), /"changedModules" holds 0 times, not once: x/);
  const spaced = { in: "byOrganization", find: "no such words", replace: "" };
  assert.throws(() => changedModules([spaced]), /holds 0 times/);
});

test("a bug that does not fit ends the run that should find it", async () => {
  await assert.rejects(found("core", [{ in: "revoke", find: "no such text", replace: "" }], 1), /not once/);
});
