import * as values from "./values.ts";
import { anyText, couldBeKey, looksMade, notPath, type Test } from "./values.ts";

/**
 * Decides which names mean a secret. A name is split into words, and the last word counts: `githubToken` is a token,
 * `tokenLimit` is a limit. Where the name stands decides how much its value must look like a secret:
 * header (`X-Auth:`, any value) · tight (a flag, a variable, a key of a query) · loose (anywhere else).
 */
type Place = "header" | "tight" | "loose";

/** Last words, the test in a tight place, the test in a loose place, and words that make it harmless when they come before. */
const nouns: readonly (readonly [words: string, tight: Test, loose: Test, unless?: string])[] = [
  [
    "password passwords passwd passwort kennwort senha wachtwoord motdepasse contrasena passphrase passphrases passcode pw pswd psw psk secret secrets credential credentials cred creds authorization authorisation mnemonic dsn cookie cookies jwt bearer",
    anyText,
    anyText,
  ],
  [
    "token",
    anyText,
    anyText,
    "per max min eos bos cls pad unk mask sep stop special page next continuation sync first last cancel cancellation",
  ],
  [
    "tokens",
    values.notAmount,
    values.notAmount,
    "max min input output prompt completion total context cached cache reasoning thinking used remaining num number numberof of budget response generated read creation stop special new design",
  ],
  ["pass", anyText, anyText, "first second last render single multi boarding final per by"],
  ["pwd", notPath, notPath],
  ["pat", anyText, values.oneWord],
  ["auth", values.couldBeLogin, values.isLogin],
  ["authentication", values.couldBeLogin, values.isLogin],
  [
    "key keys",
    values.couldBeWord,
    looksMade,
    "public pub idempotency cache partition primary foreign sort routing group object query index lookup translation message row document dedupe hot pair recv",
  ],
  ["sig signature hmac sas sid sessid session sessionid jsessionid", values.couldBeWord, looksMade],
  ["salt license licence refresh ticket assertion appid sk", looksMade, looksMade],
  ["otp totp pin", values.digits, values.digits],
];
const byWord = new Map(nouns.flatMap((noun) => noun[0].split(" ").map((word) => [word, noun] as const)));

/** Names of several words whose last word alone does not mean a secret. */
const pairs =
  /(?:^| )(?:conn(?:ection)? str(?:ing)?|seed (?:phrase|words)|(?:recovery|backup) (?:phrase|codes?)|key material|access key id|pass (?:word|phrase)|identified by|\S+ pat)$/;

/** Words before `key` that make any value a secret, except a path. */
const keyKinds =
  /^(?:api|access|private|priv|secret|signing|encryption|decryption|session|master|auth|service|role|account|shared|preshared|subscription|admin|license|licence|deploy|ssh|gpg|pgp|hmac|jwt|consumer|app|application|client|root|write|ingest|ingestion|bot|recovery|backup|wallet|cipher|symmetric|aes|rsa|openai|anthropic|claude|gemini|mistral|groq|deepseek|openrouter|stripe|sendgrid|mailgun|twilio|datadog|sentry|slack|github|gitlab|linear|notion|aws|azure|supabase|firebase|webhook)$/;

/** Splits words that are written together: `PGPASSWORD`, `authtoken`, `apikey`, `bindpw`, but not `compass` or `monkey`. */
const glued =
  /^(.+?)(passwords?|passwd|passphrase|passcode|passwort|secrets?|tokens?|credentials?|cookie|pwd?|(?<=basic|http|master)auth|(?<=api|access|priv|private|secret|signing|master|session|auth|ssh|license|public|account|encryption|shared|service|admin|app|client)keys?|(?<!^(?:com|by|tres|sur|encom|over|under))pass|(?<=conn|connection)str(?:ing)?|(?<=seed|recovery)phrase)$/;

/** Words after the noun that do not change its meaning: `API_KEY_2`, `passwordHash`, `tokenProd`. */
const tails =
  /^(?:\d+|v|b|b64|base|hash|hashed|digest|encrypted|enc|encoded|plain|plaintext|raw|value|string|text|json|pem|data|content|prod|production|dev|development|test|testing|staging|stage|live|old|new|backup|primary|secondary|current|previous|default|stdin|command|cmd)$/;

