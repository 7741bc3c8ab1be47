import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsIn } from "./replies.ts";

const usage = '{"usage":{"inputTokens":1,"outputTokens":2,"costUsd":0}}';

for (const [what, said, to, body] of [
  ["nothing", "", null, ""],
  ["whitespace", " \n\t\n", null, ""],
  ["words without an address", "hello\nthere", null, "hello\nthere"],
  ["an address and words", "@human\nhello\n\nthere\n", "human", "hello\n\nthere"],
  ["an address with spaces", "  @Lead Dev \nhello", "Lead Dev", "hello"],
  ["an address after empty lines", "\n\n@human\nhello", "human", "hello"],
  ["lines as Windows ends them", "@human\r\nhello\r\n", "human", "hello"],
  ["an address alone", "@human", "human", ""],
  ["all in one line", "@human hello", "human hello", ""],
  ["an @ that is not at the beginning", "hello\n@human\nthere", null, "hello\n@human\nthere"],
  ["an @ alone", "@\nhello", null, "@\nhello"],
  ["a report of usage before the address", `${usage}\n@human\nhello`, "human", "hello"],
  ["a report of usage within and after", `@human\nhello\n${usage}\nthere\n${usage}`, "human", "hello\nthere"],
  ["nothing but usage", `${usage}\n${usage}\n`, null, ""],
  ["JSON that does not report usage", '@human\n{"result":1}', "human", '{"result":1}'],
] as const)
  test(`in ${what} the addressee is found`, () => {
    assert.deepEqual(wordsIn(said), { to, body });
  });
