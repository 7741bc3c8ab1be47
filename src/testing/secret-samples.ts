/**
 * Secrets as they appear in configurations. None of them is real: their bodies are made up at run time, so a scanner for
 * leaked secrets finds none in this file.
 */
export interface SecretSample {
  readonly about: string;
  readonly value: unknown;
  /** The part that redaction must hide. */
  readonly secret: string;
  readonly path: string;
}

const alphabets = {
  hex: "0123456789abcdef",
  lower: "abcdefghijklmnopqrstuvwxyz0123456789",
  upper: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
  mixed: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
} as const;

/** Returns the same text for the same arguments, so a failing test fails again. */
export function body(length: number, alphabet: keyof typeof alphabets = "mixed", seed = length): string {
  const letters = alphabets[alphabet];
  let state = (seed * 2_654_435_761 + 97) >>> 0;
  let made = "";
  while (made.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    made += letters[(state >>> 8) % letters.length] ?? "";
  }
  return made;
}

/** Keys in the formats of providers. Redaction must recognize them without a name. */
export const providerKeys: Readonly<Record<string, string>> = {
  agency: `agk_${body(43)}`,
  "agency, short": `agk_${body(20, "lower")}`,
  anthropic: `sk-ant-api03-${body(30)}`,
  "anthropic, without digits": "sk-ant-abcdefgh",
  "openai project": `sk-proj-${body(30)}`,
  openai: `sk-${body(48)}`,
  "openai, with dashes": "sk-my-key-number-7",
  "openai service account": `sk-svcacct-${body(20)}`,
  openrouter: `sk-or-v1-${body(40, "hex")}`,
  "openai session": `sess-${body(28)}`,
  "github classic": `ghp_${body(36)}`,
  "github oauth": `gho_${body(36)}`,
  "github user": `ghu_${body(36)}`,
  "github server": `ghs_${body(36)}`,
  "github refresh": `ghr_${body(36)}`,
  "github, cut": `ghp_${body(12, "lower")}`,
  "github fine-grained": `github_pat_${body(22)}_${body(40)}`,
  "github fine-grained, cut": `github_pat_${body(12, "lower")}`,
  "gitlab personal": `glpat-${body(20)}`,
  "gitlab trigger": `glptt-${body(30, "hex")}`,
  "gitlab runner": `glrt-${body(20, "lower")}`,
  bitbucket: `ATBB${body(28)}`,
  "slack bot": `xoxb-${body(11, "hex")}-${body(24)}`,
  "slack user": `xoxp-${body(30, "lower")}`,
  "slack refresh": `xoxe-${body(20, "lower")}`,
  "slack app": `xapp-1-${body(11, "upper")}-${body(20, "hex")}`,
  "aws key id": `AKIA${body(16, "upper")}`,
  "aws temporary key id": `ASIA${body(16, "upper")}`,
  "aws secret": ["wJalrXUtnFEMI", "K7MDENG", "bPxRfiCYEXAMPLEKEY"].join("/"),
  "google api": `AIza${body(35)}`,
  "google access": `ya29.${body(24, "lower")}`,
  "google client": `GOCSPX-${body(28)}`,
  "google refresh": `1//0${body(30, "lower")}`,
  npm: `npm_${body(36)}`,
  "npm, lower case": `npm_${body(20, "lower")}`,
  "hugging face": `hf_${body(34)}`,
  "hugging face, lower case": `hf_${body(20, "lower")}`,
  pypi: `pypi-AgEIcHlwaS5vcmc${body(30)}`,
  "pypi, cut": `pypi-AgE${body(10, "lower")}`,
  rubygems: `rubygems_${body(48, "hex")}`,
  crates: `cio${body(32)}`,
  "crates, lower case": `cio${body(32, "lower")}`,
  sendgrid: `SG.${body(22)}.${body(43)}`,
  "stripe live": `sk_live_${body(24)}`,
  "stripe test": `sk_test_${body(24, "lower")}`,
  "stripe restricted": `rk_live_${body(24)}`,
  "stripe webhook": `whsec_${body(32)}`,
  "stripe webhook, cut": `whsec_${body(12, "lower")}`,
  "shopify access": `shpat_${body(32, "hex")}`,
  "shopify shared": `shpss_${body(32, "hex")}`,
  digitalocean: `dop_v1_${body(64, "hex")}`,
  square: `sq0atp-${body(22)}`,
  twilio: `SK${body(32, "hex")}`,
  mailgun: `key-${body(32, "hex")}`,
  mailchimp: `${body(32, "hex")}-us21`,
  brevo: `xkeysib-${body(40, "hex")}`,
  resend: `re_${body(8, "lower")}_${body(20, "lower")}`,
  telegram: `1234567890:AA${body(33)}`,
  discord: `M${body(24)}.${body(6)}.${body(38)}`,
  linear: `lin_api_${body(40)}`,
  "linear, lower case": `lin_oauth_${body(20, "lower")}`,
  notion: `secret_${body(43)}`,
  "notion, lower case": `ntn_${body(40, "lower")}`,
  airtable: `pat${body(14)}.${body(64, "hex")}`,
  atlassian: `ATATT3${body(40)}`,
  "atlassian, lower case": `ATATT3${body(24, "lower")}`,
  hubspot: `pat-na1-${body(8, "hex")}-${body(4, "hex")}-${body(4, "hex")}-${body(4, "hex")}-${body(12, "hex")}`,
  databricks: `dapi${body(32, "hex")}`,
  doppler: `dp.pt.${body(40)}`,
  dynatrace: `dt0c01.${body(24, "upper")}.${body(64, "upper")}`,
  fly: `fm2_${body(40, "lower")}`,
  grafana: `glsa_${body(32, "lower")}_${body(8, "hex")}`,
  vault: `hvs.${body(24)}`,
  terraform: `${body(14)}.atlasv1.${body(60)}`,
  "new relic": `NRAK-${body(27, "upper")}`,
  planetscale: `pscale_tkn_${body(43, "lower")}`,
  postman: `PMAK-${body(24, "hex")}-${body(34, "hex")}`,
  pulumi: `pul-${body(40, "hex")}`,
  replicate: `r8_${body(37, "lower")}`,
  groq: `gsk_${body(40, "lower")}`,
  xai: `xai-${body(40, "lower")}`,
  perplexity: `pplx-${body(40, "lower")}`,
  fireworks: `fw_${body(24, "lower")}`,
  langsmith: `lsv2_pt_${body(32, "hex")}_${body(10, "hex")}`,
  pinecone: `pcsk_${body(30, "lower")}`,
  tavily: `tvly-${body(30, "lower")}`,
  supabase: `sbp_${body(40, "hex")}`,
  "supabase secret": `sb_secret_${body(22, "lower")}`,
  neon: `napi_${body(50, "lower")}`,
  sentry: `sntrys_${body(40, "lower")}`,
  sonar: `squ_${body(40, "hex")}`,
  tailscale: `tskey-auth-${body(12, "lower")}-${body(20, "lower")}`,
  onepassword: `ops_eyJ${body(40, "lower")}`,
  age: `AGE-SECRET-KEY-1${body(58, "upper")}`,
  docker: `dckr_pat_${body(27, "lower")}`,
  contentful: `CFPAT-${body(43, "lower")}`,
  facebook: `EAA${body(60, "upper")}`,
  "azure client": `a1b8Q~${body(34, "lower")}`,
  "somebody else's": `acme_live_${body(24, "mixed", 5)}`,
  jwt: `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${body(43)}`,
  "session token of ours": body(43, "mixed", 3),
  "random, 64": body(64),
};

