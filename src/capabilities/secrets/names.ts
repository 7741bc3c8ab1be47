import { decodedText, isKeyLike } from "./key-like.ts";

/**
 * Names whose value is a secret, as data. A name is looked at without case and separators, from its end: what a name is
 * about stands last (`githubToken` is a token, `tokenLimit` a limit).
 */
export interface NameRule {
  readonly on: "name";
  readonly name: string;
  readonly ends: readonly string[];
  /** The ending must be whole words: `dbPass`, not `compass`. */
  readonly whole?: boolean;
  /** Not after these: `maxTokens`, `publicKey`. */
  readonly unlessAfter?: readonly string[];
  /** Which values are meant; default every text and number. */
  readonly value?: (value: string | number) => boolean;
  /** Says nothing about what is inside an object of that name. */
  readonly shallow?: boolean;
  /** In running text only as `name=value`: as a word of prose it means something else. */
  readonly onlyAssigned?: boolean;
}

const isText = (value: string | number): boolean => typeof value === "string";
const looksMade = (value: string | number): boolean => typeof value === "string" && isKeyLike(value);

/** What `key` is a secret after; after anything else its value must look like one. */
const keysOf =
  "api access private priv secret signing encryption decryption session master auth service servicerole account shared subscription admin license licence deploy ssh gpg pgp hmac jwt consumer app application client root write ingest ingestion bot recovery wallet cipher symmetric aes rsa openai anthropic claude gemini mistral groq deepseek openrouter stripe sendgrid mailgun twilio datadog sentry slack github gitlab aws azure supabase firebase";

const counted =
  "max min input output prompt completion total context cached cache reasoning thinking used remaining num numberof number budget response generated read creation stop special new";

export const nameRules: readonly NameRule[] = [
  {
    on: "name",
    name: "token",
    ends: ["token"],
    unlessAfter:
      "per max min eos bos pad unk mask sep stop special page next continuation sync first last".split(" "),
  },
  {
    on: "name",
    name: "tokens",
    ends: ["tokens"],
    unlessAfter: counted.split(" "),
    value: (value) => typeof value === "string" && !/^[\d.,_ ]*[kKmM]?$/.test(value),
    onlyAssigned: true,
  },
  { on: "name", name: "secret", ends: ["secret", "secrets"] },
  {
    on: "name",
    name: "password",
    ends: ["password", "passwords", "passwd", "passphrase", "passcode", "passwort", "kennwort"],
  },
  {
    on: "name",
    name: "pass",
    ends: ["pass"],
    whole: true,
    unlessAfter: "first second last render single multi boarding final per by".split(" "),
    value: isText,
    onlyAssigned: true,
  },
  {
    on: "name",
    name: "pwd",
    shallow: true,
    ends: ["pwd"],
    whole: true,
    value: (value) => typeof value === "string" && !/^[/~.]|^[A-Za-z]:\\/.test(value),
  },
  { on: "name", name: "credential", ends: ["credential", "credentials", "creds"] },
  {
    on: "name",
    name: "key of something",
    ends: keysOf.split(" ").flatMap((what) => [`${what}key`, `${what}keys`]),
    unlessAfter: ["public"],
  },
  { on: "name", name: "access key id", ends: ["accesskeyid"] },
  { on: "name", name: "key material", ends: ["keymaterial"] },
  { on: "name", name: "authorization", ends: ["authorization", "authorisation"], value: isText },
  { on: "name", name: "cookie", ends: ["cookie", "cookies"], value: isText },
  { on: "name", name: "connection string", ends: ["connectionstring", "connstring", "connstr"] },
  { on: "name", name: "dsn", ends: ["dsn"], whole: true },
  { on: "name", name: "jwt", ends: ["jwt", "bearer"], whole: true, value: isText, onlyAssigned: true },
  {
    on: "name",
    name: "recovery",
    ends: "mnemonic seedphrase seedwords recoveryphrase recoverycode recoverycodes backupcode backupcodes".split(
      " ",
    ),
  },
  {
    on: "name",
    name: "one-time code",
    shallow: true,
    ends: ["otp", "totp", "otpcode", "mfacode", "pincode", "verificationcode"],
    whole: true,
    value: (value) => /\d{4}/.test(String(value)),
  },
  {
    on: "name",
    name: "pin",
    shallow: true,
    ends: ["pin"],
    whole: true,
    value: (value) => /^\d{4,12}$/.test(String(value)),
    onlyAssigned: true,
  },
  {
    on: "name",
    name: "personal access token",
    ends: "githubpat gitlabpat ghpat azurepat adopat jirapat bitbucketpat".split(" "),
  },
  {
    on: "name",
    name: "auth",
    shallow: true,
    ends: ["auth"],
    whole: true,
    value: (value) =>
      typeof value === "string" &&
      (isKeyLike(value) || /^[^\s:/]+:[^\s/:]+$/.test(value) || decodedText(value)?.includes(":") === true),
    onlyAssigned: true,
  },
  {
    on: "name",
    name: "whatever looks made",
    shallow: true,
    ends: "key keys sig signature salt pat sid sessionid session".split(" "),
    whole: true,
    unlessAfter:
      "public idempotency cache partition primary foreign sort routing group object query index lookup translation message row document dedupe".split(
        " ",
      ),
    value: looksMade,
  },
];

/** The rules that may make a value of this name a secret. */
export function rulesForName(rules: readonly NameRule[], name: string): readonly NameRule[] {
  if (name.length > 200) return [];
  const words = wordsOf(name);
  const cut = words.findIndex((word, index) => index > 0 && prepositions.has(word));
  const readings = [words, withoutTail(words), ...(cut < 0 ? [] : [withoutTail(words.slice(0, cut))])];
  return rules.filter((rule) => readings.some((reading) => ends(rule, reading)));
}

/** Do these names name the environment of a program: by themselves, or at the end of a longer name? */
export function environmentName(name: string): "itself" | "ending" | undefined {
  const words = wordsOf(name);
  const joined = words.join("");
  if (/^(?:env|envs|environ|environment|environments|envvars?|environmentvariables?|dotenv)$/.test(joined))
    return "itself";
  if (["env", "environ", "environment"].includes(words.at(-1) ?? "") || joined.endsWith("envvars"))
    return "ending";
  return undefined;
}

function ends(rule: NameRule, words: readonly string[]): boolean {
  const joined = words.join("");
  return rule.ends.some((end) => {
    if (!joined.endsWith(end)) return false;
    if (rule.whole === true && !words.some((_, index) => words.slice(index).join("") === end)) return false;
    const before = joined.slice(0, joined.length - end.length);
    return rule.unlessAfter?.some((word) => before.endsWith(word)) !== true;
  });
}

function wordsOf(name: string): string[] {
  return (name.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+|\d+/gu) ?? []).map((word) =>
    word.toLowerCase(),
  );
}

/** `tokenForGithub` is a token. */
const prepositions = new Set(["for", "of", "from", "to", "with"]);

/** `API_KEY_2`, `passwordHash`, `tokenProd`: what is said of a secret does not make it another thing. */
const tails = new Set(
  "v b base hash hashed digest encrypted encoded plain plaintext raw value string text json pem data content prod production dev development test testing staging stage live old new backup primary secondary current previous default".split(
    " ",
  ),
);

function withoutTail(words: readonly string[]): readonly string[] {
  let end = words.length;
  while (end > 1 && (tails.has(words[end - 1] ?? "") || /^\d+$/.test(words[end - 1] ?? ""))) end -= 1;
  return words.slice(0, end);
}
