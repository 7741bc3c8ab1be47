import { assignedIn, isProse } from "./assignments.ts";
import { secretsOfCommand } from "./flags.ts";
import { tokenShapes } from "./formats.ts";
import { announces } from "./names.ts";
import { loginsIn, loginShapes } from "./urls.ts";
import { couldBeKey, decoded, isRandom, type Shape, type Span } from "./values.ts";

/**
 * Finds secrets in a text by several mechanisms. Each one returns spans to hide. Each takes time in proportion to the
 * length of the text: an expression starts only at the beginning of a word, or looks ahead only to a bound.
 */
const find = new Map<string, (text: string, on: ReadonlySet<string>) => Iterable<Span>>([
  ["tokens", (text) => shapesIn(text, tokenShapes)],
  ["logins", (text) => [...loginsIn(text), ...shapesIn(text, loginShapes)]],
  ["names", assignedIn],
  ["commands", (text) => [...commandsIn(text), ...shapesIn(text, commandShapes)]],
  ["random", (text) => shapesIn(text, randomShapes)],
  ["encoded", encodedIn],
]);
export const textMechanisms: readonly string[] = [...find.keys()];

export function spansIn(text: string, on: ReadonlySet<string>): Span[] {
  // A shortcut: most texts are an id or a few ordinary words.
  const isOrdinary = text.length < 1000 && ordinary.test(text) && !/\p{L}{16}/u.test(text);
  if (isOrdinary && !announces.test(text)) return [];
  return [...find].flatMap(([mechanism, spans]) => (on.has(mechanism) ? [...spans(text, on)] : []));
}

const ordinary = /^(?:[\p{L}\p{M}\s.,;!?'()&]*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/u;

function* shapesIn(text: string, shapes: readonly Shape[]): Iterable<Span> {
  for (const [needle, expression, test] of shapes)
    for (const match of text.includes(needle) ? text.matchAll(expression) : []) {
      const { secret = match[0], kept = "" } = match.groups ?? {};
      const start = match.index + kept.length;
      if (test?.(secret) !== false) yield [start, start + secret.length];
    }
}

const aboutBearer =
  /^(?:(?:tokens?|auth\w*|schemes?|headers?|credentials?|keys?|of|and|or|is|in|for|the|with|to|format|type)\b|[.,-]+$)/i;
const isBasic = (word: string): boolean =>
  decoded(word)?.includes(":") === true || (couldBeKey(word) && word.length > 15);

/** Header schemes without a header, lines of .netrc and .pgpass, and passwords that are piped into a login. */
const commandShapes: readonly Shape[] = [
  ["", /(?<![a-z0-9])(?<kept>bearer[ \t]+)(?<secret>[\w.~+/=-]{2,})/gi, (word) => !aboutBearer.test(word)],
  ["", /(?<![a-z0-9])(?<kept>basic[ \t]+)(?<secret>[\w+/=-]{4,})/gi, isBasic],
  ["SecureString", /(?<kept>ConvertTo-SecureString (?:-String )?["']?)(?<secret>[^\s"']+)/g],
  ["login", /(?<![\w-])(?<kept>login\s{1,3}\S{1,100}\s{1,3}password\s{1,3})(?<secret>\S+)/g],
  [":", /^(?<kept>[\w.*-]{1,200}:(?:\d{1,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:)(?<secret>\S+)$/gm],
  [
    "echo",
    /(?<kept>\becho\s{1,3}(?:-n )?["']?)(?<secret>[^\s"'|$]{1,200})(?=["']?\s{0,3}\|[^\n|]{0,200}(?:-stdin|--with-token|sudo -S|chpasswd))/g,
  ],
];

function* commandsIn(text: string): Iterable<Span> {
  for (const line of text.matchAll(/[^\r\n]+/g)) {
    if (!/(?:^|\s)(?:-{1,2}[A-Za-z]|ENV |ARG |set(?:x|env)?\s|\/p:)|\bpass:/.test(line[0])) continue;
    const words = [...line[0].matchAll(/(?:[^\s"'`;|&]|"[^"]*"|'[^']*'|["'`])+|[;|&]+/g)].map((match) => {
      const quotes = /^(["'`]).+\1$/s.test(match[0]) ? 1 : 0;
      return {
        text: match[0].slice(quotes, match[0].length - quotes),
        at: line.index + match.index + quotes,
      };
    });
    for (const { word, span } of secretsOfCommand(words))
      if (/["'`]/.test(text[word.at - 1] ?? "") || !isProse(word.text.slice(span[0])))
        yield [word.at + span[0], word.at + span[1]];
  }
}

/** Long random words. In a URL they identify a resource, and in a public key they are public, so both stay. */
const randomShapes: readonly Shape[] = [
  [
    "",
    /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}(?:CERTIFICATE|PUBLIC KEY)[A-Z ]{0,20}-----[^-]*|(?<![\w+/=.:@%-])(?<!base64,|:\/\/\S{0,400})[\w+/-]{32,}={0,2}(?=$|[\s"'`)\]}>,;|&\\]|[.!?](?:\s|$))/g,
    (word) => !word.startsWith("-----") && isRandom(word),
  ],
];

/** Base64 and percent-encoded texts are decoded once and scanned again. */
function encodedIn(text: string, on: ReadonlySet<string>): Iterable<Span> {
  const inner = new Set([...on].filter((mechanism) => mechanism !== "encoded" && mechanism !== "random"));
  const isSecret = (plain = ""): boolean => spansIn(plain, inner).length > 0;
  const escaped =
    /(?<![^\s"'`<>&=?#/])(?![a-z][\w+.-]{0,20}:)[^\s"'`<>&=?#/]*%(?:3[ad]|40|22)[^\s"'`<>&=?#/]*/gi;
  const letter = (code: string): string => String.fromCharCode(Number.parseInt(code.slice(1), 16));
  return shapesIn(text, [
    ["", /(?<![\w+/=-])[\w+/-]{24,}={0,2}/g, (word) => isSecret(decoded(word))],
    ["%", escaped, (word) => isSecret(word.replace(/%[0-9a-f]{2}/gi, letter))],
  ]);
}
