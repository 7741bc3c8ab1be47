import * as values from "./values.ts";
import { anyText, notPath, type Test } from "./values.ts";

/**
 * Decides which names mean a secret. A name is split into words, and the last word counts: `githubToken` is a token,
 * `tokenLimit` is a limit. Where the name stands decides how much its value must look like a secret:
 * header (`X-Auth:`, any value) · tight (a flag, a variable, a key of a query) · loose (anywhere else).
 */
export type ValuePlace = "header" | "tight" | "loose";

const { oneWord, notAmount, digits, looksMade, couldBeWord, couldBeLogin, isLogin } = values;
const plainTests = { anyText, oneWord, notPath, notAmount, digits, looksMade };
const tests = new Map<string, Test>(Object.entries({ ...plainTests, couldBeWord, couldBeLogin, isLogin }));

/** The test in a tight place / in a loose place, last words of names, and after the bar words that make them harmless when they come before. */
const nouns = `
anyText password passwords passwd passwort kennwort senha wachtwoord motdepasse contrasena contraseña пароль 密码 密碼 パスワード 비밀번호 passphrase passphrases passcode pw pswd psw psk
anyText secret secrets credential credentials cred creds authorization authorisation mnemonic dsn cookie cookies jwt bearer
anyText token | per max min eos bos cls pad unk mask sep stop special page next continuation sync first last cancel cancellation
notAmount tokens | max min input output prompt completion total context cached cache reasoning thinking used remaining num number numberof of budget response generated read creation stop special new design
anyText pass | first second last render single multi boarding final per by
notPath pwd
anyText/oneWord pat
couldBeLogin/isLogin auth authentication
couldBeWord/looksMade key keys | public pub idempotency cache partition primary foreign sort routing group object query index lookup translation message row document dedupe hot pair recv
couldBeWord/looksMade sig signature hmac sas sid sessid session sessionid jsessionid
looksMade salt license licence refresh ticket assertion appid sk verifier
digits otp totp pin`;
const byWord = new Map(
  nouns.split("\n").flatMap((line) => {
    const [[kind = "", ...words] = [], unless] = line.split(" | ").map((part) => part.split(" "));
    const [tight, loose] = kind.split("/").map((name) => tests.get(name));
    return words.map((word) => [word, { tight, loose: loose ?? tight, unless }] as const);
  }),
);

/** Names of several words whose last word alone does not mean a secret. */
const pairs =
  /(?:^| )(?:conn(?:ection)? str(?:ing)?|seed (?:phrase|words)|(?:recovery|backup) (?:phrase|codes?)|key material|access key id|pass (?:word|phrase)|mot de passe|identified by|(?:github|gitlab|bitbucket) oauth|\S+ pat)$/;

/** Words before `key` that make any value a secret, except a path. */
const keyKinds =
  /^(?:h?api|access|private|priv|secret|signing|encryption|decryption|session|master|auth|service|role|account|shared|preshared|subscription|admin|license|licence|deploy|ssh|gpg|pgp|hmac|jwt|consumer|app|application|client|root|write|ingest|ingestion|bot|recovery|backup|wallet|unseal|cipher|symmetric|aes|rsa|openai|anthropic|claude|gemini|mistral|groq|deepseek|openrouter|stripe|sendgrid|mailgun|twilio|datadog|sentry|slack|github|gitlab|linear|notion|aws|azure|supabase|firebase|webhook)$/;

/** Splits words that are written together: `PGPASSWORD`, `authtoken`, `apikey`, `bindpw`, but not `compass` or `monkey`. */
const glued =
  /^(.+?)(passwords?|passwd|passphrase|passcode|passwort|secrets?|tokens?|credentials?|cookie|pwd?|(?<=basic|http|master)auth|(?<=api|access|priv|private|secret|signing|master|session|auth|ssh|license|public|account|encryption|shared|service|admin|app|client)keys?|(?<!^(?:com|by|tres|sur|encom|over|under))pass|(?<=conn|connection)str(?:ing)?|(?<=seed|recovery)phrase|密码|密碼|パスワード|비밀번호)$/;

/** Words after the noun that do not change its meaning: `API_KEY_2`, `passwordHash`, `tokenProd`. */
const tails =
  /^(?:\d+|v|b|b64|base|hash|hashed|digest|encrypted|enc|encoded|plain|plaintext|raw|value|string|text|json|pem|data|content|prod|production|dev|development|test|testing|staging|stage|live|old|new|backup|primary|secondary|current|previous|default|stdin|command|cmd)$/;

/** A text without any of these words has no name that means a secret. */
export const announces = new RegExp(
  `${[...byWord.keys()].join("|")}|str|phrase|word|code|material|by|passe`,
  "i",
);

/** The test that decides which values of this name are secrets. Undefined if none are. */
export function testFor(name: string, place: ValuePlace): Test | undefined {
  const key = `${place} ${name}`;
  if (known.has(key)) return known.get(key);
  const test = name.length > 120 || !announces.test(name) ? undefined : decide(name, place);
  // Most names come again and again. Remembering them makes redaction three times as fast.
  if (known.size < 5000 && name.length <= 60) known.set(key, test);
  return test;
}
const known = new Map<string, Test | undefined>();

function decide(name: string, place: ValuePlace): Test | undefined {
  const words = wordsOf(name);
  const withoutTails = (some: readonly string[]): readonly string[] =>
    some.slice(0, Math.max(some.findLastIndex((word) => !tails.test(word)) + 1, 1));
  // `tokenForGithub` is a token.
  const cut = words.findIndex((word, index) => index > 0 && /^(?:for|of|from|to|with)$/.test(word));
  for (const reading of [words, withoutTails(words), withoutTails(words.slice(0, Math.max(cut, 0)))]) {
    const [before = "", last = ""] = ["", ...reading].slice(-2);
    if (pairs.test(reading.join(" "))) return anyText;
    const { tight, loose, unless } = byWord.get(last) ?? {};
    if (tight === undefined) continue;
    if (unless?.includes(before) === true) return undefined;
    if (place === "header") return anyText;
    const isKey = /^keys?$/.test(last);
    if (isKey && keyKinds.test(before)) return notPath;
    if (place === "tight" || /^[A-Z][A-Z0-9_]{2,}$/.test(name)) return tight;
    return isKey && before !== "" ? values.couldBeNumbered : loose;
  }
  return undefined;
}

/** `db.password` and `requirepass` do not occur in prose. */
export const isCompound = (name: string): boolean => !name.includes(" ") && wordsOf(name).length > 1;

function wordsOf(name: string): string[] {
  const words = name.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{Lo}\p{Lm}]+|\d+/gu) ?? [];
  return words.flatMap((word) => {
    const [, first = "", second = ""] = (word.length > 40 ? null : glued.exec(word.toLowerCase())) ?? [];
    return second === "" ? [word.toLowerCase()] : [first, second];
  });
}
