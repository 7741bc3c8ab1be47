import { JsonObject } from "../contract/words.ts";
import { isMap, isScalar, Lexer, LineCounter, parseDocument, visit } from "yaml";
import { invalid, type Refusal } from "../contract/refusal.ts";

/** The front matter of a Markdown file: keys between two lines of dashes, as YAML. */
export interface FrontMatter {
  readonly values: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Line numbers in the file, counted from 1. */
  readonly lineOf: (key: string) => number;
  readonly bodyLine: number;
}

/** Undefined if the text has no front matter. Refuses, with file and line, if it can't be parsed. */
export function readFrontMatter(file: string, content: string): FrontMatter | undefined {
  const match = /^\uFEFF?---[ \t]*\r?\n((?:[\s\S]*?\n)?)---[ \t]*(?:\r?\n|$)/.exec(content);
  if (match === null) return undefined;
  const [whole, front = ""] = match;
  demandBounded(file, front);
  return {
    ...parseFront(file, front),
    body: content.slice(whole.length),
    bodyLine: whole.split("\n").length,
  };
}

export const wrongAt = (file: string, line: number, what: string, hint: string): Refusal =>
  invalid(`${file}:${line}: ${what}`, hint);

function parseFront(file: string, front: string): Pick<FrontMatter, "values" | "lineOf"> {
  const lines = new LineCounter();
  let document = parse(front, lines);
  // Claude Code accepts any text as a description. YAML rejects one that contains `Context: …`, and drops the rest of a line
  // after ` #`. So a file without a role, which was not written for Agency, is parsed again with its description in quotes.
  if (!/^role:/m.test(front)) {
    const isCut = plainDescription.exec(front)?.[1]?.includes(" #") === true;
    const again = document.errors.length > 0 || isCut ? parse(quoted(front), lines) : document;
    if (again.errors.length === 0) document = again;
  }
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined)
    throw wrongAt(
      file,
      lines.linePos(problem.pos[0]).line + 1,
      `${problem.message}.`,
      "Front matter is YAML. Put text that contains a colon in quotes.",
    );
  const { contents } = document;
  if (!isMap(contents))
    throw wrongAt(
      file,
      2,
      "the front matter is not a list of keys.",
      'Write one "key: value" a line, such as "name: writer".',
    );
  const twice = repeatedKey(contents);
  if (twice !== undefined)
    throw wrongAt(
      file,
      lines.linePos(twice).line + 1,
      "Map keys must be unique.",
      "Remove one of the two keys.",
    );
  let values: unknown;
  try {
    values = document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw wrongAt(
      file,
      2,
      `${error instanceof Error ? error.message : "not valid"}.`,
      "Write each value out. Anchors and aliases are not supported.",
    );
  }
  return {
    values: JsonObject.parse(values),
    lineOf: (key) => {
      const pair = contents.items.find((item) => isScalar(item.key) && item.key.value === key);
      const range = isScalar(pair?.key) ? pair.key.range : undefined;
      return range ? lines.linePos(range[0]).line + 1 : 2;
    },
  };
}

/** A description without quotes, on one line or continued on indented lines. */
const plainDescription = /^description:[ \t]+(?!["'|>])([^\n]*(?:\n[ \t]+[^\n]*)*)/m;

/** Keeps the number of lines, because refusals name the lines of other keys. */
const quoted = (front: string): string =>
  front.replace(plainDescription, (_, words: string) => {
    const lines = words.split("\n").map((line) => line.trim());
    return `description: ${JSON.stringify(lines.join(" "))}${"\n".repeat(lines.length - 1)}`;
  });

/**
 * Checks the size before anything is parsed. It uses only the lexer, which takes linear time and no stack. In a hostile
 * document, every character can become a node and every level of nesting a call.
 */
function demandBounded(file: string, front: string): void {
  if (front.length > mostCharacters)
    throw wrongAt(
      file,
      2,
      `the front matter has ${front.length} characters; the limit is ${mostCharacters}.`,
      "Move long texts below the front matter.",
    );
  let [line, parts, brackets, nested, last] = [2, 0, 0, 0, "\n"];
  for (const lexeme of new Lexer().lex(front)) {
    // For every invalid escape, the parser creates an error with a stack trace.
    const wrong = lexeme.startsWith('"') ? lexeme.match(escapes)?.filter((one) => one === "\\") : undefined;
    parts += 1 + (wrong?.length ?? 0);
    if (parts > mostParts)
      throw wrongAt(
        file,
        line,
        `the front matter has more than ${mostParts} parts.`,
        "Write fewer keys and values.",
      );
    if (lexeme === "[" || lexeme === "{") brackets += 1;
    else if (lexeme === "]" || lexeme === "}") brackets -= 1;
    // Each of several dashes on one line opens a list within a list.
    if (lexeme === "-" || lexeme === "?") nested += 1;
    else if (lexeme.includes("\n")) nested = 0;
    const isDeep = last.endsWith("\n") && /^ {200,}$/.test(lexeme);
    if (brackets > mostLevels || nested > mostLevels || isDeep)
      throw wrongAt(
        file,
        line,
        `the front matter is nested more than ${mostLevels} levels deep.`,
        "Write it with fewer levels.",
      );
    line += lexeme.split("\n").length - 1;
    last = lexeme;
  }
}

/** Every backslash, with the rest of its escape if the escape is valid. */
const escapes = /\\(?:[\t\n\r "/0LNP\\_abefnrtv]|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8})?/g;

const mostCharacters = 200_000;
const mostParts = 10_000;
const mostLevels = 32;

/** The position of the first repeated key in a map. The library's own check compares each key with all keys before it. */
function repeatedKey(contents: Parameters<typeof visit>[0]): number | undefined {
  let found: number | undefined;
  visit(contents, {
    Map: (_, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) found ??= key.range?.[0] ?? 0;
        keys.add(key.value);
      }
    },
  });
  return found;
}

/** Parses without `uniqueKeys` and `prettyErrors`, whose time grows with the square of the number of keys and errors. */
function parse(front: string, lineCounter: LineCounter) {
  lineCounter.lineStarts.length = 0;
  return parseDocument(front, {
    lineCounter,
    logLevel: "error",
    schema: "core",
    stringKeys: true,
    uniqueKeys: false,
    prettyErrors: false,
  });
}
