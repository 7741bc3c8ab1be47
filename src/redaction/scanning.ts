import { announces } from "./names.ts";
import { namedIn, type Span } from "./named.ts";
import { couldBeKey, decoded, isRandom, looksMade, type Test } from "./values.ts";

/**
 * Finds the secrets in a text: what a table of expressions matches, the values of names (named.ts), and all of that in
 * base64 or percent-encoded. What an expression matches is hidden: the context that stays is in its lookarounds. The test
 * may reject a match. Lookarounds are bounded, which keeps the scan linear.
 */
type Shape = readonly [expression: RegExp, test?: Test, hint?: RegExp];
type Rule = (text: string) => Iterable<Span>;

export function spansIn(text: string, wanted = rules): Span[] {
  // A shortcut: most texts are an id, a hash, or a few ordinary words and numbers.
  const isOrdinary = text.length < 1000 && ordinary.test(text) && !/\p{L}{16}/u.test(text);
  return isOrdinary && !announces.test(text) ? [] : wanted.flatMap((rule) => [...rule(text)]);
}

const ordinary =
  /^(?:(?:[\p{L}\p{M}\s.,;!?'()&]|(?<![\p{L}\p{M}\d])\d{1,6}(?![\p{L}\p{M}\d]))*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64})$/u;

/** A text without the hint is skipped. */
const rulesOf = (hint: RegExp, shapes: readonly Shape[]): Rule[] =>
  shapes.map(
    ([expression, test, needed = hint]) =>
      function* spans(text) {
        for (const { 0: secret, index } of hint.test(text) && needed.test(text)
          ? text.matchAll(expression)
          : [])
          if (test?.(secret) !== false) yield [index, index + secret.length];
      },
  );

/**
 * Prefixes of well-known tokens whose body is letters and digits. Publishable keys (`pk_live_…`) are public and stay.
 */
const beginnings = `
ghp_ gho_ ghu_ ghs_ ghr_ agk_ agb_ agp_ agl_ agw_ npm_ rubygems_ sess- hf_ api_org_ r8_ gsk_ xai- pplx- fw_ csk- rpa_ jina_ nvapi- tgp_v1_ pcsk_
lsv2_pt_ lsv2_sk_ sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ whsec_ shpat_ shpca_ shppa_ shpss_ dop_v1_ doo_v1_ dor_v1_ xkeysib-
lin_api_ lin_oauth_ lin_wh_ ntn_ secret_ fo1_ fm1_ fm2_ fm1r_ glsa_ glc_ pscale_tkn_ pscale_pw_ pscale_oauth_ pul-
sbp_ napi_ sntrys_ sntryu_ squ_ sqp_ sqa_ bkua_ rnd_ nfp_ nfc_ vcp_ vca_ lip_ phx_ phs_ cfut_ cfat_ cfk_ ATBB ATATT3 ATCTT3 AKCp`;

/** One line for each provider whose tokens have another shape. */
const providers = String.raw`
Anthropic    sk-(?:ant|proj|svcacct|admin|or|lf|live|test|service)[a-z0-9]{0,8}-[\w-]{4,}
OpenAI       sk-(?:[A-Za-z0-9]{16,}|(?=[\w-]{0,64}\d)[\w-]{8,})
GitHub       github_pat_\w{10,}
GitLab       gl(?:pat|ptt|dt|rt|rtr|cbt|ft|soat|agent|oas|imt|ffct|wt)-[\w.-]{8,}
Slack        xox[a-z](?:\.xox[a-z])?-[\w%./+-]{8,}|xapp-\d-[\w-]{8,}|xwfp-[\w-]{16,}
AWS          (?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{12,}|ABSK[\w+/=-]{40,}
Google       AIza[\w-]{20,}|ya29\.[\w.-]{10,}|GOCSPX-[\w-]{10,}|1//0[\w-]{20,}
PyPI         pypi-(?:AgE[\w-]{8,}|(?=[\w-]{0,40}\d)[\w-]{20,})
crates.io    cio[A-Za-z0-9]{32,}
NuGet        oy2[a-z0-9]{40,}
Tavily       tvly-[\w-]{20,}
SendGrid     SG\.[\w-]{6,}\.[\w-]{6,}
Mailgun      key-[0-9a-f]{32}
Resend       re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,}
Square       sq0(?:atp|csp|idp)-[\w-]{16,}|EAAA[\w-]{40,}
Facebook     EAA[A-Za-z0-9]{40,}|IGQ[\w-]{40,}
Twilio       SK[0-9a-f]{32}
Discord      [MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,}|mfa\.[\w-]{40,}
Figma        fig[dour]_[\w-]{20,}
Airtable     pat[A-Za-z0-9]{14}\.[a-f0-9]{32,}
HubSpot      pat-(?:na|eu|ap)\d-[0-9a-f-]{32,}
Databricks   dapi[a-f0-9]{32}(?:-\d)?
Doppler      dp\.(?:pt|st|ct|sa|scim|audit|said)\.[\w.-]{16,}
Dynatrace    dt0[a-z]\d\d\.[A-Z0-9]{16,}\.[A-Z0-9]{32,}
Vault        hv[sbr]\.[\w-]{20,}|s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?!\w)
New-Relic    NR(?:AK|IQ|AA|RA|II|JS|SP)-[\w-]{20,}
Postman      PMAK-[a-f0-9]{24}-[a-f0-9]{32,}
Supabase     sb_secret_[\w-]{16,}
Tailscale    tskey-[a-z]{2,12}-[\w-]{12,}
1Password    ops_eyJ[\w+/=-]{20,}|A3-[A-Z0-9]{6}-[A-Z0-9-]{26,}
age          AGE-SECRET-KEY-1[A-Z0-9]{20,}
Docker       dckr_(?:pat|oat)_[\w-]{16,}
Contentful   CFPAT-[\w-]{20,}
CircleCI     CCIP(?:AT|RJ)_[\w-]{20,}
Cloudflare   v1\.0-[0-9a-f]{24}-[0-9a-f]{64,}
Vercel       vercel_blob_rw_\w{20,}
Dropbox      sl\.(?:u\.)?[\w-]{30,}
JFrog        cmVmdGtuOj[\w+/=]{40,}
Twitter      A{20,}[\w%]{30,}
JWT          (?<![-_])eyJ[\w-]{8,}(?:\.[\w-]*){1,4}
hashes       \$(?:2[abxy]|1|5|6|y|apr1|argon2(?:id?|d)|scrypt|pbkdf2[\w-]{0,20})\$[\w$./=,+-]{20,}`;

const known = new RegExp(
  `(?<![A-Za-z0-9])(?:(?:${beginnings.trim().split(/\s+/).join("|")})(?:[A-Za-z0-9]{20,}|(?=[a-z]{0,20}[A-Z\\d])[A-Za-z0-9]{12,})[\\w.~+/=-]*|${providers
    .split("\n")
    .slice(1)
    .map((line) => line.replace(/^\S+\s+/, ""))
    .join("|")})`,
  "g",
);

/** All tokens: by prefix, by a part in the middle, private keys, and webhooks, which are protected only by their path. */
const tokens: readonly Shape[] = [
  [known],
  [/(?<!\w)\d{8,10}:AA[\w-]{30,}/g], // Telegram
  [/(?<!\w)[0-9a-f]{32}-us\d{1,2}/g], // Mailchimp
  [/(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}/g], // Terraform
  [/(?<!\w)[\w~.-]{3}\dQ~[\w~.-]{30,}/g], // Azure
  [/(?<=\bAC[0-9a-f]{32}:)[0-9a-f]{32}/g], // Twilio
  [/(?<=PuTTY-User-Key-File-\d)[^]+/g],
  [/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,9}-----[^]*?(?:-----END [A-Z0-9 ]{0,40}-----|$)/g],
  [/LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[\w+/=-]+(?:\r?\n[\w+/=-]+)*/g],
  [
    /(?<=(?:slack|discord|discordapp|zapier|office)\.com\/(?:\w{1,20}\/)?(?:services|workflows|triggers|webhooks|catch|webhookb2|webhook)\/)[\w/.:@%-]{6,}/g,
  ],
  [/(?<=telegram\.org\/bot)[\w:-]{6,}/g],
  // A token of a provider that is not in the list: a name, what the token is for, and a long random body.
  [
    /(?<![A-Za-z0-9])(?!pk_)[a-z][a-z0-9]{1,11}_(?:live|prod|secret|sk|pat|key|token|api)_[A-Za-z0-9]{16,}/g,
    (token) => looksMade(token.replace(/^.*_/, "")),
  ],
];

const notReference: Test = (word) => !/^(?:\$|\{|<|%7B|\[redacted)/i.test(word);

/** The secret before the @ of an address. The user and the host stay. A database's password may contain a slash. */
const logins: readonly Shape[] = [
  [
    /(?<=:\/\/[^\s"'`<>/?#:@[]{0,200}:)(?!(?:x|x-oauth-basic)?@|\d*[/?#])(?:(?<=(?:https?|wss?|git|ssh|s?ftp):\/\/[^\s/]{0,200})[^\s"'`<>/?#]{1,500}(?=@)|(?:(?!:\/\/)[^\s"'`<>]){1,500}(?=@))/gi,
    notReference,
  ],
  // https://token:x-oauth-basic@host, https://token:@host
  [/(?<=:\/\/)[^\s"'`<>/?#:@]{1,200}(?=:(?:x|x-oauth-basic)?@)/gi, notReference],
  [/(?<=:\/\/)[^\s"'`<>/?#:@]{16,200}(?=:[^\s"'`<>/?#@]{1,200}@)/g, looksMade],
  // https://token@host, but not the plain user of a repository
  [
    /(?<=\b(?:https?|wss?):\/\/)(?![a-z][a-z._-]{0,19}@(?:[^\s/"'`<>]{0,200}(?:git|bitbucket|azure)|[^\s"'`<>]{0,200}(?:\.git\b|\/_git\/)))[^\s"'`<>/?#:@]{1,500}(?=@)/g,
    notReference,
  ],
  [/(?<=:\/\/)[^\s"'`<>/?#:@]{12,200}(?=@)/g, couldBeKey],
  // root:password@db:3306/shop, but not app:1.2@sha256:…
  [
    /(?<=(?<![\w/@:.%-])(?!(?:mailto|acct|b?cc|to|from|sips?|xmpp):)[\w.-]{1,64}:)[^\s"'`@/:[|,]{1,256}(?=@(?!sha\d)[\w.-]{1,200}(?::\d|\/|\())/gi,
  ],
  [/(?<=(?:oracle:(?:thin|oci):|\bsqlplus )[\w$#]{1,64}\/)[^\s"'`@[]{1,256}(?=@)/gi],
];

/** The word of a command line at a flag of these programs. The words of an argument list are separated by NUL. */
function flag(programs: string, flags: string, test: Test = notReference): Shape {
  const place = String.raw`(?<=[\s\0](?:${flags})["']?)(?<=(?<![\w-])(?:${programs})(?!\w)[^\n|;&]{0,200})`;
  return [
    new RegExp(`${place}${commandWord}`, "g"),
    (word) => notReference(word) && test(word),
    new RegExp(programs),
  ];
}
const commandWord = String.raw`(?:(?<=\0)[^\0]+|(?<=")[^"\n]+|(?<=')[^'\n]+|[^\s\0"'|;&]+)`;
/** A port, a port mapping, a path, or another flag. */
const notPort: Test = (word) => !/^(?:[\d.:/-]*(?:tcp|udp)?|[./~-].*)$/.test(word);

const commands: readonly Shape[] = [
  flag(String.raw`mysql\w*|mariadb[\w-]*|mycli|7z\w*|rar|unrar`, "-p"),
  flag(String.raw`sshpass|mongo\w*`, String.raw`-p[ \0]?`),
  flag("unzip|zip|sqlcmd|bcp|osql|isql|tsql", String.raw`-P[ \0]?`),
  flag("redis-cli", String.raw`-a[ \0]`),
  flag("openssl", String.raw`-k[ \0]`),
  flag(String.raw`ldap\w+`, String.raw`-w[ \0]`),
  flag(String.raw`snmp\w+`, String.raw`-[AX][ \0]`),
  flag(
    "secrets? (?:set|put|add|create)",
    String.raw`(?:-b|--(?:body|value|text|secret-string|data))[= \0]|\w{1,64}=`,
  ),
  flag(String.raw`login|-[uU][^\s\0]{0,100}|--user(?:name)?`, String.raw`-[pP][ \0]`, notPort),
  flag("", "-[pP]", (word) => notPort(word) && couldBeKey(word)),
  flag("", String.raw`(?:pass|\/p):`),
  flag("vault|cargo", String.raw`login[ \0]`, couldBeKey),
  [
    /(?<=\b(?:htpasswd[ \0]-\w*b\w*[ \0][^\s\0]{1,200}|add_user|change_password)[ \0][^\s\0]{1,200}[ \0])[^\s\0]+/g,
  ],
  // -u user:password, -U user%password, but not -u 1000:1000
  [
    /(?<=[\s\0](?:-[uUa]|--(?:user|proxy-user|auth|username|basic|login))[ =\0]?["']?[^\s:%/"'\0]{0,100}[:%])(?:(?<=["'][^\s:%/"'\0]{0,100}[:%])[^"'\n]+|[^\s\0"'|;&]+)/g,
    (word) => notReference(word) && !/^\d{1,6}$/.test(word),
  ],
  // Header schemes without a header, lines of .netrc and .pgpass, and passwords that are piped into a login.
  [/(?<=(?<![a-z0-9])bearer[ \t]{1,9})[\w.~+/=-]{2,}/gi, (word) => !aboutBearer.test(word)],
  [
    /(?<=(?<![a-z0-9])basic[ \t]{1,9})[\w+/=-]{4,}/gi,
    (word) => decoded(word)?.includes(":") === true || (couldBeKey(word) && word.length > 15),
  ],
  [/(?<=ConvertTo-SecureString (?:-String )?["']?)[^\s"']+/g],
  [/(?<=(?<![\w-])login\s{1,3}\S{1,100}\s{1,3}password\s{1,3})\S+/g],
  [/(?<=^[\w.*-]{1,200}:(?:\d{1,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:)\S+$/gm],
  [
    /(?<=\becho\s{1,3}(?:-n )?["']?)[^\s"'|$]{1,200}(?=["']?\s{0,3}\|[^\n|]{0,200}(?:-stdin|--with-token|sudo -S|chpasswd))/g,
  ],
];
const aboutBearer =
  /^(?:(?:tokens?|auth\w*|schemes?|headers?|credentials?|keys?|of|and|or|is|in|for|the|with|to|format|type)\b|[.,-]+$)/i;

/** Long random words. In a URL they identify a resource, and in a public key they are public, so both stay. */
const random: Shape = [
  /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}(?:CERTIFICATE|PUBLIC KEY)[A-Z ]{0,20}-----[^-]*|(?<![\w+/=.:@%-])(?<!base64,|:\/\/\S{0,400})[\w+/-]{32,}={0,2}(?=$|[\s"'`)\]}>,;|&\\]|[.!?](?:\s|$))/g,
  (word) => !word.startsWith("-----") && isRandom(word),
];

const plain: readonly Rule[] = [
  ...rulesOf(/[\w+-]{8}/, tokens),
  ...rulesOf(/@/, logins),
  ...rulesOf(/[ \0]-|:|\||bearer|basic|login|secret|String/i, commands),
  namedIn,
];
const isSecret = (text = ""): boolean => spansIn(text, plain).length > 0;
const letter = (code: string): string => String.fromCharCode(Number.parseInt(code.slice(1), 16));

/** Base64 and percent-encoded words are decoded once and scanned again. */
const encoded: readonly Shape[] = [
  [/(?<![\w+/=-])[\w+/-]{24,}={0,2}/g, (word) => isSecret(decoded(word))],
  [
    /(?<![^\s"'`<>&=?#/])(?![a-z][\w+.-]{0,20}:)[^\s"'`<>&=?#/]*%(?:3[ad]|40|22)[^\s"'`<>&=?#/]*/gi,
    (word) => isSecret(word.replace(/%[0-9a-f]{2}/gi, letter)),
  ],
];

/** A test takes each rule away and expects a leak. */
export const rules: readonly Rule[] = [...plain, ...rulesOf(/[\w+/-]{24}|%/, [random, ...encoded])];
