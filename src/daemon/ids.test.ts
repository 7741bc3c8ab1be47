import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { newId } from "./ids.ts";

test("ids of one millisecond sort in the order of their creation, and reveal nothing else", () => {
  for (let now = 1_800_000_000_000; now < 1_800_000_000_200; now++) {
    const ids = Array.from({ length: 300 }, () => newId(now));
    assert.deepEqual(ids.toSorted(), ids);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.equal(z.uuid({ version: "v7" }).parse(id), id);
  }
  // Chance decides the first id of a millisecond and the steps between ids.
  const firsts = Array.from({ length: 50 }, (_, index) => newId(1_900_000_000_000 + index).slice(14, 18));
  assert.ok(new Set(firsts).size > 25, firsts.join(" "));
});