/** Names whose value is always a secret. */
export const secretNames: readonly string[] = [
  ..."apiKey api_key API_KEY apikey ApiKey x-api-key api.key APIKey openaiApiKey OPENAI_API_KEY anthropic-api-key apiKeys".split(
    " ",
  ),
  ..."token accessToken access_token refresh_token idToken githubToken GITHUB_TOKEN bot_token authToken csrfToken tokens slackTokens".split(
    " ",
  ),
  ..."tokenForGithub token_of_the_bot tokenProd TOKEN_2 tokenValue token_v2".split(" "),
  ..."secret secrets clientSecret client_secret CLIENT-SECRET webhookSecret SECRET_KEY_BASE secretValue sharedSecret".split(
    " ",
  ),
  ..."password Password PASSWORD passWord pass_word passwd dbPassword PGPASSWORD password1 passwordHash smtp.password rootPasswort".split(
    " ",
  ),
  ..."pass dbPass DB_PASS smtp_pass passphrase ssh-passphrase passcode pwd DB_PWD".split(" "),
  ..."credential credentials creds awsCredentials CREDENTIALS_JSON".split(" "),
  ..."privateKey private_key PRIVATE-KEY privkey signingKey encryption_key ENCRYPTION_KEY masterKey sessionKey session_key".split(
    " ",
  ),
  ..."accessKey AWS_SECRET_ACCESS_KEY secretAccessKey AWS_ACCESS_KEY_ID accountKey AccountKey SharedAccessKey subscription-key".split(
    " ",
  ),
  ..."licenseKey sshKey deploy_key hmacKey adminKey serviceRoleKey consumerKey client-key-data keyMaterial stripeKey".split(
    " ",
  ),
  ..."authorization Authorization proxy-authorization authorisation cookie cookies Set-Cookie sessionCookie".split(
    " ",
  ),
  ..."connectionString connection_string CONNECTION-STRING connStr dsn SENTRY_DSN jwt JWT bearer".split(" "),
  ..."mnemonic seedPhrase recovery_codes backupCode githubPat GITLAB_PAT".split(" "),
];

