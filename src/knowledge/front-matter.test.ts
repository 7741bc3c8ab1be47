import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { readFrontMatter } from "./front-matter.ts";

/** Documents of about `size` characters. Each kind made the parser slow, or deep, in a different way. */
const hostile: Readonly<Record<string, (size: number) => string>> = {
  "keys of one map": (size) => numbered(size, (index) => `k${index}: 1\n`),
  "keys of one map in braces": (size) => `a: {${numbered(size, (index) => `k${index}: 1, `)}}`,
  "one key repeated": (size) => "a: 1\n".repeat(size / 5),
  commas: (size) => `a: {${",".repeat(size)}`,
  "open brackets": (size) => `a: ${"[".repeat(size)}`,
  "nested brackets": (size) => `a: ${"[".repeat(size / 2)}${"]".repeat(size / 2)}`,
  "dashes on one line": (size) => `a:\n${"- ".repeat(size / 2)}1`,
  "question marks": (size) => `${"? ".repeat(size / 2)}a`,
  indentation: (size) => numbered(size, (index) => `${" ".repeat(index)}a:\n`),
  anchors: (size) => numbered(size, (index) => `k${index}: &a${index} 1\n`),
  "anchors of one value": (size) => `a: ${"&a ".repeat(size / 3)}`,
  aliases: (size) => `a: &a 1\nb: [${"*a,".repeat(size / 3)}]`,
  "aliases of aliases": (size) =>
    numbered(size, (index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]\n`),
  tags: (size) => numbered(size, (index) => `k${index}: !t${index} 1\n`),
  "nested maps on one line": (size) => `a: ${"b: ".repeat(size / 3)}`,
  "wrong characters": (size) => "} ] , : ".repeat(size / 8),
  "wrong escapes": (size) => `a: "${"\\q".repeat(size / 2)}"`,
  "wrong lines": (size) => "a: `x\n".repeat(size / 6),
  comments: (size) => `a: 1\n${"#c\n".repeat(size / 3)}`,
  "empty lines": (size) => `a:\n${"\n".repeat(size)} b`,
  "lines of one text": (size) => `a: b\n${" c\n".repeat(size / 3)}`,
  "a text without its end": (size) => `a: "${"b\n ".repeat(size / 3)}`,
  "a description that YAML cuts": (size) => `description: x #\n${" y\n".repeat(size / 3)}`,
  directives: (size) => "%TAG ! a\n".repeat(size / 9),
};

describe("hostile front matter", () => {
  for (const [name, make] of Object.entries(hostile))
    test(`${name}: twice the size takes no more than about twice the time`, () => {
      // CPU time of the fastest of five runs, because other programs run on this machine too.
      const [small, large] = [fastest(make(50_000)), fastest(make(100_000))];
      assert.ok(large < 3 * small + 100, `50 kB took ${small.toFixed(0)} ms, 100 kB ${large.toFixed(0)} ms`);
      assert.ok(large < 1000, `100 kB took ${large.toFixed(0)} ms`);
    });

  test("a document that is too large, too long or too deep is refused, with the line and the limit", () => {
    const says = (front: string): string => refusalOf(`---\n${front}\n---\n`).message;
    assert.match(
      says("a".repeat(200_001)),
      /^f\.md:2: the front matter has 200002 characters; the limit is 200000/,
    );
    assert.match(
      says(`a: 1\n${"#c\n".repeat(10_000)}`),
      /^f\.md:\d{4}: the front matter has more than 10000 parts/,
    );
    assert.match(
      says(`a: 1\nb: ${"[".repeat(33)}`),
      /^f\.md:3: the front matter is nested more than 32 levels/,
    );
    assert.match(says("a: 1\nb:\n  c: 1\n  c: 2"), /^f\.md:5: Map keys must be unique\./);
    assert.match(says("a: &b 1\nc: *b"), /Alias resolution is disabled/);
  });

  test("a text of 50,000 characters and a list of 1,000 entries are fine", () => {
    const list = Array.from({ length: 1000 }, (_, index) => `word ${index}`);
    const front = `prompt: ${JSON.stringify('"\\\u00e9\n'.repeat(12_500))}\nargs: ${JSON.stringify(list)}`;
    const read = readFrontMatter("f.md", `---\n${front}\n---\nbody`);
    assert.deepEqual(read?.values["args"], list);
    assert.equal(String(read.values["prompt"]).length, 50_000);
  });
});

function numbered(size: number, line: (index: number) => string): string {
  let made = "";
  for (let index = 0; made.length < size; index += 1) made += line(index);
  return made;
}

function fastest(front: string): number {
  return Math.min(
    ...[1, 2, 3, 4, 5].map(() => {
      const start = process.cpuUsage();
      try {
        readFrontMatter("f.md", `---\n${front}\n---\nbody`);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
      }
      return process.cpuUsage(start).user / 1000;
    }),
  );
}

function refusalOf(content: string): Refusal {
  try {
    readFrontMatter("f.md", content);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("it was read");
}
