import { announces, isCompound, type ValuePlace, testFor } from "./names.ts";
import { anyText, couldBeKey, notPath, notScheme, oneWord, type Test } from "./values.ts";

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
  for (const { 0: word, index: at } of text.matchAll(/[\p{L}_][\p{L}\w.-]{0,80}/gu)) {
    if (at < done || !announces.test(word)) continue;
    // "api key" is one name of two words.
    const lead = text.slice(Math.max(0, at - 80), at);
    const [first = ""] = (second.test(word) && /(?:mot de|[A-Za-z]{2,20}) $/.exec(lead)) || [];
    if (testFor(first + word, "header") === undefined) continue;
    const before = lead.slice(0, lead.length - first.length);
    for (const span of valueOf(text, first + word, before, at + word.length)) yield ([, done] = span);
  }
}

const second = /^(?:keys?|phrase|codes?|string|words?|material|by|passe)$/i;
/** What stands between a name and its value: a closing quote, a sign with or without a type, a call, a verb, or a space. */
const separator =
  /(\\{0,4}["'`]?(?:\]|\}(?=[ \t]*=[ \t]*["'`]))?)(?:\*{0,2}(?:[ \t]+(?:is|was|are|ist|for[ \t]+[\w@.-]{1,40})(?=:))?[ \t]*(?::[ \t]*&?[\w.<>]{1,30}\??[ \t]*(?==[ \t]*["'`]))?(=>|={1,3}|[:?]:?=|->|→|<<<|[:：＝](?!:)|(?<=[ \t])\|(?=[ \t]))(?:\*{2}(?!\*))?(?:\\(?=[ \t]))?[ \t]*|([(,])[ \t]*(?=["'`])|[ \t]+(?:is|was|are|ist|by)\b[: \t]*|[ \t\0]+(?=\S))(?:[@bfru]{1,2}(?=["']))?/iy;
/** Names and values in two fields: `name: API_KEY`, `value: x`; `<add key="Token" value="x">`; `variable "token" { default = "x" }`. */
const pairBefore =
  /(?:name|key|header|variable|field|id|label|type)["']?(?:[ \t]{0,3}[:=][ \t]{0,3}|[ \t](?=["'])|>)["']?$/i;
const pairAfter = /["']?[\s,;{]{1,40}["']?(?:value|val|default|content)["']?[ \t]{0,3}[:=][ \t]*/iy;
/** XML: `<token type="x">…</token>`, `<param name="token">…</param>`, `<key>token</key><string>…</string>`. */
const elementAfter =
  /(?:(?:\s|["'])[^<>]{0,200})?>(?:<!\[CDATA\[)?(?=[^<]{4000}|[^<]{1,4000}<\/)|<\/key>\s{0,40}<string>/y;
/** A name behind a single dash, such as `-password` or `-storePass`, but not the short flags of `-pPw`. */
const longName = /^(?:[a-z][a-z-]+|[a-z]{2,}(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]{2,})+)$/;
/** The end of a flag's line, if its value is alone on the next: an argument on each line, a list of YAML, a line continued with `\`. */
const beforeNextLine =
  /["'`]?,?[ \t]*(?:\\[ \t]*)?\r?\n[ \t]*(?:-[ \t]+)?(?!-)(?=(?:(["'`])[^"'`\r\n]+\1,?|(?![A-Z][a-z]+[.:]?[ \t]*(?:\r?\n|$))[^\s"'`]*[^\s"'`:])[ \t]*\\?[ \t]*(?:\r?\n|$))/y;
/** Commands and lines of settings that set a name to the next word: `aws configure set aws_secret_access_key x`. */
const setter =
  /(?:^|[\n\0;|&] ?)(?:ENV|ARG|setx?|[Ss]et[Ee]nv|aws|npm|yarn|pnpm|git|gcloud|config|heroku|fly|vault|requirepass|proxy_set_header|RequestHeader)[ \t\0][^\n]*$/;
/** Words that are common in prose. A colon after them does not assign a value, unless the two make up a whole line. */
const prosaic = /(?:tokens|pass|jwt|bearer|pin|pat|auth|cookies?|authentication)$/i;
const isLine = /(?:authori[sz]ation|cookie)$/i;

/** The sign before the value (" " in prose, "--" for a flag, "<" in an element), and the quote that was opened before the name. */
type Context = Readonly<{ sign: string; inside?: string; isHeader?: boolean; startsLine?: boolean }>;

function valueOf(text: string, name: string, lead: string, after: number): Iterable<Span> {
  const test = (place: ValuePlace): Test => testFor(name, place) ?? (() => false);
  const startsLine = lead === "" || /[\r\n][ \t-]{0,40}$/.test(lead);
  const isTag = /<(?:[\w.-]{1,40}:)?$/.test(lead);
  if (isTag || pairBefore.test(lead)) {
    const element = execAt(elementAfter, text, after);
    if (element !== null) return valueAt(text, element, test("loose"), { sign: "<" });
    const pair = execAt(pairAfter, text, after);
    if (pair !== null || isTag) return valueAt(text, pair, test("tight"), { sign: "=" });
  }
  const [, dashes = ""] = /(?:^|[\s\0"'`=([{,])(--?)$/.exec(lead) ?? [];
  const isFlag = dashes === "--" || (dashes === "-" && longName.test(name));
  const flagTest: Test = (value) =>
    !(name === "auth" && value.includes(":")) && test(name.startsWith("X-") ? "header" : "tight")(value);
  const asFlag = (end: RegExpExecArray): Iterable<Span> => valueAt(text, end, flagTest, { sign: "--" });
  const lineEnd = isFlag ? execAt(beforeNextLine, text, after) : null;
  if (lineEnd !== null) return asFlag(lineEnd);
  const match = execAt(separator, text, after);
  if (match === null) return [];
  const [whole, close = "", sign = "", call] = match;
  if (dashes !== "" && (sign === "" || call === ",")) return isFlag ? asFlag(match) : [];
  const from = after + whole.length;
  const follows = (expression: RegExp): boolean => execAt(expression, text, from) !== null;
  // A link in Markdown, an AWS resource name (`…:secret:name`), the user of a URL, and `x ? "token" : "key"` assign nothing.
  if (sign === ":" && (close === "]" || /(?:\w:|\/\/|\?\s?["'`])$/.test(lead))) return [];
  // Nor do an empty text, `this.token = token`, `credentials "example.com" {`, `getToken("x")` and `["token", "x"]`.
  if (follows(/["'`](?:[,;)\]\s]|$)/y) || (sign === "" && follows(/"[^"\n]*"\s?\{/y))) return [];
  if (/^(?:this|self)\./.test(name) && follows(/[A-Za-z_]\w*(?:[;,)]|\s|$)/y)) return [];
  if (
    call === "(" &&
    /^(?:[Gg]et|[Rr]ead|[Ll]oad|[Ff]ind|[Ff]etch|[Hh]as|[Ii]s|[Rr]equire)(?![a-z])/.test(name)
  )
    return [];
  if (call === "," && !/\(["'`]$/.test(lead)) return [];
  if (call === "(" && /credentials?$/i.test(name)) return listAt(text, from - 1, anyText);
  const before = lead.at(-1) ?? "";
  const inside = close === "" && /["'`]/.test(before) ? before : "";
  const isCall = call === "," || (call === "(" && /^bearer/i.test(name));
  const isHeader = isCall || (sign === ":" && !isFlag && (isLine.test(name) || name.includes("-")));
  const isTight = isFlag || (/[?&#;]/.test(before) && sign.startsWith("="));
  const meant = test(isHeader ? "header" : isTight ? "tight" : "loose");
  const takesLine = isHeader && (isLine.test(name) || startsLine || inside !== "");
  const context = { sign: sign === "" ? " " : sign, inside, isHeader: takesLine, startsLine };
  const couldBe: Test = (value) => meant(value) && couldBeKey(value);
  const readAs = (fits: Test): Iterable<Span> => valueAt(text, match, fits, context);
  if (/^(?:->|→|\|)$/.test(sign) || /\sfor\s/.test(whole)) return readAs(couldBe);
  if (sign !== "" || call !== undefined) {
    // A cookie has a name. "Cookie: what it is" is a heading.
    if (takesLine && startsLine && close === "" && /cookie$/i.test(name))
      return readAs((value) => value.includes("="));
    if (sign !== ":" || close !== "" || isHeader || !prosaic.test(name)) return readAs(meant);
    if (!startsLine || !follows(/\S+[ \t]*(?:\r?\n|$)/y)) return readAs(couldBe);
    return readAs(/^authentication$/i.test(name) ? notScheme : meant);
  }
  if (close !== "") return [];
  if (setter.test(lead)) return asFlag(match);
  if (!meant("swordfish")) return [];
  // `PASSWORD 'x'` and `the token is abc123` need a quoted word, or a word that mixes letters and digits.
  if (follows(/["']/y) && !prosaic.test(name)) return readAs((value) => oneWord(value) && !isProse(value));
  if (startsLine && isCompound(name) && follows(/[^\s.,;:!?]+(?:\r?\n|$)/y)) return readAs(meant);
  return readAs((value) => /^(?=.*\d)(?=.*[a-z]).{6,}/i.test(value) && couldBe(value));
}

/** References, calls and placeholders. They show where a value comes from and are not secret. */
const noValue =
  /^(?:\$[A-Za-z_]\w*(?:$|[\s"'`,;)\]}/:.])|\$[{(]|\{\{|<|%[A-Z_]+%|(?:process|os|this|self|config|options|settings|ctx|req|env|secrets|args|params|props|state|vars?|inputs?|steps|context|daemon|data)\.[a-z]|[A-Za-z_][\w.]{1,50}\(|\*{2,}(?!\w)|\[redacted|(?:x{3,}|\.{3,}|…)(?!\w))/;
const schemes = /^(?:bearer|basic|token|digest|negotiate|ntlm|api-?key|key|aws4-hmac-sha256)[ \t]+/i;

/** The value after a match, if the test accepts it. */
function* valueAt(text: string, match: RegExpExecArray | null, test: Test, context: Context): Iterable<Span> {
  if (match === null) return;
  const { sign, isHeader = false } = context;
  const start = match.index + match[0].length;
  const block = sign === ":" ? execAt(/(?:[|>][+-]?\d?)?[ \t]*\r?\n/y, text, start) : null;
  if (block !== null) return yield* blockAt(text, start, start + block[0].length, test);
  // `auth=("me", "x")` is a login, `auth: { type: "basic" }` is not.
  const [opening] = (sign !== "--" && execAt(/[[{]|\((?=\s?["'])/y, text, start)) || [];
  if (opening !== undefined && (test("swordfish") || test(opening === "(" ? "me:swordfish" : "sw0rdf1sh")))
    return yield* listAt(text, start, test === anyText || opening === "(" ? anyText : couldBeKey);
  const [quote = ""] = execAt(/\\{0,4}(?:"""|'{3}|["'`])|<<[-~]?["']?\w+["']?\s*?\n/y, text, start) ?? [];
  const from = start + quote.length;
  if (noValue.test(text.slice(from, from + 60))) return;
  const value = quote === "" ? unquoted(text, from, test, context) : foundAt(insideOf(quote), text, from);
  const scheme = schemes.exec(value)?.[0] ?? "";
  const secret = value.slice(scheme.length, scheme.length + 512).trim();
  if (secret === "" || noValue.test(secret.slice(0, 60)) || !test(secret)) return;
  const after = from + value.length;
  if (quote === "" && sign === "--" && /^(?:--|-[A-Za-z]$)/.test(secret)) return;
  const isItem = sign === "--" && text[start - 1] === "\0";
  if (quote === "" && !isItem && !(isHeader && /\s/.test(secret)))
    if (isProse(secret) || (sign === ":" && isSentence(text, after, secret, test))) return;
  const rest = value.length < enough ? "" : foundAt(sign === "<" ? /[^<]*/y : restOf(quote), text, after);
  yield [from + scheme.length, after + rest.length];
}

/** How much of a value the test reads. The end of a longer secret is found once, so a text full of names takes linear time. */
const enough = 600;

/** Matches the text inside a quote. Only triple quotes, heredocs and backticks may span lines. */
function insideOf(quote: string): RegExp {
  if (quote.startsWith("\\")) return /(?:[^"'`\\\r\n]|\\+(?!["'`\\])[^\r\n])*/y;
  const end = endOf(quote);
  if (end === undefined) return new RegExp(`(?:[^${quote}\\\\\\r\\n]|\\\\.)*`, "y");
  return new RegExp(`(?:(?!${end})[^]){0,${enough}}`, "y");
}

/** Matches the rest of a long value. It is lazy: a greedy loop over megabytes needs more stack than there is. */
function restOf(quote: string): RegExp {
  const end = endOf(quote);
  return end === undefined ? /[^\s\0,;&"'`<>()[\]{}|\\]*/y : new RegExp(`[^]*?(?=${end}|(?![^]))`, "y");
}

/** The end of a text that may span lines. An odd number of backslashes before a backtick escapes it. */
function endOf(quote: string): string | undefined {
  if (quote.startsWith("<<")) return `\\n\\s{0,40}${/\w+/.exec(quote)?.[0]}\\b`;
  if (quote === "`") return "`(?<=(?<!\\\\)(?:\\\\\\\\)*`)";
  return /^(?:"""|'{3})$/.test(quote) ? quote : undefined;
}

/** A header value takes the rest of its line. So does a passphrase of several words on a line by itself. */
function unquoted(text: string, from: number, test: Test, context: Context): string {
  const { sign, inside = "", isHeader = false, startsLine = false } = context;
  const take = (expression: RegExp): string => {
    const found = foundAt(expression, text, from);
    return found.length < enough ? found.trimEnd() : found;
  };
  if (sign === "<") return take(/[^<]{1,600}/y);
  if (sign === "--") return text[from - 1] === "\0" ? take(/[^\0]+/y) : take(/[^\s\0;|&"'`]+/y);
  const restOfLine = isHeader && startsLine && inside === "" ? /[^\r\n]*/y : /[^\r\n"'`]*/y;
  if (isHeader || (inside !== "" && test === anyText)) return take(restOfLine);
  const word = take(/[^\s\0,;&"'`<>()[\]{}|\\]{1,600}/y);
  if (sign === " ") return word.replace(/[.,;:!?]+$/, "");
  if (!startsLine || test !== anyText || (sign !== ":" && text[from - 1] !== " ") || isProse(word))
    return word;
  const rest = take(restOfLine);
  return /^$|[&=;,]/.test(rest) || rest.split(/\s+/).length > 24 ? word : rest;
}

const prose =
  /^(?:an?|and|any|are|as|at|async|await|be|before|by|can|cannot|comes|do|does|each|every|field|flag|for|from|function|generate|has|have|if|in|into|is|its?|keep|may|more|must|need|needed|never|new|no|none|not|null|nil|number|object|of|off|on|one|only|option|optional|or|parameter|per|required|see|set|should|shown|so|stored?|str|string|such|than|that|the|their|them|then|there|these|they|this|to|true|type|typeof|undefined|unset|used?|uses|value|via|was|we|what|when|where|which|who|will|with|without|yes|you|your|argument|bool|boolean|false|int|integer|array|missing|empty|expired|invalid|wrong|unknown|enabled|disabled|default|managers?|rotation|bearer|basic|header)$/i;

const isProse = (value: string): boolean =>
  prose.test(/^[A-Za-z]*/.exec(value)?.[0] ?? "") && /^[A-Za-z]+(?:[.,;:!?]*$|\s)/.test(value);

/** `a secret: never tell …`: a plain word or a small number, followed by a word that is common in prose, or after `key` by any. */
function isSentence(text: string, after: number, value: string, test: Test): boolean {
  const [, next = ""] = execAt(/,?[ \t]+([a-z]{1,12})(?![\w:=-])/y, text, after) ?? [];
  if (/^\d{1,3}$/.test(value)) return next !== "";
  return /^[A-Za-z']+$/.test(value) && (prose.test(next) || (test === notPath && next !== ""));
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

const schema =
  /\{\s*["']?type["']?\s*:\s*["']?(?:string|number|integer|array|object)\b(?![^}]{0,4000}[,{]\s*["']?(?:value|val|default|const|examples?|enum|content)["']?\s*:)/y;
/** Every quoted text in the list or object that follows a name, unless it describes a value: `{ type: "string" }`. */
function* listAt(text: string, start: number, test: Test): Iterable<Span> {
  if (execAt(schema, text, start) !== null) return;
  const close = text[start] === "[" ? "]" : text[start] === "(" ? ")" : "}";
  const body = `${text.slice(start, start + 4000).split(close, 1)[0]}${close}`;
  const items = /((?:[[{(,:=]|=>)\s*\\{0,4}["'`])([^"'`\\\r\n]+)(?=\\{0,4}["'`]\s*[,)}\]])/g;
  for (const { 1: lead = "", 2: value = "", index } of body.matchAll(items))
    if (!noValue.test(value) && test(value))
      yield [start + index + lead.length, start + index + lead.length + value.length];
}

const foundAt = (sticky: RegExp, text: string, at: number): string => execAt(sticky, text, at)?.[0] ?? "";
function execAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}
