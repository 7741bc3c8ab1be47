import { looksMade, type Shape } from "./values.ts";

/**
 * Prefixes of well-known tokens whose body is letters and digits. Publishable keys (`pk_live_…`) are public and stay. Every
 * pattern starts at the beginning of a word and has bounded lookaheads, which keeps the scan linear.
 */
const beginnings = `
ghp_ gho_ ghu_ ghs_ ghr_ agk_ agb_ npm_ rubygems_ sess- hf_ api_org_ r8_ gsk_ xai- pplx- fw_ csk- rpa_ jina_ nvapi- tgp_v1_ pcsk_
lsv2_pt_ lsv2_sk_ sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ whsec_ shpat_ shpca_ shppa_ shpss_ dop_v1_ doo_v1_ dor_v1_ xkeysib-
lin_api_ lin_oauth_ lin_wh_ ntn_ secret_ fo1_ fm1_ fm2_ fm1r_ glsa_ glc_ pscale_tkn_ pscale_pw_ pscale_oauth_ pul-
sbp_ napi_ sntrys_ sntryu_ squ_ sqp_ sqa_ bkua_ rnd_ nfp_ nfc_ vcp_ vca_ lip_ phx_ phs_ cfut_ cfat_ cfk_ ATBB ATATT3 ATCTT3 AKCp`;

/** One line for each provider whose tokens have another shape. */
const shapes = String.raw`
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
  `(?<![A-Za-z0-9])(?:(?:${beginnings.trim().split(/\s+/).join("|")})(?:[A-Za-z0-9]{20,}|(?=[a-z]{0,20}[A-Z\\d])[A-Za-z0-9]{12,})[\\w.~+/=-]*|${shapes
    .split("\n")
    .slice(1)
    .map((line) => line.replace(/^\S+\s+/, ""))
    .join("|")})`,
  "g",
);

/** All tokens: by prefix, by a part in the middle, private keys, and webhooks, which are protected only by their path. */
export const tokenShapes: readonly Shape[] = [
  ["", known],
  [":AA", /(?<!\w)\d{8,10}:AA[\w-]{30,}/g], // Telegram
  ["-us", /(?<!\w)[0-9a-f]{32}-us\d{1,2}/g], // Mailchimp
  [".atlasv1.", /(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}/g], // Terraform
  ["Q~", /(?<!\w)[\w~.-]{3}\dQ~[\w~.-]{30,}/g], // Azure
  ["AC", /(?<kept>\bAC[0-9a-f]{32}:)(?<secret>[0-9a-f]{32})/g], // Twilio
  ["PuTTY", /(?<kept>PuTTY-User-Key-File-\d)(?<secret>[^]+)/g],
  [
    "PRIVATE KEY",
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,9}-----[^]*?(?:-----END [A-Z0-9 ]{0,40}-----|$)/g,
  ],
  ["LS0tLS1CRUdJTi", /LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[\w+/=-]+(?:\r?\n[\w+/=-]+)*/g],
  [
    "//",
    /(?<kept>(?:slack|discord|discordapp|zapier|office)\.com\/(?:\w{1,20}\/)?(?:services|workflows|triggers|webhooks|catch|webhookb2|webhook)\/)(?<secret>[\w/.:@%-]{6,})/g,
  ],
  ["telegram", /(?<kept>telegram\.org\/bot)(?<secret>[\w:-]{6,})/g],
  // A token of a provider that is not in the list: a name, what the token is for, and a long random body.
  [
    "_",
    /(?<![A-Za-z0-9])(?!pk_)[a-z][a-z0-9]{1,11}_(?:live|prod|secret|sk|pat|key|token|api)_[A-Za-z0-9]{16,}/g,
    (token) => looksMade(token.replace(/^.*_/, "")),
  ],
];
