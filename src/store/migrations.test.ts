import assert from "node:assert/strict";
import { test } from "node:test";
import { copyMark, isOlder, isTooEarly, missingMigrations } from "./migrations.ts";

const own = "0.1.0";
const first = "0001-foundation";

test("migrations of a newer version that only add are ignored", () => {
  assert.deepEqual(missingMigrations([first, "0002-more", "0003-index"], { own, others: [] }), []);
  assert.deepEqual(
    missingMigrations(["0002-more"], { own, others: [] }).map(({ name }) => name),
    [first],
  );
});

test("data that needs a newer version is refused, with the version to install", () => {
  assert.throws(() => missingMigrations([first, "0002-more", "0003-less needs 0.2.0"], { own, others: [] }), {
    message: "The data needs Agency 0.2.0 or newer. This is Agency 0.1.0.",
    hint: "Install it: npm install --global agency@0.2.0. Then start again. Nothing was changed.",
  });
  assert.deepEqual(missingMigrations([first, "0003-less needs 0.2.0"], { own: "0.2.0", others: [] }), []);
  assert.deepEqual(missingMigrations([first, "0003-less needs 0.2.0"], { own: "0.10.0", others: [] }), []);
});

test("a migration that contracts waits for older nodes, and one that expands does not", () => {
  assert.ok(isTooEarly("0003-less needs 0.2.0", ["0.2.0", "0.1.9"]));
  assert.ok(!isTooEarly("0003-less needs 0.2.0", ["0.2.0", "0.3.0"]));
  assert.ok(!isTooEarly("0002-more", ["0.0.1"]));
});

test("versions are compared number by number", () => {
  for (const [version, than] of [
    ["0.1.0", "0.2.0"],
    ["0.9.9", "0.10.0"],
    ["1.2", "1.2.1"],
    ["0.2.0-beta.1", "0.3.0"],
  ] as const) {
    assert.ok(isOlder(version, than), `${version} ${than}`);
    assert.ok(!isOlder(than, version), `${than} ${version}`);
  }
  assert.ok(!isOlder("0.2.0", "0.2.0"));
});

test("an unfinished copy is refused before anything else", () => {
  assert.throws(() => missingMigrations([first, `${copyMark}x`]), /unfinished copy/);
});
