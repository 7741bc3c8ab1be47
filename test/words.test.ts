// Texts that people and models read: no banned words, and a description for every operation and argument.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { inputSchema } from "../src/contract/json-schema.ts";
import { type Operation, toolDescription } from "../src/contract/operation.ts";
import { operations } from "../src/contract/operation-table.ts";
import { bannedWords, type Passage, passagesIn } from "./words.ts";

const root = join(import.meta.dirname, "..");

describe("no banned word", () => {
  const passages = [...passagesIn(readProduct()), ...passagesIn(readTests()).filter(isRead)];
  for (const place of new Set(passages.map(placeOf)))
    test(`in ${place}`, () => {
      assert.deepEqual(bannedWords(passages.filter((passage) => placeOf(passage) === place)), []);
    });

  test("the check finds one in a string, a template, a comment, a JSX text, a test's name and a document", () => {
    const planted = new Map([
      [
        "src/a/a.ts",
        [
          'const said = "Ask whoever hired it.";',
          "const more = `${said} It goes on ${list.map((one) => `without ${one ? 'somebody' : ''}`)} here.`;",
          "// Kept so that the next one finds it.",
          "/**",
          " * Told anew, of its",
          " * own.",
          " */",
          'const fine = /"[`/]/.test(said) || "There is no agent Ada. It is not here, it is no longer employed.";',
          'const joined = "Wait for the board, so " +',
          '  "that the hire " + `can start. It is ${1 + 1}`;',
          'test("nobody asks", () => undefined);',
        ].join("\n"),
      ],
      [
        "src/a/a.tsx",
        [
          "const page = (",
          "  <p>Ask whoever hired it. It goes",
          "    on.</p>",
          '  <b title="anew">{name} isn\'t for somebody.</b>',
          '  <p>It works in{" "}',
          "    words.</p>",
          ");",
        ].join("\n"),
      ],
      ["docs/a.md", "# Title\n\nThis is no answer.\nAsk the board, so\nthat the work went\non.\n"],
      ["src/a/a.css", ".a {\n  color: red;\n\n  /* Handed\n     in. */\n}\n"],
    ]);
    assert.deepEqual(
      bannedWords(passagesIn(planted)).map((complaint) => complaint.split(": ").slice(0, 2).join(": ")),
      [
        'src/a/a.ts:1: a text says "whoever"',
        'src/a/a.ts:2: a text says "somebody"',
        'src/a/a.ts:2: a text says "goes on"',
        'src/a/a.ts:3: a comment says "so that"',
        'src/a/a.ts:4: a comment says "anew"',
        'src/a/a.ts:4: a comment says "of its own"',
        'src/a/a.ts:9: a text says "so that"',
        'src/a/a.ts:11: a name says "nobody"',
        'src/a/a.tsx:4: a text says "anew"',
        'src/a/a.tsx:4: a text says "somebody"',
        'src/a/a.tsx:2: a text says "whoever"',
        'src/a/a.tsx:2: a text says "goes on"',
        'src/a/a.tsx:5: a text says "in words"',
        'docs/a.md:3: a text says "is no"',
        'docs/a.md:3: a text says "went on"',
        'docs/a.md:3: a text says "so that"',
        'src/a/a.css:4: a text says "Handed in"',
      ],
    );
  });
});

/** Of tests, people read comments and names. Some of their other strings plant the banned words. */
function isRead({ kind, file }: Passage): boolean {
  return kind !== "text" || file.endsWith(".md");
}

/** "src/mail" of "src/mail/post.ts"; a file at the top is its own place. */
function placeOf({ file }: { readonly file: string }): string {
  return file.split("/").slice(0, 2).join("/");
}

