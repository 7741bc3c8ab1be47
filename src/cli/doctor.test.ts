import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { type CommandLine, openCommandLine } from "../testing/command-line.ts";

describe("agency doctor --deep", () => {
  let line: CommandLine;
  before(async () => (line = await openCommandLine()));
  after(() => line.close());
  const damage = (statement: string): void => {
    const db = new DatabaseSync(join(line.env["AGENCY_HOME"] ?? "", "agency.db"));
    db.exec(statement);
    db.close();
  };

  test("says that nothing is broken", async () => {
    const { code, out } = await line.agency("doctor", "--deep");
    assert.equal(code, 0, out);
    assert.match(out, /^0 of \d+ invariants broken$/m);
  });

  test("prints each finding with its fix, and --fix mends it on record", async () => {
    damage("update grants set broken = 7");
    const found = await line.agency("doctor", "--deep", "--company", "Acme");
    assert.equal(found.code, 1);
    assert.match(found.out, /^broken grant-count: Every grant counts the reasons against it/m);
    assert.match(found.out, /^ +Grant "org:hire" \([0-9a-f-]{36}\) counts the reasons against it wrong/m);
    assert.match(found.out, /^ +Fix it: agency doctor --fix$/m);
    assert.match(found.out, /^1 of \d+ invariants broken, 1 finding$/m);
    const fixed = await line.agency("doctor", "--fix");
    assert.equal(fixed.code, 0, fixed.out);
    assert.match(fixed.out, /^fixed {2}grant-count: Grant "org:hire"/m);
    assert.match(fixed.out, /^0 of \d+ invariants broken$/m);
    assert.match((await line.agency("audit", "events", "--json")).out, /"doctor\.fix"/);
  });

  test("prints advice where a person has to decide, and --fix leaves it alone", async () => {
    damage("update outcomes set blocked_until = 1 where kind = 'perpetual'");
    for (const flag of ["--deep", "--fix"]) {
      const { code, out } = await line.agency("doctor", flag);
      assert.equal(code, 1);
      assert.match(out, /^broken outcome-reason: /m);
      assert.match(out, /^ +Unblock it: `agency outcomes update [0-9a-f-]{36} --blocked null`\.$/m);
    }
    const report = JSON.parse((await line.agency("doctor", "--deep", "--json")).out);
    assert.equal(report.ok, false);
    assert.equal(report.deep.broken, 1);
    assert.equal(report.deep.findings[0].invariant, "outcome-reason");
    const { code, err } = await line.agency(
      "outcomes",
      "update",
      report.deep.findings[0].id,
      "--blocked",
      "null",
    );
    assert.equal(code, 0, err);
    assert.equal((await line.agency("doctor", "--deep")).code, 0);
  });
});
