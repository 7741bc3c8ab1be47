// Texts, documents and skills name commands of `agency`. Each of them exists.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Passage, passagesIn } from "./words.ts";

const root = join(import.meta.dirname, "..");
/** The help of every command, which command-screens.test.ts keeps true. */
const help = readFileSync(join(root, "test/snapshots/help-140.txt"), "utf8");
const commands = new Set([...help.matchAll(/^\$ agency ([a-z -]+) --help$/gm)].map(([, name = ""]) => name));

/** `agency skills add` in a text: the noun has verbs, so the word after it must be one of them. */
function unknownCommands(passages: readonly Passage[]): string[] {
  const isNoun = (word: string): boolean => [...commands].some((name) => name.startsWith(`${word} `));
  return passages.flatMap(({ file, line, words }) =>
    [...words.matchAll(/(?<![\w./-])agency ([a-z]+(?:-[a-z]+)*) ([a-z]+(?:-[a-z]+)*)/g)]
      .filter(([, noun = "", verb = ""]) => isNoun(noun) && !commands.has(`${noun} ${verb}`))
      .map(([text]) => `${file}:${line}: ${text}`),
  );
}

test("every command that a text names exists", () => {
  const patterns = ["src/**/*.{ts,tsx}", "{docs,skills}/**/*.md", "*.md"];
  const files = globSync(patterns, { cwd: root }).filter((path) => !path.endsWith(".test.ts"));
  const texts = passagesIn(new Map(files.map((path) => [path, readFileSync(join(root, path), "utf8")])));
  assert.ok(commands.size > 150);
  assert.deepEqual(unknownCommands(texts.filter(({ kind }) => kind !== "comment")), []);
});

test("a command that does not exist is found", () => {
  const planted = new Map([
    ["docs/a.md", "Run agency skills put, then `agency skills add`. An agency works."],
  ]);
  assert.deepEqual(unknownCommands(passagesIn(planted)), ["docs/a.md:1: agency skills put"]);
});
