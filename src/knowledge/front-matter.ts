import { JsonObject } from "../contract/words.ts";
import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { Refusal } from "../contract/refusal.ts";

/** The front matter of a Markdown file: keys between two lines of dashes, as YAML. */
export interface FrontMatter {
  readonly values: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Lines of the file, counted from 1. */
  readonly lineOf: (key: string) => number;
  readonly bodyLine: number;
}

/** Undefined if the text has no front matter. Refuses, with file and line, if it can't be parsed. */
export function readFrontMatter(file: string, content: string): FrontMatter | undefined {
  const match = /^\uFEFF?---[ \t]*\r?\n((?:[\s\S]*?\n)?)---[ \t]*(?:\r?\n|$)/.exec(content);
  if (match === null) return undefined;
  const [whole, front = ""] = match;
  return {
    ...parseFront(file, front),
    body: content.slice(whole.length),
    bodyLine: whole.split("\n").length,
  };
}

export const wrongAt = (file: string, line: number, what: string, hint: string): Refusal =>
  new Refusal("invalid", `${file}:${line}: ${what}`, hint);

function parseFront(file: string, front: string): Pick<FrontMatter, "values" | "lineOf"> {
  const lines = new LineCounter();
  let document = parse(front, lines);
  // Claude Code accepts any text as a description. YAML rejects one that contains `Context: …` and drops what follows ` #`.
  // So a file without a role (it was not written for Agency) is parsed again with its description in quotes.
  if (!/^role:/m.test(front)) {
    const isCut = plainDescription.exec(front)?.[1]?.includes(" #") === true;
    const again = document.errors.length > 0 || isCut ? parse(quoted(front), lines) : document;
    if (again.errors.length === 0) document = again;
  }
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined)
    throw wrongAt(
      file,
      (problem.linePos?.[0].line ?? 1) + 1,
      `${problem.message.split(/ at line |\n/)[0] ?? "not valid YAML"}.`,
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

function parse(front: string, lineCounter: LineCounter) {
  lineCounter.lineStarts.length = 0;
  return parseDocument(front, { lineCounter, logLevel: "error", schema: "core", stringKeys: true });
}
