import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { parsedBody, Shape } from "./body.ts";
import { allowed } from "../testing/allowed.ts";

describe("a JSON body", () => {
  /** In pieces of a few bytes, as a network may deliver it. */
  const read = (text: string | Uint8Array): unknown => {
    const bytes = Buffer.from(text);
    const shape = new Shape(25_000);
    const size = Math.max(7, bytes.length >> 8);
    for (let start = 0; start < bytes.length; start += size) shape.check(bytes.subarray(start, start + size));
    return parsedBody(bytes);
  };

  test("is parsed exactly as JSON.parse parses it", () => {
    for (const text of [
      "{}",
      "[]",
      "null",
      "7",
      ' {"a" : [1, 2, {"b": "\\u00e9\\"\\\\"}]} ',
      '"東京 🚀"',
      '{"__proto__":1}',
    ])
      assert.deepEqual(read(text), JSON.parse(text), text);
  });

  test("nests at most 32 levels, brackets in strings not counted", () => {
    const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
    assert.deepEqual(read(nested(32)), JSON.parse(nested(32)));
    assert.throws(() => read(nested(33)), invalid);
    assert.throws(() => read(`${'{"a":'.repeat(33)}1${"}".repeat(33)}`), invalid);
    const strings = JSON.stringify([
      "[".repeat(100),
      `"[{\\"${"[{".repeat(100)}`,
      "\\",
      '\\"',
      `\\\\"${"[".repeat(40)}`,
    ]);
    assert.deepEqual(read(strings), JSON.parse(strings));
    // Many brackets side by side are not deep.
    assert.deepEqual(read(`[${"[],".repeat(1000)}[]]`), JSON.parse(`[${"[],".repeat(1000)}[]]`));
    // A string that ends in an escaped backslash must not hide the brackets after it.
    assert.throws(() => read(`{"a":"\\\\",${'"b":['.repeat(1)}${"[".repeat(40)}`), invalid);
  });

  test("has at most 25,000 values, commas in strings not counted", () => {
    const many = (count: number): string => `[${"0,".repeat(count)}0]`;
    const keys = (count: number): string =>
      `{${Array.from({ length: count }, (_, index) => `"${index}":{}`).join(",")}}`;
    assert.deepEqual(read(many(24_999)), JSON.parse(many(24_999)));
    for (const text of [many(25_000), keys(12_501), many(5_000_000)])
      assert.throws(
        () => read(text),
        (error) => error instanceof Refusal && error.code === "too_large",
      );
    const string = JSON.stringify({ text: ",[{".repeat(30_000) });
    assert.deepEqual(read(string), JSON.parse(string));
  });

  test("is refused when it is not JSON, not UTF-8, or never ends", () => {
    for (const text of [
      "",
      "{",
      '{"a"',
      '"',
      '"\\',
      "]",
      "undefined",
      "{'a':1}",
      "[1,]",
      "\u0000",
      '{"a":1}{"b":2}',
    ])
      assert.throws(() => read(text), invalid, text);
    for (const bytes of [
      [0xff],
      [0x22, 0xc3, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
    ])
      assert.throws(() => read(Uint8Array.from(bytes)), invalid);
  });

  test("is checked in time proportional to its length, whatever its content", () => {
    const size = 4_000_000;
    for (const text of [
      "[".repeat(size),
      '"'.repeat(size),
      "\\".repeat(size),
      `"${"\\".repeat(size)}`,
      `"${'\\"'.repeat(size / 2)}`,
      `["${"\\\\".repeat(size / 2)}"`,
    ]) {
      const started = performance.now();
      assert.throws(() => read(text), invalid);
      assert.ok(performance.now() - started < allowed(1000), `${text.slice(0, 5)}… took too long`);
    }
  });
});

function invalid(error: unknown): boolean {
  return error instanceof Refusal && error.code === "invalid" && error.message !== "" && error.hint !== "";
}
