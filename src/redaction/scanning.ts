import { secretsOfCommand } from "./flags.ts";
import { tokensIn } from "./formats.ts";
import { announces, testFor } from "./names.ts";
import { loginsIn } from "./urls.ts";
import { anyText, couldBeKey, decoded, isRandom, noText, type Span, type Test } from "./values.ts";

/**
 * Secrets that show themselves in a text. Each way of looking finds spans; what is in a span goes, the rest stays readable.
 * Each takes time in proportion to the text: an expression begins only where a word begins, or looks no further than a bound.
 */
const find = {
  tokens: tokensIn,
  logins: loginsIn,
  names: namedIn,
  commands: commandsIn,
  random: randomIn,
  encoded: encodedIn,
};
export const textMechanisms = ["tokens", "logins", "names", "commands", "random", "encoded"] as const;

export function spansIn(text: string, on: ReadonlySet<string>): Span[] {
  // Most texts are an id or a few ordinary words.
  const isOrdinary =
    text.length < 1000 &&
    /^(?:[\p{L}\p{M}\s.,;!?'()&]*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/u.test(text);
  if (isOrdinary && !/\p{L}{16}/u.test(text) && !announces.test(text)) return [];
  return textMechanisms.flatMap((mechanism) => (on.has(mechanism) ? [...find[mechanism](text, on)] : []));
}

interface Found {
  readonly name: string;
  readonly at: number;
  readonly after: number;
  /** Where the word ends that was looked at last: a word full of names is measured once. */
  readonly run: { end: number };
}

/** A name that means a secret, what sets its value, and the value. */
function* namedIn(text: string): Iterable<Span> {
  const run = { end: 0 };
  let done = 0;
  for (const { 0: word, index: at } of text.matchAll(/[A-Za-z_][\w.-]{0,80}/g)) {
    if (at < done || !announces.test(word)) continue;
    // `api key` is one name.
    const lead = second.test(word)
      ? (/[A-Za-z]{2,20} $/.exec(text.slice(Math.max(0, at - 21), at))?.[0] ?? "")
      : "";
    const found = { name: lead + word, at, after: at + word.length, run };
    if (testFor(found.name, "header") === undefined) continue;
    for (const span of pairedValue(text, found) ?? valueOf(text, found)) {
      [, done] = span;
      yield span;
    }
  }
}

const second = /^(?:key|keys|phrase|codes?|string|words?|material|by)$/i;

/** `name: API_KEY` and, next to it, `value: …`; `<add key="Token" value="…">`; `variable "token" { default = … }`. */
const pairBefore =
  /(?:name|key|header|variable|field|id|label)["']?(?:[ \t]{0,3}[:=][ \t]{0,3}|[ \t](?=["']))["']?$/i;
const pairAfter = /["']?[\s,;{]{1,40}["']?(?:value|val|default|content)["']?[ \t]{0,3}[:=][ \t]*/y;

function pairedValue(text: string, { name, at, after, run }: Found): Iterable<Span> | undefined {
  const match = pairBefore.test(text.slice(Math.max(0, at - 20), at)) ? execAt(pairAfter, text, after) : null;
  const context = { sign: "=", inside: "", isHeader: false, startsLine: false, run };
  return match === null
    ? undefined
    : valueAt(text, after + match[0].length, testFor(name, "tight") ?? noText, context);
}

const separator =
  /(\\{0,4}["'`]?\]?)(?:[ \t]*(=>|:=|->|→|={1,3}|:(?!:)|(?<=[ \t])\|(?=[ \t]))[ \t]*|(\()(?=["'`])|(,)[ \t]*(?=["'`])|[ \t]+(is|was|are|ist)\b[: \t]*|((?:\s[^<>]{0,200})?>)(?=[^<]{1,9999}<\/)|[ \t]+(?=\S))/y;
/** Words that are common in prose. A colon after them does not assign a value, unless the two make up a whole line. */
const prosaic = /(?:tokens|pass|jwt|bearer|pin|pat|auth|cookies?)$/i;
const isLine = /(?:authori[sz]ation|cookie)$/i;

function valueOf(text: string, { name, at, after, run }: Found): Iterable<Span> {
  const match = execAt(separator, text, after);
  if (match === null) return [];
  const [whole, close = "", sign = "", call, comma, spoken, tag] = match;
  const [before, lead, from] = [
    text[at - 1] ?? "",
    text.slice(Math.max(0, at - 42), at),
    after + whole.length,
  ];
  const isFlag = /(?:^|[\s"'`=([{,])--?$/.test(lead);
  const isHeader = sign === ":" && !isFlag && (isLine.test(name) || name.includes("-"));
  const isTight = isFlag || (/[?&#;]/.test(before) && sign.startsWith("="));
  const test = testFor(name, isHeader ? "header" : isTight ? "tight" : "loose") ?? noText;
  if (tag !== undefined) return /<(?:[\w.-]{1,40}:)?$/.test(lead) ? elementAt(text, from, test) : [];
  // Not a link of Markdown, a name of AWS (`…:secret:name`), the user of an address, `x ? "token" : "key"`, or a text's end.
  if (sign === ":" && (close === "]" || /[:/]$/.test(before) || /\?\s?["'`]$/.test(lead))) return [];
  if (execAt(/["'`](?:[,;)\]\s]|$)/y, text, from) !== null) return [];
  const inside = close === "" && /["'`]/.test(before) ? before : "";
  const startsLine = at === 0 || /[\r\n][ \t-]{0,40}$/.test(lead);
  const takesLine = isHeader && (isLine.test(name) || startsLine || inside !== "");
  const context = { sign: sign === "" ? " " : sign, inside, isHeader: takesLine, startsLine, run };
  const couldBe: Test = (value) => test(value) && couldBeKey(value);
  if (call !== undefined && /^(?:get|read|load|find|fetch|check|has|is|test|require)/i.test(name)) return [];
  if (comma !== undefined && !/\(["'`]$/.test(lead)) return [];
  if (call !== undefined || comma !== undefined) return valueAt(text, from, test, context);
  if (/^(?:->|→|\|)$/.test(sign)) return valueAt(text, from, couldBe, context);
  if (sign !== "") {
    const isProse = sign === ":" && close === "" && !isHeader && prosaic.test(name);
    const isAll = startsLine && execAt(/\S+[ \t]*(?:\r?\n|$)/y, text, from) !== null;
    return valueAt(text, from, isProse && !isAll ? couldBe : test, context);
  }
  // Flags and the words that follow them are for commandsIn.
  if (close !== "" || isFlag || !test("swordfish")) return [];
  // `PASSWORD 'x'`, `the token is abc123`: a word in quotes, or letters and digits mixed.
  if (/["']/.test(text[from] ?? "") && !prosaic.test(name))
    return valueAt(text, from, (value) => !/\s/.test(value) && !isProse(value), context);
  const least = spoken === undefined ? 8 : 6;
  return valueAt(
    text,
    from,
    (value) => value.length >= least && /\d/.test(value) && /[a-z]/i.test(value) && couldBe(value),
    context,
  );
}

interface Context {
  readonly sign: string;
  /** The quote in which the name itself stands: the value ends with it. */
  readonly inside: string;
  readonly isHeader: boolean;
  readonly startsLine: boolean;
  readonly run: Found["run"];
}

/** References and gaps to fill in, which are not a value. */
const noValue =
  /^(?:\$[A-Za-z_]\w*(?:$|\W)|\$[{(]|\{\{|<|%[A-Z_]+%|(?:process|os|this|self|config|options|settings|ctx|req|env|secrets|args|params|props|state|vars?|inputs?|steps|context|daemon|data)\.[a-z]|[A-Za-z_][\w.]{1,50}\(|\*{2,}(?!\w)|\[redacted|(?:x{3,}|\.{3,}|…)(?!\w))/;
const schemes = /^(?:bearer|basic|token|digest|negotiate|ntlm|api-?key|key|aws4-hmac-sha256)[ \t]+/i;

function* valueAt(text: string, start: number, test: Test, context: Context): Iterable<Span> {
  const block = context.sign === ":" ? execAt(/(?:[|>][+-]?\d?)?[ \t]*\r?\n/y, text, start) : null;
  if (block !== null) return yield* blockAt(text, start, start + block[0].length, test);
  if (/[[{]/.test(text[start] ?? "") && test === anyText) return yield* listAt(text, start);
  const [quote = ""] = execAt(/\\{0,4}(?:"""|'''|["'`])/y, text, start) ?? [];
  const from = start + quote.length;
  if (noValue.test(text.slice(from, from + 60))) return;
  const value =
    quote === "" ? unquoted(text, from, test, context) : (execAt(ends(quote), text, from)?.[0] ?? "");
  const scheme = schemes.exec(value)?.[0] ?? "";
  const secret = value.slice(scheme.length, scheme.length + 512);
  if (secret === "" || noValue.test(secret.slice(0, 60))) return;
  const isWord = quote === "" && !(context.isHeader && /\s/.test(secret));
  if (isWord && (isProse(secret) || (context.sign === ":" && isSentence(text, from + value.length, secret))))
    return;
  if (test(secret)) yield [from + scheme.length, from + value.length];
}

/** What is in quotes, up to the quote of the same kind; a line at most, unless the quote is for several. */
function ends(quote: string): RegExp {
  if (quote.startsWith("\\")) return /(?:[^"'`\\\r\n]|\\+(?!["'`\\])[^\r\n])*/y;
  if (quote.length === 3) return quote === '"""' ? /[^]*?(?="""|$)/y : /[^]*?(?='''|$)/y;
  return quote === '"'
    ? /(?:[^"\\\r\n]|\\[^\r\n])*/y
    : quote === "'"
      ? /(?:[^'\\\r\n]|\\[^\r\n])*/y
      : /(?:[^`\\]|\\[^])*/y;
}

/** A header takes the rest of its line; so does a secret of several words that has a line to itself. */
function unquoted(
  text: string,
  from: number,
  test: Test,
  { sign, inside, isHeader, startsLine, run }: Context,
): string {
  const isWhole = isHeader && startsLine && inside === "";
  const restOfLine = (): string =>
    execAt(isWhole ? /[^\r\n]*/y : /[^\r\n"'`]*/y, text, from)?.[0].trimEnd() ?? "";
  if (isHeader || (inside !== "" && test === anyText)) return restOfLine();
  if (run.end <= from) run.end = from + (execAt(/[^\s,;&"'`<>()[\]{}|\\]+/y, text, from)?.[0].length ?? 0);
  const word = text.slice(from, run.end);
  if (sign === " ") return word.replace(/[.,;:!?]+$/, "");
  const mayBeSeveral =
    startsLine && test === anyText && (sign === ":" || text[from - 1] === " ") && !isProse(word);
  const rest = mayBeSeveral ? restOfLine() : "";
  return rest === "" || /[&=;,]/.test(rest) || rest.split(/\s+/).length > 24 ? word : rest;
}

const prose =
  /^(?:an?|and|any|are|as|at|async|await|be|before|by|can|cannot|comes|do|does|each|every|field|flag|for|from|function|generate|has|have|if|in|into|is|its?|keep|may|more|must|need|needed|never|new|no|none|not|null|nil|number|object|of|off|on|one|only|option|optional|or|parameter|per|required|see|set|should|shown|so|stored?|str|string|such|than|that|the|their|them|then|there|these|they|this|to|true|type|typeof|undefined|unset|used?|uses|value|via|was|we|when|where|which|who|will|with|without|yes|you|your|argument|bool|boolean|false|int|integer|array|missing|empty|expired|invalid|wrong|unknown|enabled|disabled|default|managers?|rotation|bearer|basic|header)$/i;

const isProse = (value: string): boolean =>
  prose.test(/^[A-Za-z]*/.exec(value)?.[0] ?? "") && /^[A-Za-z]+(?:[.,;:!?]*$|\s)/.test(value);

/** `a secret: never tell …`: a plain word after the colon, followed by a word that is common in prose. */
function isSentence(text: string, after: number, value: string): boolean {
  const [, next = ""] = execAt(/,?[ \t]+([a-z]{1,12})(?![\w:=-])/y, text, after) ?? [];
  return /^[A-Za-z']+$/.test(value) && prose.test(next);
}

/** Lines that are indented below a name, as in YAML: a text, or items of one word. */
function* blockAt(text: string, start: number, from: number, test: Test): Iterable<Span> {
  const isText = /[|>]/.test(text[start] ?? "");
  for (let at = from; ;) {
    const [line = "", indent = "", value = ""] =
      execAt(/([ \t]+(?:- +)?["']?)(\S[^\r\n]*?)["']?[ \t]*(?:\r?\n|$)/y, text, at) ?? [];
    if (line === "" || value.startsWith("[redacted") || !test(value) || !(isText || couldBeKey(value)))
      return;
    yield [at + indent.length, at + indent.length + value.length];
    at += line.length;
  }
}

/** Every text in a list or an object that follows a name. */
function* listAt(text: string, start: number): Iterable<Span> {
  const end = text.indexOf(text[start] === "[" ? "]" : "}", start);
  const body = text.slice(start, Math.min(start + 4000, end < 0 ? text.length : end + 1));
  const items = /((?:[[{,:=]|=>)\s*\\{0,4}["'`])([^"'`\\\r\n]+)(?=\\{0,4}["'`]\s*[,}\]])/g;
  for (const { 1: lead = "", 2: value = "", index } of body.matchAll(items))
    if (!noValue.test(value)) yield [start + index + lead.length, start + index + lead.length + value.length];
}

function elementAt(text: string, from: number, test: Test): Span[] {
  const [value = ""] = execAt(/[^<]+/y, text, from) ?? [];
  return value.trim() !== "" && !noValue.test(value) && test(value.trim())
    ? [[from, from + value.length]]
    : [];
}

/** What stays, and the secret: schemes of headers, and what only commands and their files have. */
const shapes: readonly (readonly [RegExp, Test])[] = [
  [
    /((?<![A-Za-z0-9])bearer[ \t]+)([\w.~+/=-]{2,})/gi,
    (word) =>
      !/^(?:(?:tokens?|auth\w*|schemes?|headers?|credentials?|keys?|of|and|or|is|in|for|the|with|to|format|type)\b|[.,-]+$)/i.test(
        word,
      ),
  ],
  [
    /((?<![A-Za-z0-9])basic[ \t]+)([\w+/=-]{4,})/gi,
    (word) => decoded(word)?.includes(":") === true || (couldBeKey(word) && word.length > 15),
  ],
  [/((?<![\w-])login\s{1,3}\S{1,100}\s{1,3}password\s{1,3})(\S+)/g, anyText],
  [/^([\w.*-]{1,200}:(?:\d{1,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:)(\S+)$/gm, anyText],
  [
    /(\becho\s{1,3}(?:-n )?["']?)([^\s"'|$]{1,200})(?=["']?\s{0,3}\|[^\n|]{0,200}(?:-stdin|--with-token|sudo -S|chpasswd))/g,
    anyText,
  ],
];

function* commandsIn(text: string): Iterable<Span> {
  for (const [shape, isSecret] of shapes)
    for (const { 1: lead = "", 2: value = "", index } of text.matchAll(shape))
      if (isSecret(value)) yield [index + lead.length, index + lead.length + value.length];
  for (const line of text.matchAll(/[^\r\n]+/g)) {
    if (!/(?:^|\s)(?:-{1,2}[A-Za-z]|ENV |ARG |setx?\s)|\bpass:/.test(line[0])) continue;
    const words = [...line[0].matchAll(/(?:[^\s"'`;|&]|"[^"]*"|'[^']*'|["'`])+|[;|&]+/g)].map(
      ({ 0: word, index }) => {
        const quotes = /^(["'`]).+\1$/s.test(word) ? 1 : 0;
        return { text: word.slice(quotes, word.length - quotes), at: line.index + index + quotes };
      },
    );
    for (const { word, span } of secretsOfCommand(words))
      if (!isProse(word.text.slice(span[0]))) yield [word.at + span[0], word.at + span[1]];
  }
}

/** A certificate or a public key, whose lines look random; or a long word. */
const long =
  /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}(?:CERTIFICATE|PUBLIC KEY)[A-Z ]{0,20}-----[^-]*|(?<![\w+/=.:@%-])[\w+/-]{32,}={0,2}(?=$|[\s"'`)\]}>,;|&\\]|[.!?](?:\s|$))/g;

/** Words as only a machine makes them up. In an address they name what it leads to. */
function* randomIn(text: string): Iterable<Span> {
  for (const { 0: word, index } of text.matchAll(long)) {
    if (word.startsWith("-----") || !isRandom(word)) continue;
    const before =
      text
        .slice(Math.max(0, index - 500), index)
        .split(/\s/)
        .at(-1) ?? "";
    if (!before.includes("://") && !before.endsWith("base64,")) yield [index, index + word.length];
  }
}

/** What is encoded, in base64 or as in an address, is looked into once. */
function* encodedIn(text: string, on: ReadonlySet<string>): Iterable<Span> {
  const inner = new Set([...on].filter((mechanism) => mechanism !== "encoded" && mechanism !== "random"));
  for (const { 0: word, index } of text.matchAll(/(?<![\w+/=-])[\w+/-]{24,}={0,2}/g)) {
    const plain = decoded(word);
    if (plain !== undefined && spansIn(plain, inner).length > 0) yield [index, index + word.length];
  }
  const escaped =
    /(?<![^\s"'`<>&=?#/])(?![a-z][\w+.-]{0,20}:)[^\s"'`<>&=?#/]*%(?:3[adAD]|40|22)[^\s"'`<>&=?#/]*/g;
  for (const { 0: word, index } of text.includes("%") ? text.matchAll(escaped) : []) {
    const plain = word.replace(/%[0-9a-f]{2}/gi, (code) =>
      String.fromCharCode(Number.parseInt(code.slice(1), 16)),
    );
    if (spansIn(plain, inner).length > 0) yield [index, index + word.length];
  }
}

function execAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}
