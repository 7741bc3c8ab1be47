import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { exportedOperations } from "../src/contract/operation-table.ts";
import { abilityWords } from "../src/web/ui/ability-words.ts";

test("the dashboard has a word for every call that the attention list and why offer, and for no other", () => {
  const folder = join(import.meta.dirname, "../src/readers");
  const sources = readdirSync(folder)
    .filter((file) => /^(?:attention-|help\.)/.test(file) && !file.includes(".test."))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  const calls = sources.flatMap((source) =>
    [...source.matchAll(/callTo\(([^,]+),/g)].map(([, call]) => call),
  );
  assert.ok(calls.length > 15, "the calls are no longer found");
  const offered = exportedOperations
    .filter(([name]) => calls.some((call) => new RegExp(`\\b${name}\\b`).test(call ?? "")))
    .map(([, operation]) => operation.name);
  const named = new Set(Object.keys(abilityWords).map((key) => key.replace(/ .*/, "")));
  assert.deepEqual([...named].toSorted(), offered.toSorted());
});
