import { isKeyLike } from "./key-like.ts";
import { pattern, type TextRule } from "./texts.ts";

/**
 * Keys that say by their beginning whose they are. Publishable keys (`pk_live_…`) are made to be shown and stay.
 * Each begins where a word begins; a body is never followed by a demand, so that no look is taken twice.
 */
const begin = "(?<![A-Za-z0-9])";

const shapes: Readonly<Record<string, string>> = {
  agency: "agk_[\\w-]{16,}",
  "sk- of a provider": "sk-(?:ant|proj|svcacct|admin|or|lf|live|test|service)[a-z0-9]{0,8}-[\\w-]{4,}",
  "sk-": "sk-(?:[A-Za-z0-9]{16,}|(?=[\\w-]{0,64}\\d)[\\w-]{8,})",
  "OpenAI session": "sess-[A-Za-z0-9]{24,}",
  GitHub: "gh[pousr]_[A-Za-z0-9]{10,}",
  "GitHub fine-grained": "github_pat_\\w{10,}",
  GitLab: "gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas|imt|ffct)-[\\w.-]{8,}",
  Bitbucket: "ATBB[A-Za-z0-9]{24,}",
  Slack: "xox[abceoprs]-[\\w-]{8,}",
  "Slack app": "xapp-\\d-[\\w-]{8,}",
  "AWS key id": "(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{12,}",
  "Google key": "AIza[\\w-]{20,}",
  "Google access": "ya29\\.[\\w-]{10,}",
  "Google client": "GOCSPX-[\\w-]{10,}",
  "Google refresh": "1//0[\\w-]{20,}",
  npm: "npm_[A-Za-z0-9]{16,}",
  "Hugging Face": "(?:hf|api_org)_[A-Za-z0-9]{16,}",
  PyPI: "pypi-(?:AgE[\\w-]{8,}|(?=[\\w-]{0,40}\\d)[\\w-]{20,})",
  RubyGems: "rubygems_[a-f0-9]{32,}",
  Crates: "cio[A-Za-z0-9]{32,}",
  SendGrid: "SG\\.[\\w-]{6,}\\.[\\w-]{6,}",
  Stripe: "[sr]k_(?:live|test)_[A-Za-z0-9]{8,}",
  "Stripe webhook": "whsec_[A-Za-z0-9+/]{10,}",
  Shopify: "shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}",
  DigitalOcean: "do[opr]_v1_[a-f0-9]{16,}",
  Square: "sq0(?:atp|csp|idp)-[\\w-]{16,}",
  Twilio: "SK[0-9a-f]{32}",
  Mailgun: "key-[0-9a-f]{32}",
  Mailchimp: "[0-9a-f]{32}-us\\d{1,2}",
  Brevo: "xkeysib-[\\w-]{20,}",
  Resend: "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,}",
  Telegram: "\\d{8,10}:AA[\\w-]{30,}",
  "Discord bot": "[MNO][A-Za-z0-9_-]{23,25}\\.[\\w-]{6}\\.[\\w-]{27,}",
  Linear: "lin_(?:api|oauth)_[A-Za-z0-9]{16,}",
  Notion: "(?:secret|ntn)_[A-Za-z0-9]{32,}",
  Airtable: "pat[A-Za-z0-9]{14}\\.[a-f0-9]{32,}",
  Atlassian: "AT[AC]TT3[\\w=-]{20,}",
  HubSpot: "pat-(?:na|eu|ap)\\d-[0-9a-f-]{32,}",
  Databricks: "dapi[a-f0-9]{32}",
  Doppler: "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9._-]{16,}",
  Dynatrace: "dt0[a-z]\\d\\d\\.[A-Z0-9]{16,}\\.[A-Z0-9]{32,}",
  Fly: "(?:fo1|fm[12])_[A-Za-z0-9+/=_,-]{20,}",
  Grafana: "(?:glsa|glc)_[A-Za-z0-9+/=_]{20,}",
  Vault: "hv[sbr]\\.[\\w-]{20,}",
  Terraform: "[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{40,}",
  "New Relic": "NRAK-[A-Z0-9]{20,}",
  PlanetScale: "pscale_(?:tkn|oauth|pw)_[\\w.-]{16,}",
  Postman: "PMAK-[a-f0-9]{24}-[a-f0-9]{32,}",
  Pulumi: "pul-[a-f0-9]{40}",
  Replicate: "r8_[A-Za-z0-9]{20,}",
  Groq: "gsk_[A-Za-z0-9]{20,}",
  xAI: "xai-[A-Za-z0-9]{20,}",
  Perplexity: "pplx-[A-Za-z0-9]{20,}",
  Fireworks: "fw_[A-Za-z0-9]{20,}",
  LangSmith: "lsv2_(?:pt|sk)_\\w{20,}",
  Pinecone: "pcsk_\\w{20,}",
  Tavily: "tvly-[\\w-]{20,}",
  Supabase: "(?:sbp_[a-f0-9]{32,}|sb_secret_[\\w-]{16,})",
  Neon: "napi_[a-z0-9]{32,}",
  Sentry: "sntry[su]_[A-Za-z0-9+/=_-]{20,}",
  Sonar: "sq[apu]_[a-f0-9]{40}",
  Tailscale: "tskey-[a-z]{2,12}-[\\w-]{12,}",
  "1Password": "ops_eyJ[\\w-]{20,}",
  age: "AGE-SECRET-KEY-1[A-Z0-9]{20,}",
  Docker: "dckr_(?:pat|oat)_[\\w-]{16,}",
  Contentful: "CFPAT-[\\w-]{20,}",
  Facebook: "EAA[A-Za-z0-9]{40,}",
  "Azure client": "[\\w~.-]{3}\\dQ~[\\w~.-]{30,}",
};

/** The path of an incoming webhook is all that guards it. */
const webhooks =
  "hooks\\.slack\\.com/(?:services|workflows|triggers)/|discord(?:app)?\\.com/api/webhooks/|hooks\\.zapier\\.com/hooks/catch/|(?<![a-z0-9-])[a-z0-9-]{1,60}\\.webhook\\.office\\.com/webhookb2/|outlook\\.office\\.com/webhook/|api\\.telegram\\.org/bot";

export const providerRules: readonly TextRule[] = [
  ...Object.entries(shapes).map(([name, shape]): TextRule => {
    const rule = pattern(name, new RegExp(`${begin}${shape}`, "g"));
    // Most texts have no key of most providers: to look for how they begin is many times as fast.
    const [beginning = ""] = /^[\w-]*/.exec(shape) ?? [];
    return { ...rule, find: (text, among) => (text.includes(beginning) ? rule.find(text, among) : []) };
  }),
  pattern("webhook", new RegExp(`((?:${webhooks}))[\\w/.:@%-]{6,}`, "g")),
  // Whoever's it is: a name, what it is for, and a body that nobody would type.
  {
    on: "text",
    name: "key of somebody else",
    *find(text) {
      const shape = new RegExp(
        `${begin}((?!pk_)[a-z][a-z0-9]{1,11}_(?:live|prod|secret|sk|pat|key|token|api)_)([A-Za-z0-9]{16,})`,
        "g",
      );
      for (const { 0: whole, 2: body = "", index } of text.matchAll(shape))
        if (isKeyLike(body)) yield [index, index + whole.length];
    },
  },
];
