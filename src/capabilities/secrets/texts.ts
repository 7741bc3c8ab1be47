import { decodedText, isKeyLike, isRandom } from "./key-like.ts";
import { type NameRule, rulesForName } from "./names.ts";

/**
 * Secrets that show themselves in a text, wherever it stands. A rule finds spans; what is in a span goes, the rest stays
 * readable. Every rule takes time in proportion to the text: an expression that can fail after a long look either begins
 * only where a word begins, or looks no further than a bound.
 */
export interface TextRule {
  readonly on: "text";
  readonly name: string;
  readonly find: (text: string, among: Rules) => Iterable<Span>;
}

/** What a rule may ask of the others. */
export interface Rules {
  readonly names: readonly NameRule[];
  readonly texts: readonly TextRule[];
}

export type Span = readonly [start: number, end: number];

/** The first group, where there is one, is what stays in front of the secret. */
export function pattern(
  name: string,
  expression: RegExp,
  isSecret: (secret: string) => boolean = () => true,
): TextRule {
  return {
    on: "text",
    name,
    *find(text) {
      for (const match of text.matchAll(expression)) {
        const start = match.index + (match[1]?.length ?? 0);
        const end = match.index + match[0].length;
        if (isSecret(text.slice(start, end))) yield [start, end];
      }
    },
  };
}

export const textRules: readonly TextRule[] = [
  pattern(
    "private key",
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  ),
  pattern("PuTTY key", /(PuTTY-User-Key-File-\d)[\s\S]*/g),
  // "-----BEGIN " in base64, of anything but a certificate or a public key; over as many lines as it takes.
  pattern(
    "private key in base64",
    /LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[A-Za-z0-9+/_=-]+(?:\r?\n[A-Za-z0-9+/_=-]+)*/g,
  ),
  pattern("JWT", /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*/g),
  pattern(
    "bearer",
    /((?<![A-Za-z0-9])bearer[ \t]+)[A-Za-z0-9._~+/=-]{2,}/gi,
    (word) => !schemeWords.test(word),
  ),
  // Basic is an English word; what follows it in a header is base64 of user:password.
  pattern(
    "basic",
    /((?<![A-Za-z0-9])basic[ \t]+)[A-Za-z0-9+/_=-]{4,}/gi,
    (word) => decodedText(word)?.includes(":") === true || isKeyLike(word),
  ),
  { on: "text", name: "address", find: credentialsInAddresses },
  pattern(
    "signed address",
    /([?&](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token))=)[^\s"'`&#<>]+/gi,
  ),
  pattern("Go data source", /((?<![^\s"'`=(])[^\s"'`:@/=(]{1,64}:)[^\s"'`@]{1,256}(?=@(?:tcp|udp|unix)\()/g),
  {
    on: "text",
    name: "assignment",
    *find(text, { names }) {
      // A long text says the same names over and over.
      const known = new Map<string, readonly NameRule[]>();
      const run = { end: 0 };
      let done = 0;
      for (const { 0: whole, 1: name = "", 2: sign, index } of text.matchAll(assigned)) {
        // Resource names of AWS are not assignments: `…:secret:name`.
        if (index < done || (sign === ":" && text[index - 1] === ":")) continue;
        const rules = known.get(name) ?? rulesForName(names, name);
        known.set(name, rules);
        const named = { rules, isPlain: sign === ":", run };
        for (const span of valueOf(text, index, index + whole.length, named)) {
          [, done] = span;
          yield span;
        }
      }
    },
  },
  {
    on: "text",
    name: "option",
    *find(text, { names }) {
      for (const match of text.matchAll(/((?<![\w-])--?([A-Za-z][\w-]{1,60})[ \t]+)(?!-)/g))
        yield* valueOf(text, match.index, match.index + match[0].length, {
          rules: rulesForName(names, match[2] ?? ""),
          isPlain: false,
          run: { end: 0 },
        });
    },
  },
  pattern(
    "user and password of a command",
    /((?<![\w-])(?:-u|--user|--proxy-user)[ =]["']?[^\s:"'/]{1,100}:)[^\s"']+/g,
    (word) => !/^\d{1,6}$/.test(word),
  ),
  pattern(
    "password of a command",
    /((?<![\w-])(?:sshpass -p ?|mysql(?:dump|admin)?(?: [^\n"']{0,100}?)? -p))[^\s"']+/g,
  ),
  pattern("netrc", /((?<![\w-])login\s{1,3}\S{1,100}\s{1,3}password\s{1,3})\S+/g),
  {
    on: "text",
    name: "said",
    *find(text, { names }) {
      for (const match of text.matchAll(said)) {
        const start = match.index + match[0].length;
        const [word = ""] = /^[^\s"'`]{1,400}/.exec(text.slice(start, start + 400)) ?? [];
        const value = word.replace(/[.,;:!?)]+$/, "");
        const isMeant = match[2] !== "" || (value.length >= 6 && /\d/.test(value) && /\D/.test(value));
        if (isMeant && value !== "" && isMeantBy(rulesForName(names, match[1] ?? ""), value))
          yield [start, start + value.length];
      }
    },
  },
  {
    on: "text",
    name: "element",
    *find(text, { names }) {
      for (const match of text.matchAll(/(<([A-Za-z][\w:.-]{0,60})(?:\s[^<>]{0,200})?>)([^<]+)(?=<\/)/g)) {
        const start = match.index + (match[1] ?? "").length;
        if (isMeantBy(rulesForName(names, match[2] ?? ""), (match[3] ?? "").trim()))
          yield [start, match.index + match[0].length];
      }
    },
  },
  // A secret access key of AWS, 40 characters of base64 with a separator in it.
  pattern(
    "AWS secret",
    /(?<![A-Za-z0-9+/=_.:@%-])[A-Za-z0-9][A-Za-z0-9+/]{39}(?![A-Za-z0-9+/=_.:@%-])/g,
    (word) =>
      /[A-Z]/.test(word) &&
      /[a-z]/.test(word) &&
      /\d/.test(word) &&
      /[+/]/.test(word) &&
      changes(word) > 0.35,
  ),
  {
    on: "text",
    name: "random word",
    *find(text) {
      const blocks = text.matchAll(publicBlocks);
      let block = blocks.next().value;
      for (const { 0: word, index } of text.matchAll(words)) {
        while (block !== undefined && block.index + block[0].length <= index) block = blocks.next().value;
        const isPublic = block !== undefined && block.index <= index;
        if (!isPublic && isRandom(word) && !isInAddress(text, index)) yield [index, index + word.length];
      }
    },
  },
  {
    on: "text",
    name: "secret in base64",
    *find(text, { names, texts }) {
      // Once: what is encoded twice is not looked into.
      const inner = texts.filter(({ name }) => name !== "secret in base64");
      for (const { 0: word, index } of text.matchAll(/(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,}={0,2}/g)) {
        const decoded = decodedText(word);
        if (
          decoded !== undefined &&
          inner.some((rule) => hasSome(rule.find(decoded, { names, texts: inner })))
        )
          yield [index, index + word.length];
      }
    },
  },
];

