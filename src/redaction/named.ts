import { announces, isCompound, testFor } from "./names.ts";
import { anyText, couldBeKey, notScheme, type Test } from "./values.ts";

/** A range of a text. */
export type Span = readonly [start: number, end: number];

/**
 * The one rule for names: a name that means a secret, a separator, and a value. It reads variables, flags, headers, keys of
 * JSON, YAML, XML and queries, calls, and `the token is x1y2z3` alike. The separator says how much the value must look like
 * a secret.
 */
export function* namedIn(text: string): Iterable<Span> {
  if (!announces.test(text)) return;
  let done = 0;
  for (const { 0: word, index: at } of text.matchAll(/[A-Za-z_][\w.-]{0,80}/g)) {
    if (at < done || !announces.test(word)) continue;
    const lead = text.slice(Math.max(0, at - 80), at);
    // "api key" is one name of two words.
    const name = (second.test(word) ? (/[A-Za-z]{2,20} $/.exec(lead)?.[0] ?? "") : "") + word;
    if (testFor(name, "header") === undefined) continue;
    for (const span of valueOf(text, name, lead, at + word.length)) {
      [, done] = span;
      yield span;
    }
  }
}

const second = /^(?:key|keys|phrase|codes?|string|words?|material|by)$/i;

const separator =
  /(\\{0,4}["'`]?\]?)(?:\*{0,2}[ \t]*(=>|:=|->|→|={1,3}|:(?!:)|(?<=[ \t])\|(?=[ \t]))(?:\*{2}(?!\*))?(?:\\(?=[ \t]))?[ \t]*|([(,])[ \t]*(?=["'`])|[ \t]+(is|was|are|ist)\b[: \t]*|[ \t\0]+(?=\S))/y;
/** Names and values in two fields: `name: API_KEY`, `value: x`; `<add key="Token" value="x">`; `variable "token" { default = "x" }`. */
const pairBefore =
  /(?:name|key|header|variable|field|id|label|type)["']?(?:[ \t]{0,3}[:=][ \t]{0,3}|[ \t](?=["']))["']?$/i;
const pairAfter = /["']?[\s,;{]{1,40}["']?(?:value|val|default|content)["']?[ \t]{0,3}[:=][ \t]*/iy;
/** An XML element: `<token type="x">…</token>`. */
const elementAfter = /(?:\s[^<>]{0,200})?>(?=[^<]+<\/)/y;
/** A name behind a single dash, such as `-password` or `-storePass`, but not the short flags of `-pPw`. */
const longName = /^(?:[a-z][a-z-]+|[a-z]{2,}(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]{2,})+)$/;
/** The end of a flag's line, if its value is alone on the next: an argument on each line, a list of YAML, a line continued with `\`. */
const beforeNextLine =
  /["'`]?,?[ \t]*(?:\\[ \t]*)?\r?\n[ \t]*(?:-[ \t]+)?(?!-)(?=(?:(["'`])[^"'`\r\n]+\1,?|(?![A-Z][a-z]+[.:]?[ \t]*(?:\r?\n|$))[^\s"'`]*[^\s"'`:])[ \t]*\\?[ \t]*(?:\r?\n|$))/y;
/** Commands and Dockerfile lines that set a name to the next word: `aws configure set aws_secret_access_key x`. */
const setter =
  /(?:^|[\n\0;|&] ?)(?:ENV|ARG|setx?|setenv|aws|npm|yarn|pnpm|git|gcloud|config|heroku|fly|vault|requirepass)[ \t\0][^\n]*$/;
/** Words that are common in prose. A colon after them does not assign a value, unless the two make up a whole line. */
const prosaic = /(?:tokens|pass|jwt|bearer|pin|pat|auth|cookies?|authentication)$/i;
const isLine = /(?:authori[sz]ation|cookie)$/i;

function valueOf(text: string, name: string, lead: string, after: number): Iterable<Span> {
  const test = (place: "header" | "tight" | "loose"): Test => testFor(name, place) ?? (() => false);
  const plain = { sign: "=", inside: "", isHeader: false, startsLine: false };
  if (/<(?:[\w.-]{1,40}:)?$/.test(lead)) {
    const tag = execAt(elementAfter, text, after);
    return tag === null ? [] : valueAt(text, after + tag[0].length, test("loose"), { ...plain, inside: "<" });
  }
  const pair = pairBefore.test(lead) ? execAt(pairAfter, text, after) : null;
  if (pair !== null) return valueAt(text, after + pair[0].length, test("tight"), plain);
  const [, dashes = ""] = /(?:^|[\s\0"'`=([{,])(--?)$/.exec(lead) ?? [];
  const isFlag = dashes === "--" || (dashes === "-" && longName.test(name));
  const lineEnd = isFlag ? execAt(beforeNextLine, text, after) : null;
  if (lineEnd !== null) return flagValue(text, after + lineEnd[0].length, test("tight"), name);
  const match = execAt(separator, text, after);
  if (match === null) return [];
  const [whole, close = "", sign = "", call, spoken] = match;
  const from = after + whole.length;
  const before = lead.at(-1) ?? "";
  if (dashes !== "" && (sign === "" || call === ","))
    return isFlag ? flagValue(text, from, test("tight"), name) : [];
  // A link in Markdown, an AWS resource name (`…:secret:name`), the user of a URL, and `x ? "token" : "key"` assign nothing.
  if (sign === ":" && (close === "]" || /(?:\w:|\/\/|\?\s?["'`])$/.test(lead))) return [];
  if (execAt(/["'`](?:[,;)\]\s]|$)/y, text, from) !== null) return [];
  const inside = close === "" && /["'`]/.test(before) ? before : "";
  const startsLine = lead === "" || /[\r\n][ \t-]{0,40}$/.test(lead);
  const isHeader = (sign === ":" || call === ",") && !isFlag && (isLine.test(name) || name.includes("-"));
  const isTight = isFlag || (/[?&#;]/.test(before) && sign.startsWith("="));
  const meant = test(isHeader ? "header" : isTight ? "tight" : "loose");
  const takesLine = isHeader && (isLine.test(name) || startsLine || inside !== "");
  const context = { sign: sign === "" ? " " : sign, inside, isHeader: takesLine, startsLine };
  const couldBe: Test = (value) => meant(value) && couldBeKey(value);
  if (call === "(" && /^(?:get|read|load|find|fetch|check|has|is|test|require)/i.test(name)) return [];
  if (call === "," && !/\(["'`]$/.test(lead)) return [];
  if (/^(?:->|→|\|)$/.test(sign)) return valueAt(text, from, couldBe, context);
  if (sign !== "" || call !== undefined) {
    const isAll = startsLine && execAt(/\S+[ \t]*(?:\r?\n|$)/y, text, from) !== null;
    const isProse = sign === ":" && close === "" && !isHeader && prosaic.test(name);
    if (isProse && isAll && /^authentication$/i.test(name)) return valueAt(text, from, notScheme, context);
    return valueAt(text, from, isProse && !isAll ? couldBe : meant, context);
  }
  if (setter.test(lead) && close === "") return flagValue(text, from, test("tight"));
  if (close !== "" || !meant("swordfish")) return [];
  // `PASSWORD 'x'` and `the token is abc123` need a quoted word, or a word that mixes letters and digits.
  if (/["']/.test(text[from] ?? "") && !prosaic.test(name))
    return valueAt(text, from, (value) => !/\s/.test(value) && !isProse(value), context);
  if (startsLine && isCompound(name) && execAt(/[^\s.,;:!?]+(?:\r?\n|$)/y, text, from) !== null)
    return valueAt(text, from, meant, context);
  const mixed = spoken === undefined ? /^(?=.*\d)(?=.*[a-z]).{8,}/i : /^(?=.*\d)(?=.*[a-z]).{6,}/i;
  return valueAt(text, from, (value) => mixed.test(value) && couldBe(value), context);
}

/** The word after a flag: quoted, an element of an argument list, or up to the next space. */
function* flagValue(text: string, start: number, test: Test, name = ""): Iterable<Span> {
  const [quote = ""] = execAt(/["'`]/y, text, start) ?? [];
  const from = start + quote.length;
  const isItem = quote === "" && text[start - 1] === "\0";
  const [word = ""] =
    execAt(isItem ? /[^\0]+/y : quote === "" ? /[^\s\0;|&"'`]+/y : insideOf(quote), text, from) ?? [];
  const isFlag = quote === "" && /^(?:--|-[A-Za-z]$)/.test(word);
  const isText = quote === "" && !isItem && isProse(word);
  const isLogin = name === "auth" && word.includes(":");
  if (word !== "" && !isFlag && !isText && !isLogin && !noValue.test(word) && test(word))
    yield [from, from + word.length];
}

interface Context {
  readonly sign: string;
  /** The quote or bracket that was opened before the name. The value ends where it ends. */
  readonly inside: string;
  readonly isHeader: boolean;
  readonly startsLine: boolean;
}

/** References, calls and placeholders. They show where a value comes from and are not secret. */
const noValue =
  /^(?:\$[A-Za-z_]\w*(?:$|[\s"'`,;)\]}/:.])|\$[{(]|\{\{|<|%[A-Z_]+%|(?:process|os|this|self|config|options|settings|ctx|req|env|secrets|args|params|props|state|vars?|inputs?|steps|context|daemon|data)\.[a-z]|[A-Za-z_][\w.]{1,50}\(|\*{2,}(?!\w)|\[redacted|(?:x{3,}|\.{3,}|…)(?!\w))/;
const schemes = /^(?:bearer|basic|token|digest|negotiate|ntlm|api-?key|key|aws4-hmac-sha256)[ \t]+/i;

function* valueAt(text: string, start: number, test: Test, context: Context): Iterable<Span> {
  const block = context.sign === ":" ? execAt(/(?:[|>][+-]?\d?)?[ \t]*\r?\n/y, text, start) : null;
  if (block !== null) return yield* blockAt(text, start, start + block[0].length, test);
  // `auth=("me", "x")` is a login, `auth: { type: "basic" }` is not.
  const [opening] = execAt(/[[{]|\((?=\s?["'])/y, text, start) ?? [];
  if (opening !== undefined && (test === anyText || (opening === "(" && test("me:swordfish"))))
    return yield* listAt(text, start);
  const [quote = ""] = execAt(/\\{0,4}(?:"""|'''|["'`])/y, text, start) ?? [];
  const from = start + quote.length;
  if (noValue.test(text.slice(from, from + 60))) return;
  const value =
    quote === "" ? unquoted(text, from, test, context) : (execAt(insideOf(quote), text, from)?.[0] ?? "");
  const scheme = schemes.exec(value)?.[0] ?? "";
  const secret = value.slice(scheme.length, scheme.length + 512);
  if (secret.trim() === "" || noValue.test(secret.slice(0, 60))) return;
  const isWord = quote === "" && !(context.isHeader && /\s/.test(secret));
  if (isWord && (isProse(secret) || (context.sign === ":" && isSentence(text, from + value.length, secret))))
    return;
  if (!test(secret.trim())) return;
  const end = from + value.length;
  const rest = value.length === 600 ? (execAt(/[^\s\0,;&"'`<>()[\]{}|\\]*/y, text, end)?.[0].length ?? 0) : 0;
  yield [from + scheme.length, end + rest];
}

/** Matches the text inside a quote. Only triple quotes and backticks may span lines. */
function insideOf(quote: string): RegExp {
  if (quote.startsWith("\\")) return /(?:[^"'`\\\r\n]|\\+(?!["'`\\])[^\r\n])*/y;
  if (quote.length === 3) return new RegExp(`[^]*?(?=${quote}|$)`, "y");
  return quote === "`" ? /(?:[^`\\]|\\[^])*/y : new RegExp(`(?:[^${quote}\\\\\\r\\n]|\\\\.)*`, "y");
}

/** A header value takes the rest of its line. So does a passphrase of several words on a line by itself. */
function unquoted(text: string, from: number, test: Test, context: Context): string {
  const { sign, inside, isHeader, startsLine } = context;
  const take = (expression: RegExp): string => execAt(expression, text, from)?.[0].trimEnd() ?? "";
  if (inside === "<") return take(/[^<]+/y);
  const restOfLine = isHeader && startsLine && inside === "" ? /[^\r\n]*/y : /[^\r\n"'`]*/y;
  if (isHeader || (inside !== "" && test === anyText)) return take(restOfLine);
  // Enough for the test. valueAt() finds the end of a longer word, so a word full of names is not measured for each.
  const word = take(/[^\s\0,;&"'`<>()[\]{}|\\]{1,600}/y);
  if (sign === " ") return word.replace(/[.,;:!?]+$/, "");
  const mayBeSeveral =
    startsLine && test === anyText && (sign === ":" || text[from - 1] === " ") && !isProse(word);
  const rest = mayBeSeveral ? take(restOfLine) : "";
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
  const end = text.indexOf(text[start] === "[" ? "]" : text[start] === "(" ? ")" : "}", start);
  const body = text.slice(start, Math.min(start + 4000, end < 0 ? text.length : end + 1));
  const items = /((?:[[{(,:=]|=>)\s*\\{0,4}["'`])([^"'`\\\r\n]+)(?=\\{0,4}["'`]\s*[,)}\]])/g;
  for (const { 1: lead = "", 2: value = "", index } of body.matchAll(items))
    if (!noValue.test(value)) yield [start + index + lead.length, start + index + lead.length + value.length];
}

function execAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}