describe("every operation", () => {
  const failing = (check: (operation: Operation) => boolean): string[] =>
    operations.filter((operation) => !check(operation)).map(({ name }) => name);

  test("has a summary that starts with a verb and ends with a period", () => {
    const starts = new RegExp(`^(?:${verbs.join("|")})\\b`);
    assert.deepEqual(
      failing(({ summary }) => starts.test(summary) && summary.endsWith(".")),
      [],
    );
  });

  test("describes every argument, at any depth", () => {
    const missing = operations.flatMap(({ name, input }) =>
      undescribed(inputSchema(input), "").map((path) => `${name}.${path}`),
    );
    assert.deepEqual(missing, []);
  });

  test("that is a tool explains itself in two to five sentences and at most 1,000 characters", () => {
    const tools = operations.filter(({ mcp }) => mcp !== undefined);
    assert.deepEqual(
      tools
        .map((operation) => ({ name: operation.name, text: toolDescription(operation) }))
        .map(({ name, text }) => ({ name, length: text.length, sentences: sentencesIn(text).length }))
        .filter(({ length, sentences }) => length > 1000 || sentences < 2 || sentences > 5),
      [],
    );
  });

  test("is described in sentences of at most 25 words", () => {
    const long = operations.flatMap((operation) =>
      [toolDescription(operation), ...descriptionsIn(inputSchema(operation.input))].flatMap((text) =>
        sentencesIn(text)
          .filter((sentence) => sentence.split(/\s+/).length > 25)
          .map((sentence) => `${operation.name}: ${sentence}`),
      ),
    );
    assert.deepEqual(long, []);
  });

  test("that is a command with arguments has an example with flags that exist", () => {
    assert.deepEqual(
      failing(({ cli, input }) => {
        if (cli === undefined) return true;
        if (cli.example === undefined) return (cli.args ?? []).length === 0;
        const keys = [...Object.keys(input.shape), "file", "company"];
        const flags = keys.map((key) => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
        return [...cli.example.matchAll(/(?<=^|\s)--[a-z-]+/g)].every(([flag]) => flags.includes(flag));
      }),
      [],
    );
  });
});

/** The verbs with which summaries start. Add a new verb here. Rewrite a summary that starts with another word. */
const verbs = [
  "Translate",
  ..."Acknowledge Clone Add Allow Apply Approve Archive Ask Cancel Change Check Close Comment Complete Count Create Decide Delegate Delete".split(
    " ",
  ),
  ..."Discard Divide Explain Export Fetch Find Fix Freeze Give Hire List Mark Pause Preview Propose Publish Push Read Reclaim Reject Remove Rename Reopen Resubmit Resume".split(
    " ",
  ),
  ..."Revoke Search Send Show Sign Submit Take Terminate Thaw Undo Verify Wait Withdraw Write".split(" "),
];

/** Without the example at the end. */
const sentencesIn = (text: string): string[] => text.replace(/ Example: .*$/s, "").split(/(?<=[.!?])\s+/);

interface Schema {
  readonly description?: string;
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** The arguments without a description. If an argument can also be null, the description may be inside. */
function undescribed(schema: Schema, path: string): string[] {
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const place = path === "" ? key : `${path}.${key}`;
    const isDescribed = [value, ...(value.anyOf ?? [])].some((one) => one.description !== undefined);
    return [...(isDescribed || value.const !== undefined ? [] : [place]), ...undescribed(value, place)];
  });
  return [
    ...own,
    ...parts.flatMap((part) => undescribed(part, path)),
    ...(schema.items === undefined ? [] : undescribed(schema.items, `${path}[]`)),
  ];
}

function descriptionsIn(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === "description" && typeof value === "string" ? [value] : descriptionsIn(value),
  );
}

/** What is shipped, and the documents. */
function readProduct(): Map<string, string> {
  return read(
    ["src/**/*.{ts,tsx,md,css,html}", "{docs,skills}/**/*.md", "*.md", "deploy/*", ".ci/run"],
    (path) => !isOfTests(path),
  );
}

function readTests(): Map<string, string> {
  return read(["src/**/*.{ts,tsx,md}", "{test,e2e,scripts,bench}/**/*.{ts,tsx,mjs,md}"], isOfTests);
}

function isOfTests(path: string): boolean {
  return /^(?:test|e2e|scripts|bench|src\/testing)\/|\.test\.ts$/.test(path);
}

function read(patterns: string[], isWanted: (path: string) => boolean): Map<string, string> {
  const files = globSync(patterns, { cwd: root }).map((path) => path.replaceAll("\\", "/"));
  return new Map(
    files
      .filter(isWanted)
      .toSorted()
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  );
}
