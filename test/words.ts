// The texts and comments of the tree, and the words in them that make a sentence hard to read.
import type { Files } from "./architecture.ts";

export interface Passage {
  readonly file: string;
  readonly line: number;
  /** A "name" is the name of a test or a suite. */
  readonly kind: "text" | "comment" | "name";
  readonly words: string;
}

/**
 * Words and phrases that make a sentence hard to read. Each has a plain replacement: name the agent, the board or the
 * manager; say "has none", "continues", "again", "submits", "the reporting lines". "There is no agent Ada." stays allowed.
 */
const banned: readonly RegExp[] = [
  /\bwhoever\b/i,
  /\bwhomever\b/i,
  /\bwhom\b/i,
  /\bsomebody\b/i,
  /\bnobody\b/i,
  /\banew\b/i,
  /\bof its own\b/i,
  /\bin words\b/i,
  /(?<!\bthere )\bis no\b(?! longer)/i,
  /\bthere is no one\b/i,
  /\bhand(?:s|ed|ing)? in\b/i,
  /\b(?:go|goes|going|went) on\b/i,
  /\bis to be\b/i,
  /\bso that\b/i,
  /\blets go on\b/i,
];

/** One complaint for every banned word: file, line, word and the text around it. */
export function bannedWords(passages: readonly Passage[]): string[] {
  return passages.flatMap(({ file, line, kind, words }) => {
    const flat = words.replace(/\s+(?:\*\s+)?/g, " ");
    return banned.flatMap((word) => {
      const found = word.exec(flat);
      if (found === null) return [];
      const around = flat.slice(Math.max(0, found.index - 40), found.index + 60).trim();
      return [`${file}:${line}: a ${kind} says "${found[0]}": ${around}`];
    });
  });
}

export function passagesIn(files: Files): Passage[] {
  return [...files].flatMap(([file, text]) =>
    /\.(?:tsx?|mjs)$/.test(file) ? sourcePassages(file, text) : paragraphs(file, text),
  );
}

/** The paragraphs of a document, a style sheet or a script. A line break may be in the middle of a phrase. */
function paragraphs(file: string, text: string): Passage[] {
  let line = 1;
  return text.split(/\n(?=[ \t]*\n)/).map((words) => {
    const start = line + (words.match(/^\s*\n/)?.[0].split("\n").length ?? 1) - 1;
    line += words.split("\n").length;
    return { file, line: start, kind: "text", words };
  });
}

/**
 * The string literals, templates, comments and JSX texts of a TypeScript file. A template counts as one text with its expressions
 * left out; texts inside those expressions count for themselves. Strings that `+` joins count as one text. A `/` starts a
 * regular expression where a value is expected.
 */
function sourcePassages(file: string, text: string): Passage[] {
  const found: Passage[] = [];
  const lineAt = (index: number): number => text.slice(0, index).split("\n").length;
  const keep = (kind: Passage["kind"], start: number, words: string): void => {
    if (words.trim() !== "") found.push({ file, line: lineAt(start), kind, words });
  };
  /** The end of the last string or template, whose passage is the last one found. */
  let lastEnd = 0;
  const keepText = (start: number, end: number, words: string): void => {
    const last = found.at(-1);
    const isJoined = lastEnd > 0 && /^\s*\+\s*$/.test(text.slice(lastEnd, start));
    if (isJoined && last !== undefined) found[found.length - 1] = { ...last, words: last.words + words };
    else keep(namesTest.test(text.slice(Math.max(0, start - 80), start)) ? "name" : "text", start, words);
    lastEnd = end;
  };
  /** The file with blanks for its literals and comments, which count for themselves. */
  let bare = text;
  const blank = (start: number, end: number): void => {
    bare = bare.slice(0, start) + text.slice(start, end).replace(/[^\n]/g, " ") + bare.slice(end);
  };

  /** Reads code until the `}` that closes a template's expression, or the end of the file. */
  function code(from: number, inTemplate: boolean): number {
    let at = from;
    let depth = 0;
    let valueEnded = false;
    while (at < text.length) {
      const rest = text.slice(at, at + 2);
      const char = rest.charAt(0);
      if (rest === "//") {
        let end = endOf("\n", at);
        // The next lines continue its sentence.
        while (/^\n[ \t]*\/\//.test(text.slice(end, end + 80))) end = endOf("\n", end + 1);
        keep("comment", at, text.slice(at + 2, end).replace(/\n\s*\/\//g, "\n"));
        blank(at, end);
        at = end;
      } else if (rest === "/*") {
        const end = endOf("*/", at + 2);
        keep("comment", at, text.slice(at + 2, end));
        blank(at, end + 2);
        at = end + 2;
      } else if (char === '"' || char === "'") {
        const end = closing(char, at + 1);
        keepText(at, end + 1, text.slice(at + 1, end));
        blank(at, end + 1);
        at = end + 1;
        valueEnded = true;
      } else if (char === "`") {
        const end = template(at);
        blank(at, end);
        at = end;
        valueEnded = true;
      } else if (char === "/" && (!valueEnded || endsInKeyword(text.slice(0, at)))) {
        at = closing("/", at + 1) + 1;
        valueEnded = true;
      } else {
        if (char === "{") depth++;
        if (char === "}" && depth-- === 0 && inTemplate) return at;
        if (!/\s/.test(char)) valueEnded = /[\w$)\]]/.test(char);
        at++;
      }
    }
    return at;
  }

  function template(from: number): number {
    let words = "";
    let at = from + 1;
    while (at < text.length && text.charAt(at) !== "`") {
      if (text.startsWith("${", at)) {
        at = code(at + 2, true) + 1;
        words += "…";
      } else {
        const length = text.charAt(at) === "\\" ? 2 : 1;
        words += text.slice(at, at + length);
        at += length;
      }
    }
    keepText(from, at + 1, words);
    return at + 1;
  }

  const endOf = (mark: string, from: number): number => {
    const end = text.indexOf(mark, from);
    return end < 0 ? text.length : end;
  };

  function closing(mark: string, from: number): number {
    let at = from;
    for (let inClass = false; at < text.length; at++) {
      const char = text.charAt(at);
      if (char === "\\") at++;
      else if (char === "\n" || (char === mark && !inClass)) break;
      else if (mark === "/" && (char === "[" || char === "]")) inClass = char === "[";
    }
    return at;
  }

  code(0, false);
  // JSX text lies between a tag or an expression and the next one. Some code between them is read as text too, which does no
  // harm.
  // `{" "}` is a space between two of its lines.
  bare = bare.replace(/\{\s*\}/g, (gap) => gap.replace(/[{}]/g, " "));
  if (file.endsWith(".tsx"))
    for (const { 0: words, index } of bare.matchAll(/(?<=[>}])[^<>{}]+(?=[<{])/g)) keep("text", index, words);
  return found;
}

/** Words after which a value follows, although they look like one. */
const endsInKeyword = (code: string): boolean =>
  /(?:^|[^\w$.])(?:return|typeof|case|throw|else|await|of|in)\s*$/.test(code.slice(-20));

/** The code before the name of a test or a suite. */
const namesTest = /\b(?:test|describe|staged\w*)\(\s*$/;