const pem = (kind: string, lines: readonly string[], between = "\n"): string =>
  [`-----BEGIN ${kind}PRIVATE KEY-----`, ...lines, `-----END ${kind}PRIVATE KEY-----`].join(between);
const line = body(40, "lower");
const inBase64 = (text: string): string => Buffer.from(text).toString("base64");
const wrapped = (text: string): string => text.replace(/.{40}/g, "$&\n");
const plain = "hunter2";

function at(path: string, value: unknown, secret: string): Omit<SecretSample, "about"> {
  return { value, secret, path };
}

const inText = (text: string, secret: string = plain): Omit<SecretSample, "about"> =>
  at("prompt", { prompt: text }, secret);

/** Samples written by hand, because no rule generates them. */
export const handwritten: Readonly<Record<string, Omit<SecretSample, "about">>> = {
  "a private key": inText(pem("", [line]), line),
  "an RSA key inside a text": inText(`Use this: ${pem("RSA ", [line, line])} and go on.`, line),
  "an EC key": inText(pem("EC ", [line]), line),
  "an OpenSSH key": inText(pem("OPENSSH ", [line]), line),
  "an encrypted key": inText(pem("ENCRYPTED ", [line]), line),
  "a key with escaped line ends": inText(pem("", [line], "\\n"), line),
  "a key that is cut off": inText(`-----BEGIN PRIVATE KEY-----\n${line}`, line),
  "a PGP key": inText(
    `-----BEGIN PGP PRIVATE KEY BLOCK-----\n${line}\n-----END PGP PRIVATE KEY BLOCK-----`,
    line,
  ),
  "a PuTTY key": inText(`PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n${line}`, line),
  "a private key in base64": inText(inBase64(pem("", [line])), inBase64(pem("", [line])).slice(20)),
  "a private key in base64, over lines": inText(
    wrapped(inBase64(pem("RSA ", [line, line]))),
    wrapped(inBase64(pem("RSA ", [line, line]))).slice(-40, -10),
  ),
  "a bearer token": inText(`Bearer ${plain}`),
  "a bearer token in small letters": inText(`send bearer ${plain}`),
  "basic credentials": inText(`Basic ${inBase64(`me:${plain}`)}`, inBase64(`me:${plain}`)),
  "basic credentials in a text": inText(`send Basic ${inBase64("user:pass")} with it`, inBase64("user:pass")),
  "an address with a password": inText(`https://me:${plain}@example.com/x`),
  "a database with a password": inText(`postgres://me:${plain}@db:5432/app?sslmode=require`),
  "a password with a slash": inText("postgresql://me:hun/ter2@db/app", "hun/ter2"),
  "a password with an at": inText("mysql://me:p@hunter2@db/app", "hunter2"),
  "a password with both": inText("postgres://me:p@ss/hunter2@db/app"),
  "a password with a slash on the web": inText("https://me:hun/ter2@example.com", "hun/ter2"),
  "a password that is a number": inText("redis://me:123456@cache:6379/0", "123456"),
  "a password without a user": inText(`redis://:${plain}@cache:6379/0`),
  "a mongo address": inText(`mongodb+srv://me:${plain}@cluster0.example.net/?retryWrites=true`),
  "an amqp address in a text": inText(`connect to amqp://me:${plain}@mq:5672, then wait`),
  "a key as the user of an address": inText(
    `https://${body(32, "hex")}@o1.ingest.example.io/2`,
    body(32, "hex"),
  ),
  "a Go data source": inText(`root:${plain}@tcp(db:3306)/app?parseTime=true`),
  "an ADO connection": inText(`Server=db;Database=x;User Id=sa;Password=${plain};Encrypt=true`),
  "a libpq connection": inText(`host=db user=me password=${plain} dbname=x`),
  "a storage account": inText(
    `AccountName=x;AccountKey=${body(44, "lower")}==;EndpointSuffix=x`,
    body(44, "lower"),
  ),
  "a JDBC address": inText(`jdbc:sqlserver://db:1433;user=sa;password=${plain};encrypt=true`),
  "a token in a query": inText(`https://api.example.com/v1?token=${plain}&page=2`),
  "an api key in a query": inText(`https://api.example.com/v1?page=2&api_key=${plain}`),
  "an access token in a fragment": inText(`https://example.com/cb#access_token=${plain}&state=x`),
  "a signature in a query": inText("https://x.blob.example.net/c?sv=2022&sig=ab%2Bcd%3D", "ab%2Bcd%3D"),
  "a signed S3 address": inText(
    `https://b.s3.example.com/k?X-Amz-Expires=60&X-Amz-Signature=${body(20, "hex")}`,
    body(20, "hex"),
  ),
  "a Slack webhook": inText(`https://hooks.slack.com/services/T00/B00/${body(12)}`, body(12)),
  "a Discord webhook": inText(`https://discord.com/api/webhooks/1234/${body(30)}`, body(30)),
  "a Telegram address": inText(`https://api.telegram.org/bot99:${body(12)}/send`, body(12)),
  "a Teams webhook": inText(`https://acme.webhook.office.com/webhookb2/${body(12)}@x`, body(12)),
  "an assignment": inText(`export API_KEY=${plain}`),
  "an assignment in quotes": inText(`API_KEY="${plain} with spaces"`, "with spaces"),
  "an assignment in single quotes": inText(`DB_PASSWORD='${plain}'`),
  "an assignment in PowerShell": inText(`$env:API_KEY="${plain}"`),
  "a line of YAML": inText(`user: me\npassword: ${plain}\nhost: db`),
  "a passphrase of words": inText("user: me\npassphrase: correct horse battery staple", "battery"),
  "a nested line of YAML": inText(`auth:\n  - password: ${plain}`),
  "JSON inside a sentence": inText(`send {"apiKey": "${plain}"} to it`),
  "JSON in JSON in a sentence": inText(`send {\\"apiKey\\": \\"${plain}\\"} to it`),
  "a setting in brackets": inText(`config["token"] = "${plain}"`),
  "a hash rocket": inText(`:password => "${plain}"`),
  "a Go assignment": inText(`password := "${plain}"`),
  "two words": inText(`the api key: ${plain}`),
  "a password on its own": inText(`Password: ${plain}`),
  "an npmrc": inText(`//packages.example.com/:_authToken=${plain}`),
  "an npmrc of old": inText(
    `//packages.example.com/:_auth=${inBase64("me:hunter2")}`,
    inBase64("me:hunter2"),
  ),
  "a netrc": inText(`machine example.com login me password ${plain}`),
  "an option with =": inText(`run --token=${plain} --verbose`),
  "an option with a space": inText(`run --api-key ${plain} --verbose`),
  "an option with quotes": inText(`run --password "${plain} x" --verbose`),
  "an option with one dash": inText(`java -password ${plain}`),
  "a header of curl": inText(`curl -H "Authorization: Bearer ${plain}" https://example.com`),
  "another header of curl": inText(`curl -H 'X-Api-Key: ${plain}' https://example.com`),
  "a header with another scheme": inText(`Authorization: Token ${plain}`),
  "a signed header": inText(`Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=${plain}`),
  "a cookie": inText(`Cookie: a=1; sid=${plain}; b=2`),
  "a user of curl": inText(`curl -u me:${plain} https://example.com`),
  sshpass: inText(`sshpass -p ${plain} ssh host`),
  mysql: inText(`mysql -h db -u me -p${plain} app`),
  "an element": inText(`<server><password>${plain}</password></server>`),
  "an element with attributes": inText(`<property name="x"/><api-key type="a">${plain}</api-key>`),
  "a sentence": inText(`The password is ${plain}.`),
  "a sentence with quotes": inText(`The token is "swordfish", do not tell.`, "swordfish"),
  "a sentence about a key": inText(`your api key is ${body(12, "lower")}, keep it`, body(12, "lower")),
  "an encoded secret": inText(
    inBase64(`please use the password: ${plain}`),
    inBase64(`please use the password: ${plain}`),
  ),
  "a key in the middle of a text": inText(`line one\nuse ghp_${body(36)} to push\nline three`, body(36)),
  "two keys in a text": inText(`ghp_${body(36)} and AKIA${body(16, "upper")}`, body(16, "upper")),
  "JSON in a text": at("config", { config: `{"a":1,"token":"${plain}"}` }, plain),
  "an environment in JSON in a text": at("config", { config: '{"env":{"MODE":"swordfish"}}' }, "swordfish"),
  "a list of JSON in a text": at("config", { config: ` [{"password":"${plain}"}]` }, plain),
  "JSON in JSON": at(
    "config",
    { config: JSON.stringify({ inner: JSON.stringify({ token: plain }) }) },
    plain,
  ),
  "a number as password": at("password", { password: 31_337_000 }, "31337000"),
  "a number in an environment": at("env.PORT", { env: { PORT: 31_337 } }, "31337"),
  "a harmless looking variable": at("env.MODE", { env: { MODE: "swordfish" } }, "swordfish"),
  "a flag in an environment": at("env.YES", { env: { YES: true } }, "true"),
  "an environment by another name": at("environment.A", { environment: { A: plain } }, plain),
  "an environment of several": at("containerEnv.A", { containerEnv: { A: plain } }, plain),
  "variables of an environment": at("env_vars.A", { env_vars: { A: plain } }, plain),
  "a deep environment": at(
    "mcp.servers[0].env.A.b",
    { mcp: { servers: [{ env: { A: { b: plain } } }] } },
    plain,
  ),
  "an environment as a list": at("env[0]", { env: [`A=${plain}`, "HOME"] }, plain),
  "an environment as pairs": at("env[0].value", { env: [{ name: "A", value: plain }] }, plain),
  "an environment as lines": at("env", { env: `A=1\nB=${plain}\n` }, plain),
  "an environment as something": at("env", { env: `what is ${plain}` }, plain),
  "lines of an environment": at("fileEnv", { fileEnv: `A=${plain}` }, plain),
  "an option in a list": at("args[1]", { args: ["--api-key", plain] }, plain),
  "an option of several words in a list": at(
    "args[2]",
    { args: ["run", "--password", "a b swordfish"] },
    "swordfish",
  ),
  "an option with = in a list": at("args[0]", { args: [`--token=${plain}`] }, plain),
  "a header in a list": at("args[1]", { args: ["-H", `Authorization: Bearer ${plain}`] }, plain),
  "a user in a list": at("args[2]", { args: ["curl", "-u", `me:${plain}`] }, plain),
  "sshpass in a list": at("args[2]", { args: ["sshpass", "-p", plain, "ssh"] }, plain),
  "mysql in a list": at("args[3]", { args: ["mysql", "-u", "me", `-p${plain}`] }, plain),
  "an address in a list": at("args[1]", { args: ["--db", `postgres://me:${plain}@db/x`] }, plain),
  "a pair": at("headers[0].value", { headers: [{ name: "X-Api-Key", value: plain }] }, plain),
  "a pair by key": at("vars[0].value", { vars: [{ key: "GITHUB_TOKEN", value: plain }] }, plain),
  "a list of pairs": at("headers[0][1]", { headers: [["Authorization", plain]] }, plain),
  "an object of credentials": at("credentials.user.name", { credentials: { user: { name: plain } } }, plain),
  "a list of secrets": at("secrets[1]", { secrets: ["x", plain] }, plain),
  "tokens of several": at("tokens.github", { tokens: { github: plain, count: 5 } }, plain),
  "a docker login": at(
    "auths.host.auth",
    { auths: { host: { auth: inBase64("me:pw") } } },
    inBase64("me:pw"),
  ),
  "a user and a password": at("auth", { auth: `me:${plain}` }, plain),
  "a key that looks made": at("key", { key: body(24, "mixed", 2) }, body(24, "mixed", 2)),
  "a key of hexadecimal digits": at("datadog.key", { datadog: { key: body(32, "hex") } }, body(32, "hex")),
  "a signature that looks made": at("signature", { signature: body(28, "mixed", 7) }, body(28, "mixed", 7)),
  "a one-time code": at("otp", { otp: "493021" }, "493021"),
  "a pin": at("pin", { pin: "4930" }, "4930"),
  "a key id of somebody": at("accessKeyId", { accessKeyId: "LTAI5tSomething" }, "LTAI5tSomething"),
  "a secret as a key": at('users["[redacted]"]', { users: { [`ghp_${body(36)}`]: 1 } }, body(36)),
  "a name with a dot": at('["smtp.password"]', { "smtp.password": plain }, plain),
  "a secret under __proto__": at("__proto__.token", JSON.parse(`{"__proto__":{"token":"${plain}"}}`), plain),
  "a service account": at(
    "google",
    { google: JSON.stringify({ type: "service_account", private_key: pem("", [line]) }) },
    line,
  ),
};

