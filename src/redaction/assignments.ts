import { announces, isCompound, testFor } from "./names.ts";
import { anyText, couldBeKey, noText, type Span, type Test } from "./values.ts";

interface Found {
  readonly name: string;
  readonly at: number;
  readonly after: number;
  /** Where the last unquoted word ends. A word full of names is measured only once, which keeps the scan linear. */
  readonly run: { end: number };
}

/** Finds the values of names that mean a secret: `token=x`, `"token": "x"`, `X-Token: x`, `the token is x1y2z3`. */
export function* assignedIn(text: string): Iterable<Span> {
  if (!announces.test(text)) return;
  const run = { end: 0 };
  let done = 0;
  for (const { 0: word, index: at } of text.matchAll(/[A-Za-z_][\w.-]{0,80}/g)) {
    if (at < done || !announces.test(word)) continue;
    // "api key" is one name of two words.
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

/** Names and values in two fields: `name: API_KEY`, `value: x`; `<add key="Token" value="x">`; `variable "token" { default = "x" }`. */
const pairBefore =
  /(?:name|key|header|variable|field|id|label|type)["']?(?:[ \t]{0,3}[:=][ \t]{0,3}|[ \t](?=["']))["']?$/i;
const pairAfter = /["']?[\s,;{]{1,40}["']?(?:value|val|default|content)["']?[ \t]{0,3}[:=][ \t]*/y;

function pairedValue(text: string, { name, at, after, run }: Found): Iterable<Span> | undefined {
  const match = pairBefore.test(text.slice(Math.max(0, at - 20), at)) ? execAt(pairAfter, text, after) : null;
  const context = { sign: "=", inside: "", isHeader: false, startsLine: false, run };
  return match === null
    ? undefined
    : valueAt(text, after + match[0].length, testFor(name, "tight") ?? noText, context);
}

const separator =
  /(\\{0,4}["'`]?\]?)(?:\*{0,2}[ \t]*(=>|:=|->|→|={1,3}|:(?!:)|(?<=[ \t])\|(?=[ \t]))(?:\*{2}(?!\*))?(?:\\(?=[ \t]))?[ \t]*|(\()(?=["'`])|(,)[ \t]*(?=["'`])|[ \t]+(is|was|are|ist)\b[: \t]*|[ \t]+(?=\S))/y;
/** Words that are common in prose. A colon after them does not assign a value, unless the two make up a whole line. */
const prosaic = /(?:tokens|pass|jwt|bearer|pin|pat|auth|cookies?)$/i;
const isLine = /(?:authori[sz]ation|cookie)$/i;

function valueOf(text: string, { name, at, after, run }: Found): Iterable<Span> {
  const lead = text.slice(Math.max(0, at - 42), at);
  if (/<(?:[\w.-]{1,40}:)?$/.test(lead)) return elementAt(text, after, testFor(name, "loose") ?? noText);
  const match = execAt(separator, text, after);
  if (match === null) return [];
  const [whole, close = "", sign = "", call, comma, spoken] = match;
  const [before, from] = [text[at - 1] ?? "", after + whole.length];
  const isFlag = /(?:^|[\s"'`=([{,])--?$/.test(lead);
  const isHeader =
    (sign === ":" || comma !== undefined) && !isFlag && (isLine.test(name) || name.includes("-"));
  const isTight = isFlag || (/[?&#;]/.test(before) && sign.startsWith("="));
  const test = testFor(name, isHeader ? "header" : isTight ? "tight" : "loose") ?? noText;
  // A link in Markdown, an AWS resource name (`…:secret:name`), the user of a URL, and `x ? "token" : "key"` assign nothing.
  if (sign === ":" && (close === "]" || /(?:\w:|\/\/)$/.test(lead) || /\?\s?["'`]$/.test(lead))) return [];
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
  // flags.ts handles a flag and the word after it.
  if (close !== "" || isFlag || !test("swordfish")) return [];
  // `PASSWORD 'x'` and `the token is abc123` need a quoted word, or a word that mixes letters and digits.
  if (/["']/.test(text[from] ?? "") && !prosaic.test(name))
    return valueAt(text, from, (value) => !/\s/.test(value) && !isProse(value), context);
  if (startsLine && isCompound(name) && execAt(/[^\s.,;:!?]+(?:\r?\n|$)/y, text, from) !== null)
    return valueAt(text, from, test, context);
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
  /** The quote that was opened before the name. The value ends where the quote ends. */
  readonly inside: string;
  readonly isHeader: boolean;
  readonly startsLine: boolean;
  readonly run: Found["run"];
}

/** References, calls and placeholders. They show where a value comes from and are not secret. */
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
    quote === "" ? unquoted(text, from, test, context) : (execAt(insideOf(quote), text, from)?.[0] ?? "");
  const scheme = schemes.exec(value)?.[0] ?? "";
  const secret = value.slice(scheme.length, scheme.length + 512);
  if (secret === "" || noValue.test(secret.slice(0, 60))) return;
  const isWord = quote === "" && !(context.isHeader && /\s/.test(secret));
  if (isWord && (isProse(secret) || (context.sign === ":" && isSentence(text, from + value.length, secret))))
    return;
  if (test(secret)) yield [from + scheme.length, from + value.length];
}

/** Matches the text inside a quote. Only triple quotes and backticks may span lines. */
function insideOf(quote: string): RegExp {
  if (quote.startsWith("\\")) return /(?:[^"'`\\\r\n]|\\+(?!["'`\\])[^\r\n])*/y;
  if (quote.length === 3) return new RegExp(`[^]*?(?=${quote}|$)`, "y");
  return quote === "`" ? /(?:[^`\\]|\\[^])*/y : new RegExp(`(?:[^${quote}\\\\\\r\\n]|\\\\.)*`, "y");
}

/** A header value takes the rest of its line. So does a passphrase of several words on a line by itself. */
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

export const isProse = (value: string): boolean =>
  prose.test(/^[A-Za-z]*/.exec(value)?.[0] ?? "") && /^[A-Za-z]+(?:[.,;:!?]*$|\s)/.test(value);

/** `a secret: never tell …`: a plain word after the colon, followed by a word that is common in prose. */
function isSentence(text: string, after: number, value: string): boolean {
  const [, next = ""] = execAt(/,?[ \t]+([a-z]{1,12})(?![\w:=-])/y, text, after) ?? [];
  return /^[A-Za-z']+$/.test(value) && prose.test(next);
}

/** Indented lines below a name, as in YAML: a block of text, or list items of one word each. */
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

/** Every quoted text in the list or object that follows a name. */
function* listAt(text: string, start: number): Iterable<Span> {
  const end = text.indexOf(text[start] === "[" ? "]" : "}", start);
  const body = text.slice(start, Math.min(start + 4000, end < 0 ? text.length : end + 1));
  const items = /((?:[[{,:=]|=>)\s*\\{0,4}["'`])([^"'`\\\r\n]+)(?=\\{0,4}["'`]\s*[,}\]])/g;
  for (const { 1: lead = "", 2: value = "", index } of body.matchAll(items))
    if (!noValue.test(value)) yield [start + index + lead.length, start + index + lead.length + value.length];
}

/** An XML element: `<token type="x">…</token>`. */
function elementAt(text: string, after: number, test: Test): Span[] {
  const [, tag = "", value = ""] = execAt(/((?:\s[^<>]{0,200})?>)([^<]+)(?=<\/)/y, text, after) ?? [];
  const from = after + tag.length;
  const isSecret = value.trim() !== "" && !noValue.test(value) && test(value.trim());
  return isSecret ? [[from, from + value.length]] : [];
}

function execAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}
