import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonBody } from "../src/web/data/body.ts";
import { typedNumber } from "../src/web/ui/typed-number.ts";

test("the page sends no NaN, which JSON would write as null", () => {
  const body = (input: object): string => jsonBody(input, (name) => new Error(`${name} is not a number`));
  assert.equal(body({ budget: { usd: 1.5, tokens: null } }), '{"budget":{"usd":1.5,"tokens":null}}');
  for (const usd of [NaN, Infinity])
    assert.throws(() => body({ budget: { usd } }), { message: "usd is not a number" });
});

test("a field for a number keeps a text that is not one", () => {
  const texts = ["", "  ", "12.50", " 0 ", "12,50", "$50", "1e999"];
  assert.deepEqual(
    texts.map((text): unknown => typedNumber(text)),
    [null, null, 12.5, 0, "12,50", "$50", "1e999"],
  );
});