/** What is said of a scheme, and does not follow it. */
const schemeWords =
  /^(?:tokens?|auth|authentication|authorization|schemes?|headers?|credentials?|keys?|of|and|or|is|in|for|the|with|to|format|type|[.,-]+)[.,]*$/i;

/** A name, perhaps in quotes or of two words, and what sets its value. */
const assigned =
  /(?<![\w$.])((?:[A-Za-z]{2,20} )?[A-Za-z_][\w.-]{0,80})\\?["'`]?\]?[ \t]{0,3}(=>|:=|[=:])[ \t]{0,3}/g;

const said =
  /(?<![\w-])((?:[A-Za-z]{2,20} )?(?:password|passphrase|passcode|token|secret|key|credential)s?) (?:is|was|are|ist)[: ]{1,3}(["'`]?)/gi;

const words = /(?<![A-Za-z0-9+/_=.:@%-])[A-Za-z0-9+/_-]{32,}={0,2}(?=$|[\s"'`)\]}>,;|&\\]|[.!?](?:\s|$))/g;

/** Certificates and public keys are lines that look random. */
const publicBlocks = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}(?:CERTIFICATE|PUBLIC KEY)[A-Z ]{0,20}-----[^-]*/g;

/** Identifiers in an address name what it leads to; what is secret in one has a name or a place of its own. */
function isInAddress(text: string, at: number): boolean {
  const before =
    text
      .slice(Math.max(0, at - 500), at)
      .split(/\s/)
      .at(-1) ?? "";
  return before.includes("://") || before.endsWith("base64,");
}

/** What is put after a name without being its value: a reference, a type, a word of prose. */
const noValue =
  /^(?:\$[A-Z_][A-Z0-9_]*(?!\w)|\$\{|\$\(|\{\{|<|%[A-Z_]+%|process\.env|os\.environ|env\.|secrets\.|[\w.]{1,50}\(|\*{2,}(?!\w)|\[redacted|(?:x{3,}|\.{3,}|…)(?!\w))/;
const proseWords = new Set(
  "a an and any are as at be before by can cannot comes do does each every field flag for from function generate goes has have if in into is it its keep may more must need never no none not null nil number object of off on one only option optional or parameter per required see set should shown so store stored str string such than that the their them there these they this to true type undefined unset use used uses value via was we when where which who will with without yes you your argument bool boolean false int integer array missing empty needed expired invalid wrong unknown enabled disabled default manager managers rotation bearer basic header".split(
    " ",
  ),
);
const schemes = /^(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)[ \t]+/i;

interface Named {
  readonly rules: readonly NameRule[];
  /** As `name: value`, the way prose also looks. */
  readonly isPlain: boolean;
  /** Where the word ends that was looked at last: a word full of names is measured once. */
  readonly run: { end: number };
}

/** The value that begins here, where a rule says that it is one. */
function* valueOf(text: string, nameAt: number, start: number, named: Named): Iterable<Span> {
  const { rules, isPlain } = named;
  if (rules.length === 0) return;
  const quote = take(text, start, /\\?["'`]/y);
  const from = start + quote.length;
  const value = quote === "" ? unquoted(text, nameAt, from, named) : take(text, from, inQuotes(quote));
  // After an opening quote that is never closed, no more than a line.
  const scheme = schemes.exec(value)?.[0] ?? "";
  const secretAt = from + scheme.length;
  if (value === "" || noValue.test(text.slice(secretAt, secretAt + 60))) return;
  if (quote === "" && isProse(value)) return;
  const usable = isPlain && quote === "" ? rules.filter((rule) => rule.onlyAssigned !== true) : rules;
  if (isMeantBy(usable, value.slice(scheme.length))) yield [secretAt, from + value.length];
}

function inQuotes(quote: string): RegExp {
  if (quote.startsWith("\\")) return /(?:[^"'`\\\r\n]|\\(?!["'`])[^\r\n])*/y;
  if (quote === '"') return /(?:[^"\\\r\n]|\\[^\r\n])*/y;
  return quote === "'" ? /(?:[^'\\\r\n]|\\[^\r\n])*/y : /(?:[^`\\\r\n]|\\[^\r\n])*/y;
}

/** A header takes the rest of its line; so does a secret of several words that has a line to itself. */
function unquoted(text: string, nameAt: number, from: number, { rules, run }: Named): string {
  const restOfLine = (): string => take(text, from, /[^\r\n"'`]{0,2000}/y).trimEnd();
  if (rules.some(({ name }) => name === "authorization" || name === "cookie")) return restOfLine();
  if (run.end <= from) run.end = from + take(text, from, /[^\s,;&"'`<>()[\]{}|\\]+/y).length;
  const word = text.slice(from, run.end);
  const startsLine = nameAt === 0 || /[\r\n][ \t-]{0,8}$/.test(text.slice(Math.max(0, nameAt - 10), nameAt));
  const mayBeSeveral = rules.some(
    ({ name }) => name === "password" || name === "recovery" || name === "secret",
  );
  if (!startsLine || !mayBeSeveral || isProse(word)) return word;
  const rest = restOfLine();
  return /[&=;,]/.test(rest) || rest.split(/\s+/).length > 24 ? word : rest;
}

function isProse(word: string): boolean {
  return word.length < 20 && proseWords.has(word.toLowerCase().replace(/[.,;:!?]+$/, ""));
}

/** A rule that looks at the value needs no more than its beginning. */
function isMeantBy(rules: readonly NameRule[], value: string): boolean {
  const beginning = value.slice(0, 512);
  return value !== "" && rules.some((rule) => rule.value?.(beginning) ?? true);
}

/** What a sticky expression takes from here. */
function take(text: string, from: number, sticky: RegExp): string {
  sticky.lastIndex = from;
  return sticky.exec(text)?.[0] ?? "";
}

/** `scheme://user:password@host`: the password; and a user that is a key. Between one `://` and the next, so in one pass. */
function* credentialsInAddresses(text: string): Iterable<Span> {
  for (const match of text.matchAll(/:\/\/([^\s"'`<>]*?)(?=:\/\/|[\s"'`<>]|$)/g)) {
    const address = match[1] ?? "";
    const start = match.index + 3;
    const authority = address.split(/[/?#]/, 1)[0] ?? "";
    const colon = authority.indexOf(":");
    const lastAt = authority.lastIndexOf("@");
    if (address.startsWith("[")) continue;
    if (lastAt > 0 && (colon < 0 || colon > lastAt)) {
      if (isKeyLike(authority.slice(0, lastAt))) yield [start, start + lastAt];
      continue;
    }
    // No port has letters: there, and of a database, a password may have a slash that somebody forgot to encode.
    const isPort = /^\d*$/.test(authority.slice(colon + 1));
    const isWeb = /(?:https?|wss?|git|ssh|s?ftp)$/i.test(
      text.slice(Math.max(0, match.index - 5), match.index),
    );
    const end = lastAt > 0 && isWeb ? lastAt : isPort ? -1 : address.lastIndexOf("@");
    if (colon >= 0 && end > colon + 1) yield [start + colon + 1, start + end];
  }
}

/** How often the kind of character changes from one to the next. */
function changes(word: string): number {
  const kinds = [...word].map((letter) =>
    /[A-Z]/.test(letter) ? 1 : /[a-z]/.test(letter) ? 2 : /\d/.test(letter) ? 3 : 4,
  );
  return kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length / (word.length - 1);
}

function hasSome(spans: Iterable<Span>): boolean {
  for (const _ of spans) return true;
  return false;
}
