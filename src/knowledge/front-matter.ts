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

/** Undefined where a text does not begin with any; refused, with file and line, where it cannot be read. */
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
  // Claude Code takes a description with anything in it. To YAML, `Context: …` inside of one is a mistake, and what follows
  // ` #` a remark to be left out.
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
      "Front matter is YAML; put text with a colon in it in quotes.",
    );
  const { contents } = document;
  if (!isMap(contents))
    throw wrongAt(file, 2, "the front matter is no list of keys.", "Write name: and what else there is.");
  let values: unknown;
  try {
    values = document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw wrongAt(
      file,
      2,
      `${error instanceof Error ? error.message : "not valid"}.`,
      "Write values out; no anchors and aliases.",
    );
  }
  return {
    values: { ...Object(values) },
    lineOf: (key) => {
      const pair = contents.items.find((item) => isScalar(item.key) && item.key.value === key);
      const range = isScalar(pair?.key) ? pair.key.range : undefined;
      return range ? lines.linePos(range[0]).line + 1 : 2;
    },
  };
}

/** Not in quotes, on one line or going on in lines that are indented. */
const plainDescription = /^description:[ \t]+(?!["'|>])([^\n]*(?:\n[ \t]+[^\n]*)*)/m;

/** With as many lines as before, so that those of other keys are told right. */
const quoted = (front: string): string =>
  front.replace(plainDescription, (_, words: string) => {
    const lines = words.split("\n").map((line) => line.trim());
    return `description: ${JSON.stringify(lines.join(" "))}${"\n".repeat(lines.length - 1)}`;
  });

function parse(front: string, lineCounter: LineCounter) {
  lineCounter.lineStarts.length = 0;
  return parseDocument(front, { lineCounter, logLevel: "error", schema: "core", stringKeys: true });
}