/** Each provider's key in each place, each name in each place, and all samples written by hand. */
export function secretSamples(): SecretSample[] {
  const keys = Object.entries(providerKeys).flatMap(([about, key]): SecretSample[] =>
    [
      at("note", { note: key }, key),
      at("a.b[1].c", { a: { b: [0, { c: key }] } }, key),
      at("[0][0]", [[key]], key),
      at("args[2]", { args: ["run", "--with", key] }, key),
      at("prompt", { prompt: `Please use ${key} for it.` }, key),
      at("config", { config: JSON.stringify({ x: key }) }, key),
      ...(about === "aws secret" || /^(?:session token|random)/.test(about)
        ? []
        : [at("url", { url: `https://example.com/${key}/x` }, key)]),
    ].map((sample) => ({ about: `${about} at ${sample.path}`, ...sample })),
  );
  const names = secretNames.flatMap((name): SecretSample[] => {
    const step = /^[A-Za-z_$][\w$-]*$/.test(name) ? name : `[${JSON.stringify(name)}]`;
    const dot = step.startsWith("[") ? "" : ".";
    return (
      [
        at(step, { [name]: "swordfish" }, "swordfish"),
        at(`a${dot}${step}`, { a: { [name]: "swordfish" } }, "swordfish"),
        at(`list[2]${dot}${step}`, { list: [0, 0, { [name]: "swordfish" }] }, "swordfish"),
        at(`${step}[0].x`, { [name]: [{ x: "swordfish" }] }, "swordfish"),
        at("args[1]", { args: [`--${name.replaceAll(".", "-")}`, "swordfish"] }, "swordfish"),
        at("text", { text: `${name}=swordfish` }, "swordfish"),
        at("text", { text: `"${name}": "swordfish"` }, "swordfish"),
      ]
        // What reads one way as a name of its own reads another way inside a text.
        .filter(({ path }) => path !== `${step}[0].x` || !/pwd$/i.test(name))
        .map((sample) => ({ about: `${name} at ${sample.path}`, ...sample }))
    );
  });
  const own = Object.entries(handwritten).map(([about, sample]) => ({ about, ...sample }));
  return [...keys, ...names, ...own];
}
