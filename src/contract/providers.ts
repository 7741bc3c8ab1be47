import { z } from "zod";
import { operation } from "./operation.ts";
import { SecretName } from "./secrets.ts";
import { CompanyId, nextCursor } from "./words.ts";

/** The addresses of models. A brain's configuration only names a provider, so it can't send a key elsewhere. */

const providerDialects = ["anthropic", "openai"] as const;
export type ProviderDialect = (typeof providerDialects)[number];

const PerMillion = z.number().min(0).max(1e6).describe("US dollars for a million tokens.");

export const Price = z.strictObject({
  input: PerMillion,
  output: PerMillion,
  cacheRead: PerMillion.optional().describe("Input that is read from a cache. Default: as input."),
  cacheWrite: PerMillion.optional().describe("Input that is written to a cache. Default: as input."),
});
export type Price = z.infer<typeof Price>;

export const ModelName = z
  .string()
  .regex(/^[\w.:/@+-]{1,200}$/, "up to 200 letters, digits and . : / @ + - _")
  .describe("Name of a model, as the provider calls it.");

const isLoginAddress = ({ protocol, hostname }: URL): boolean =>
  ["127.0.0.1", "[::1]", "localhost"].includes(hostname) ||
  (protocol === "https:" && /^(?:[\w-]+\.)*chatgpt\.com$/.test(hostname));

const Settings = z.strictObject({
  dialect: z
    .enum(providerDialects)
    .describe(
      "API that the provider speaks. anthropic: messages. openai: responses and chat completions, which most servers speak.",
    ),
  baseUrl: z
    .url({ protocol: /^https?$/, error: "an http or https URL" })
    .describe("Address without /v1, for example https://api.anthropic.com or http://127.0.0.1:11434."),
  secret: SecretName.optional().describe(
    "Name of the secret with the provider's key. Default: the provider needs no key.",
  ),
  login: z
    .literal("codex")
    .optional()
    .describe(
      "codex: the secret is the path of the file auth.json in which Codex keeps its login with ChatGPT. Only for chatgpt.com.",
    ),
  models: z
    .record(
      ModelName,
      z.strictObject({
        price: Price.optional().describe("Default: the price in the built-in list."),
        contextTokens: z
          .number()
          .int()
          .min(1000)
          .max(1e9)
          .optional()
          .describe(
            "Size of the context in tokens. Default: as in the built-in list, at most 272,000 for OpenAI, or 128,000.",
          ),
      }),
    )
    .optional()
    .describe("Models that may be used, with their prices. Default: every model with a known price."),
  defaultModel: ModelName.optional().describe("For agents without a model."),
  mostOfWindows: z
    .number()
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(
      "For a subscription: how many percent of its windows (5 hours, week) the agents may use. Default: 100.",
    ),
});

/** A login must only be sent to the address that it is for. */
export const ProviderConfig = Settings.refine(
  ({ login, dialect, secret, baseUrl }) =>
    login === undefined || (dialect === "openai" && secret !== undefined && isLoginAddress(new URL(baseUrl))),
  { path: ["login"], error: "only with the dialect openai, a secret, and an https address of chatgpt.com" },
);
export type ProviderConfig = z.infer<typeof ProviderConfig>;

export const ProviderName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, "up to 40 small letters, digits and hyphens, starting with a letter");

const Provider = z.object({
  name: z.string(),
  config: ProviderConfig,
  builtIn: z.boolean().describe("True if it has its default configuration."),
  status: z.enum(["ready", "no_key", "signed_out", "refused", "waiting"]),
  says: z.string().describe("Why it can't be used now, or an empty text."),
  until: z.string().nullable().describe("When it can be used again, if that is known."),
  windows: z
    .array(
      z.object({
        name: z.string().describe('Such as "5 hours" or "week".'),
        usedPercent: z.number(),
        resetsAt: z.string(),
      }),
    )
    .describe("How much of a subscription is used, as the provider last said. Empty without a subscription."),
});
export type Provider = z.infer<typeof Provider>;

export const putProvider = operation("provider.put", "PUT /api/companies/:companyId/providers/:name", {
  summary: "Add a provider of models to the company, or replace its configuration.",
  input: z.strictObject({
    companyId: CompanyId,
    name: ProviderName.describe("Name of the provider; brain configurations use it."),
    config: ProviderConfig.describe(
      'Address, dialect, key and models with prices, as JSON: {"dialect":"openai","baseUrl":"http://127.0.0.1:11434","defaultModel":"qwen3"}.',
    ),
  }),
  output: Provider,
});

export const listProviders = operation("provider.list", "GET /api/companies/:companyId/providers", {
  summary: "List the providers of models and whether they can be used.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ providers: z.array(Provider), nextCursor }),
  cli: { command: "providers list" },
});

export const removeProvider = operation(
  "provider.remove",
  "DELETE /api/companies/:companyId/providers/:name",
  {
    summary: "Remove a provider. A built-in one gets its default configuration back.",
    input: z.strictObject({ companyId: CompanyId, name: ProviderName.describe("Name of the provider.") }),
    output: Provider,
    cli: { command: "providers remove <name>", example: "local" },
  },
);
