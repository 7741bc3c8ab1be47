import { announces } from "./names.ts";
import { namedIn, type Span } from "./named.ts";
import { couldBeKey, decoded, isRandom, looksMade, type Test } from "./values.ts";

/**
 * Finds the secrets in a text: the matches of a table of expressions, the values of names (named.ts), and all of that in base64
 * or percent-encoded. The match of an expression is hidden; its lookarounds are context that stays. The test may reject a
 * match. Lookarounds are bounded, which keeps the scan linear.
 */
type Rule = (text: string) => Iterable<Span>;

export function spansIn(text: string, wanted = rules): Span[] {
  // A shortcut: most texts are an id, a hash, or a few ordinary words and numbers.
  const isOrdinary = text.length < 1000 && ordinary.test(text) && !/\p{L}{16}/u.test(text);
  return isOrdinary && !announces.test(text) ? [] : wanted.flatMap((rule) => [...rule(text)]);
}
const ordinary =
  /^(?:(?:[\p{L}\p{M}\s.,;!?'()&]|(?<![\p{L}\p{M}\d])\d{1,6}(?![\p{L}\p{M}\d]))*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64})$/u;

/**
 * Well-known tokens: beginnings that letters and digits must follow, because they are words as well; beginnings that nothing
 * else has; and whole forms. Publishable keys (`pk_live_…`) are public and stay.
 */
const beginnings = `
ghp_ gho_ ghu_ ghs_ ghr_ npm_ rubygems_ sess- hf_ api_org_ r8_ gsk_ xai- pplx- fw_ csk- rpa_ jina_ tgp_v1_ sgp_local_
pcsk_ lsv2_pt_ lsv2_sk_ sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rzp_live_ rzp_test_ whsec_ shpat_ shpca_ shppa_ shpss_ dop_v1_ doo_v1_
dor_v1_ xkeysib- lin_api_ lin_oauth_ lin_wh_ ntn_ secret_ fo1_ fm1_ fm2_ fm1r_ glsa_ glc_ pscale_tkn_ pscale_pw_ pscale_oauth_ pul- sbp_ napi_
sntrys_ sntryu_ squ_ sqp_ sqa_ bkua_ rnd_ nfp_ nfc_ vcp_ vca_ lip_ phx_ phs_ cfut_ cfat_ cfk_ sgp_ aio_ rdme_ LTAI ATBB ATATT3 ATCTT3 AKCp`;
const distinct = String.raw`
github_pat_ gl(?:pat|ptt|dt|rt|rtr|cbt|ft|soat|agent|oas|imt|ffct|wt)- sk-(?:ant|proj|svcacct|admin|or|lf|live|test|service)[a-z0-9]{0,8}-
xox[a-z](?:\.xox[a-z])?- xapp-\d- xwfp- ABSK AIza ya29\. GOCSPX- 1//0 sq0(?:atp|csp|idp)- fig[dour]_ dckr_(?:pat|oat)_ CCIP(?:AT|RJ)_ CFPAT- PMAK- pypi-AgE
NR(?:AK|IQ|AA|RA|II|JS|SP)- hv[sbr]\. tskey-[a-z]{2,12}- ops_eyJ AGE-SECRET-KEY-1 A3-[A-Z0-9]{6}- sb_secret_ vercel_blob_rw_ tvly- dp\.(?:pt|st|ct|sa|scim|audit|said)\.`;
const forms = String.raw`
ag[bklpsw]_[\w-]{43,} (?:nvapi-|pcsk_|tgp_v1_|fo1_|pscale_(?:tkn|pw|oauth)_|AT[AC]TT3)[\w-]{30,} (?:whsec_|fm[12]r?_)[\w+/-]{30,}
sk-(?:[A-Za-z0-9]{16,}|(?=[\w-]{0,64}\d)[\w-]{8,}) sk_[0-9a-f]{40,} (?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{12,} pypi-(?=[\w-]{0,40}\d)[\w-]{20,}
re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,} SG\.[\w-]{6,}\.[\w-]{6,} key-[0-9a-f]{32} SK[0-9a-f]{32} EAAA[\w-]{40,} EAA[A-Za-z0-9]{40,} IGQ[\w-]{40,} A{20,}[\w%]{30,}
[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,} mfa\.[\w-]{40,} pat[A-Za-z0-9]{14}\.[a-f0-9]{32,} pat-(?:na|eu|ap)\d-[0-9a-f-]{32,} sl\.(?:u\.)?[\w-]{30,}
access_token\$\w+\$\w{8,}\$\w{16,} cio[A-Za-z0-9]{32,} oy2[a-z0-9]{40,} cmVmdGtuOj[\w+/=]{40,} dapi[a-f0-9]{32}(?:-\d)? dt0[a-z]\d\d\.[A-Z0-9]{16,}\.[A-Z0-9]{32,}
s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?!\w) v1\.0-[0-9a-f]{24}-[0-9a-f]{64,} API-[A-Z0-9]{25,} v\^1\.1#[\w^+/=#-]{30,}
(?:sdk|mob|access-(?:production|sandbox|development))-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}
(?<![-_])eyJ[\w-]{8,}(?:\.[\w-]*){1,4} \$(?:2[abxy]|1|5|6|y|apr1|argon2(?:id?|d)|scrypt|pbkdf2[\w-]{0,20})\$[\w$./=,+-]{20,}`;
const anyOf = (table: string): string => `(?:${table.trim().split(/\s+/).join("|")})`;
const known = `(?<![A-Za-z0-9](?<!%[0-9A-Fa-f]{2}|\\\\[nrt]))(?:${anyOf(beginnings)}(?:[A-Za-z0-9]{20,}|(?=[a-z]{0,20}[A-Z\\d])[A-Za-z0-9]{12,})[\\w.~+/=-]*|${anyOf(distinct)}[\\w.%~+/=-]{7,}[\\w%~+/=-]|${anyOf(forms)})`;

/**
 * Each line: the test that may reject a match (below), the hint, and the expression. A text that lacks the hint is skipped.
 * Lines with @: the test, programs, and their flags whose value is a secret. {s} separates two words: a space, or NUL in a list.
 */
const shapes = String.raw`
# Tokens without a beginning: Telegram, Mailchimp, Terraform; Azure, Twilio; a provider that is not in the list
any    [\w-]{30}  (?<!\w)(?:\d{8,10}:AA[\w-]{30,}|[0-9a-f]{32}-us\d{1,2}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,})
any    Q~|\bAC[0-9a-f]{32}:  (?<!\w)[\w~.-]{3}\dQ~[\w~.-]{30,}|(?<=\bAC[0-9a-f]{32}:)[0-9a-f]{32}
made   _\w{16}    (?<![A-Za-z0-9])(?!pk_)[a-z][a-z0-9]{1,11}_(?:live|prod|secret|sk|pat|key|token|api)_[A-Za-z0-9]{16,}
# Private keys, also in base64, and webhooks, which are protected only by their path
any    PuTTY      (?<=PuTTY-User-Key-File-\d)[^]+
any    -----      -----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,9}-----[^]*?(?:-----END [A-Z0-9 ]{0,40}-----|(?![^]))
any    LS0tLS     LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[\w+/=-]+(?:\r?\n[\w+/=-]+)*
any    hook|\.com/|/bot  (?<=(?:slack|discord|discordapp|zapier|office)\.com/(?:\w{1,20}/)?(?:services|workflows|triggers|webhooks|catch|webhookb2|webhook)/|hook(?:\.\w{2,4})?\.(?:make|integromat)\.com/|ifttt\.com/trigger/[\w-]{1,60}/(?:json/)?with/key/)[\w/.:@%-]{6,}|(?<=telegram\.org/bot)[\w:-]{6,}
# Logins: root:password@db:3306/shop, but not app:1.2@sha256:...; scott/tiger@db; -u user:password, but not -u 1000:1000; htpasswd -b
any    @          (?<=(?<![\w/@:.%-])(?!(?:mailto|acct|b?cc|to|from|sips?|xmpp):)[\w.-]{1,64}:)[^\s"'\x60@/:[|,]{1,256}(?=@(?!sha\d)[\w.-]{1,200}(?::\d|/|\())
any    @          (?<=(?:oracle:(?:thin|oci):|\bsqlplus )[\w$#]{1,64}/)[^\s"'\x60@[]{1,256}(?=@)
user   [:%]       (?<=[\s\0](?:-[uUa]|--(?:user|proxy-user|auth|username|basic|login))[ =\0]?["']?[^\s:%/"'\0]{0,100}[:%])(?:(?<=["'][^\s:%/"'\0]{0,100}[:%])[^"'\n]+|[^\s\0"'|;&]+)
any    passw|user  (?<=\b(?:htpasswd[ \0]-\w*b\w*[ \0][^\s\0]{1,200}|add_user|change_password|net user)[ \0][^\s\0]{1,200}[ \0])[^\s\0/][^\s\0]*
# Schemes without a header, lines of .netrc and .pgpass, and passwords that are piped into a login
bearer [Bb]e|BE   (?<=(?<![A-Za-z0-9])(?:[Bb]earer|BEARER)[ \t]{1,9})[\w.~+/=-]{2,}
basic  [Bb]a|BA   (?<=(?<![A-Za-z0-9])(?:[Bb]asic|BASIC)[ \t]{1,9})[\w+/=-]{4,}
any    String|login  (?<=ConvertTo-SecureString (?:-String )?["']?)[^\s"']+|(?<=(?<![\w-])login\s{1,3}\S{1,100}\s{1,3}password\s{1,3})\S+
any    :          (?<=^[\w.*-]{1,200}:(?:\d{1,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:)\S+$
# The code of a sign-in (OAuth)
any    code=      (?<=[?&]code=)(?=[^\s&#]{0,99}\d)[\w.~%/+-]{16,}
any    \|         (?<=\becho\s{1,3}(?:-n )?["']?)[^\s"'|$]{1,200}(?=["']?\s{0,3}\|[^\n|]{0,200}(?:-stdin|--with-token|sudo -S|chpasswd))
# Flags
set@ mysql\w*|mariadb[\w-]*|mycli|7z\w*|rar|unrar  -p
set@ sshpass|mongo\w*  -p{s}?
set@ unzip|zip|sqlcmd|bcp|osql|isql|tsql  -P{s}?
set@ redis-cli  -a{s}
set@ openssl  -[kK]{s}
set@ ldap\w+  -w{s}
set@ snmp\w+  -[AX]{s}
set@ ssh-keygen  -N{s}
set@ secrets?{s}(?:set|put|add|create)  -b{s}?|--(?:body|value|text|secret-string|data)(?:{s}|=)|\w{1,64}=
set@ curl  -b{s}["']?[\w.-]{1,64}=
port@ login|-[uU][^\s\0]{0,100}|--user(?:name)?  -[pP]{s}
key@ vault|cargo  login{s}
key@ [^]?  -[pP]
set@ [^]?  pass:|/p(?:ass)?:
`;
/**
 * Long random words. In a URL they identify a resource, and in a public key they are public, so both stay. Then words in
 * base64 or with percent-encoded signs: they are secret if their decoded text has a secret.
 */
const wholes = String.raw`
random -----|[\w+/-]{32}  -----BEGIN (?:[A-Z0-9]{1,20} ){0,3}(?:CERTIFICATE|PUBLIC KEY)[A-Z ]{0,20}-----[^-]*|(?<![\w+/=.:@%-](?<!\\[nrt]))(?<!\\(?=[nrt])|base64,|://\S{0,400})[\w+/-]{32,}={0,2}(?=$|[\s"'\x60)\]}>,;|&\\]|[.!?](?:\s|$))
base64 [\w+/-]{24}  (?<![\w+/=-])[\w+/-]{24,}={0,2}
url    %         (?<![^\s"'\x60<>&=?#/])(?![a-z][\w+.-]{0,20}:)[^\s"'\x60<>&=?#/]*%(?:3[aAdD]|40|22)[^\s"'\x60<>&=?#/]*
`;
const isSet: Test = (word) => !/^(?:\$|\{|<|%7B|\[redacted)/i.test(word);
/** Not a port, a port mapping, a path, or another flag. */
const notPort: Test = (word) => isSet(word) && !/^(?:[\d.:/-]*(?:tcp|udp)?|[./~-].*)$/.test(word);
const aboutBearer =
  /^(?:(?:tokens?|auth\w*|schemes?|headers?|credentials?|keys?|of|and|or|is|in|for|the|with|to|format|type)\b|[.,-]+$)/i;
const letter = (code: string): string => String.fromCharCode(Number.parseInt(code.slice(1), 16));
const isSecret = (text = ""): boolean => spansIn(text, plain).length > 0;
const tests = new Map<string, Test>([
  ["made", (token) => looksMade(token.replace(/^.*_/, ""))],
  ["set", isSet],
  ["port", notPort],
  ["key", (word) => notPort(word) && couldBeKey(word)],
  ["user", (word) => isSet(word) && !/^\d{1,6}$/.test(word)],
  ["bearer", (word) => !aboutBearer.test(word)],
  ["basic", (word) => decoded(word)?.includes(":") === true || (couldBeKey(word) && word.length > 15)],
  ["random", (word) => !word.startsWith("-----") && isRandom(word)],
  ["base64", (word) => isSecret(decoded(word))],
  ["url", (word) => isSecret(word.replaceAll(/%[0-9a-f]{2}/gi, letter))],
]);

/** One rule for each line of a table. */
const rulesOf = (table: string): Rule[] =>
  [...table.replaceAll("{s}", "[\\0\\x20]").matchAll(/^(\w+)(@?) +(\S+) {2,}(.*)$/gm)].map(
    ([, name = "", flags, hint = "", shape = ""]) => {
      const flagged = `(?<=[\\s\\0](?:${shape})["']?)(?<=(?<![\\w-])(?:${hint})(?!\\w)[^\\n|;&]{0,200})(?:(?<=\\0)[^\\0]+|(?<=")[^"\\n]+|(?<=')[^'\\n]+|[^\\s\\0"'|;&]+)`;
      const [test, needed] = [tests.get(name), new RegExp(hint)];
      const expression = new RegExp(flags === "@" ? flagged : shape, "gm");
      return function* spans(text) {
        if (!needed.test(text)) return;
        for (const { 0: secret, index } of text.matchAll(expression))
          if (test?.(secret) !== false) yield [index, index + secret.length];
      };
    },
  );

/** The secret before the @ of an address. The user and the host stay. A password may contain a slash. */
function* logins(text: string): Iterable<Span> {
  if (!text.includes("@")) return;
  const address = /(?<=([a-z][a-z\d+.-]{0,30}):\/\/)(?:(?!:\/\/)[^\s"'`<>]){1,900}/gi;
  for (const { 0: rest, 1: scheme = "", index } of text.matchAll(address)) {
    const [authority = ""] = /^[^/?#]*/.exec(rest) ?? [];
    const isWeb = /(?:https?|wss?|git|ssh|ftp)$/i.test(scheme) && authority.includes("@");
    const at = (isWeb ? authority : rest).lastIndexOf("@");
    const [user] =
      /^[^/?#:@[]{0,200}(?=:(?!\d*[/?#]|\d{1,5}(?:;\w+=|,[\w.:[\]-]+(?:[/?#]|$))))/.exec(rest) ?? [];
    const name = user ?? authority.slice(0, Math.max(authority.indexOf("@"), 0));
    const password = user === undefined ? "" : rest.slice(user.length + 1, at);
    const isEmpty = /^(?:x|x-oauth-basic)?$/.test(password);
    // Without a password the user is the secret, but not the plain user of a repository.
    const isToken = user === undefined && /^(?:http|ws)s?$/i.test(scheme) && !repositoryUser.test(rest);
    const isKey = user === undefined ? name.length > 11 && couldBeKey(name) : isEmpty || looksMade(name);
    if (at < 0) continue;
    if (name !== "" && isSet(name) && (isToken || isKey)) yield [index, index + name.length];
    if (!isEmpty && isSet(password)) yield [index + at - password.length, index + at];
  }
}
const repositoryUser = /^[a-z][a-z._-]{0,19}@(?:[^\s/]*(?:git|bitbucket|azure)|.*(?:\.git\b|\/_git\/))/;

/** The values of a Secret of Kubernetes, whatever they are called: what stands deeper than `data:` or `stringData:`. */
function* manifests(text: string): Iterable<Span> {
  if (!text.includes("Secret") || !/^[ \t-]*kind: *["']?Secret\b/m.test(text)) return;
  let column = -1;
  for (const { 0: line, index } of text.matchAll(/^.*\S/gm)) {
    const [lead = "", indent = "", key = ""] =
      /^([ \t]*(?:-[ \t]+)*)(?:([\w.-]{1,253}):(?:[ \t]+|$))?/.exec(line) ?? [];
    const value = line.slice(lead.length);
    if (indent.length <= column) column = -1;
    if (column < 0) column = /^(?:data|stringData)$/.test(key) && value === "" ? indent.length : -1;
    else if (!/^(?:[|>][-+\d]{0,2})?$/.test(value)) yield [index + lead.length, index + line.length];
  }
}

const plain = [...rulesOf(`any  [\\w+-]{8}  ${known}\n${shapes}`), logins, manifests, namedIn];
/** A test takes each rule away and expects a leak. */
export const rules: readonly Rule[] = [...plain, ...rulesOf(wholes)];