/** A text without any of these words has no name that means a secret. */
export const announces = new RegExp(
  [...byWord.keys(), "str", "phrase", "words?", "codes?", "material", "by"].join("|"),
  "i",
);

/** The test that decides which values of this name are secrets. Undefined if none are. */
export function testFor(name: string, place: Place): Test | undefined {
  const key = `${place} ${name}`;
  if (known.has(key)) return known.get(key);
  const test = name.length > 120 || !announces.test(name) ? undefined : decide(name, place);
  // Most names come again and again. Remembering them makes redaction three times as fast.
  if (known.size < 5000 && name.length <= 60) known.set(key, test);
  return test;
}

const known = new Map<string, Test | undefined>();

function decide(name: string, place: Place): Test | undefined {
  const words = wordsOf(name);
  // `tokenForGithub` is a token.
  const cut = words.findIndex((word, index) => index > 0 && /^(?:for|of|from|to|with)$/.test(word));
  for (const reading of [words, withoutTails(words), withoutTails(words.slice(0, Math.max(cut, 0)))]) {
    const [before = "", last = ""] = ["", ...reading].slice(-2);
    if (pairs.test(reading.join(" "))) return anyText;
    const [, tight, loose, unless = ""] = byWord.get(last) ?? [];
    if (tight === undefined) continue;
    if (before !== "" && ` ${unless} `.includes(` ${before} `)) return undefined;
    if (place === "header") return anyText;
    const isKey = /^keys?$/.test(last);
    if (isKey && keyKinds.test(before)) return notPath;
    if (place === "tight" || /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(name)) return tight;
    return isKey && before !== "" ? couldBeNumbered : loose;
  }
  return undefined;
}

/**
 * Is the value of a variable an ordinary setting, such as `true`, `production` or the name of a model? It then stays readable in other
 * texts, unless the variable's name means a secret.
 */
export function isSetting(name: string, value: string): boolean {
  if (testFor(name, "tight")?.(value) === true || !/^[\w.:@+/-]{1,64}$/.test(value)) return false;
  if (value.split(/[-_.:@+]/).every((piece) => plainWord.test(piece))) return true;
  return modelName.test(value) && !looksMade(value) && !values.isRandom(value);
}
const plainWord = /^(?:[A-Z]?[a-z]{0,15}|[A-Z]{1,15}|v?\d{0,4}|20\d{6})$/;
const modelName =
  /^(?:[a-z-]{1,20}\/)?(?:claude|gpt|chatgpt|codex|o\d|gemini|gemma|llama|qwen|mistral|mixtral|codestral|devstral|deepseek|grok|kimi|glm|phi|command|nova|sonar)[a-z\d.:@-]{0,40}$/;

/** Accepts `mapboxKey: "pk12345x"`, but not `s3Key: "a/b1.png"`. */
const couldBeNumbered: Test = (value) =>
  looksMade(value) || (/^(?=.*\d)[^/]{8,}$/.test(value) && couldBeKey(value));

/** Is this the environment of a program? True for variables in any form, but not for `environment: "production"`. */
export function isEnvironment(name: string, value: unknown): boolean {
  const match = /^(|.*[_. -]|.*[a-z](?=E))(?:dot)?env(?:s|iron|ironments?)?[_-]?(?:vars?|variables?)?$/i.exec(
    name,
  );
  if (match === null || (/[a-z]$/.test(match[1] ?? "") && !/[a-z]E/.test(name))) return false;
  if (typeof value !== "string") return typeof value === "object";
  return /^[A-Za-z_]\w*=/m.test(value) || (match[1] === "" && !/^[a-z]{2,12}$/i.test(value));
}

/** `db.password` and `requirepass` do not occur in prose. */
export const isCompound = (name: string): boolean => !name.includes(" ") && wordsOf(name).length > 1;

function wordsOf(name: string): string[] {
  const words = name.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+|\d+/gu) ?? [];
  return words.flatMap((word) => {
    const [, first = "", second = ""] = (word.length > 40 ? null : glued.exec(word.toLowerCase())) ?? [];
    return second === "" ? [word.toLowerCase()] : [first, second];
  });
}

function withoutTails(words: readonly string[]): readonly string[] {
  return words.slice(0, Math.max(words.findLastIndex((word) => !tails.test(word)) + 1, 1));
}
