import type { Price, ProviderConfig } from "../contract/providers.ts";
import type { TokensUsed } from "./dialects.ts";

/**
 * What tokens cost. The board's own prices come first, then the list of `@pydantic/genai-prices`, which is dated by its
 * version. A model without a price can't be used, so nothing is free by mistake.
 */
export type Priced = (tokens: TokensUsed) => number;

type Listed = import("@pydantic/genai-prices").PriceCalculation;
let list: Promise<typeof import("@pydantic/genai-prices")> | undefined;

/** Finds the model in the list, and the cost of these tokens. */
async function listOf(
  provider: string,
  config: ProviderConfig,
  model: string,
): Promise<(tokens: TokensUsed) => Listed | null> {
  // Loaded at the first use: the list is large.
  const { calcPrice } = await (list ??= import("@pydantic/genai-prices"));
  return (tokens) => {
    const usage = {
      input_tokens: tokens.input + tokens.cacheRead + tokens.cacheWrite,
      cache_read_tokens: tokens.cacheRead,
      cache_write_tokens: tokens.cacheWrite,
      output_tokens: tokens.output,
    };
    return (
      calcPrice(usage, model, { providerApiUrl: config.baseUrl }) ??
      calcPrice(usage, model, { providerId: config.login === undefined ? provider : "openai" })
    );
  };
}

const oneToken: TokensUsed = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };

/** Undefined if the price is not known. Amounts are in millionths of a dollar. */
export async function priceOf(
  provider: string,
  config: ProviderConfig,
  model: string,
): Promise<Priced | undefined> {
  const own = config.models?.[model]?.price;
  if (own !== undefined) return (tokens) => Math.ceil(withHours((one) => withPrice(own, one), tokens));
  const listed = await listOf(provider, config, model);
  // The list also has models without a known price, and computes a cost of 0 for them. Only the board can set a price of 0.
  const isFree = (some: Partial<TokensUsed>): boolean => !listed({ ...oneToken, ...some })?.total_price;
  if (isFree({ output: 0 }) || isFree({ input: 0 })) return undefined;
  const total = (tokens: TokensUsed): number => (listed(tokens)?.total_price ?? 0) * 1e6;
  return (tokens) => Math.ceil(withHours(total, tokens));
}

/** Tokens that a cache keeps for an hour cost twice as much as input, and never less than those kept for five minutes. */
function withHours(total: (tokens: TokensUsed) => number, tokens: TokensUsed): number {
  const { hourWrite = 0 } = tokens;
  if (hourWrite === 0) return total(tokens);
  const others = { ...tokens, cacheWrite: tokens.cacheWrite - hourWrite };
  const asInput = total({ ...others, input: others.input + hourWrite });
  return Math.max(2 * asInput - total(others), total(tokens));
}

/** For a model of unknown context size. */
const usualContext = 128_000;

/** OpenAI's models read this many tokens at the usual price. The list also counts the output, or tokens at twice the price. */
const mostOfOpenAi = 272_000;

/** The size of the model's context in tokens. Brains are told this number, and the gateway measures against it. */
export async function contextTokensOf(
  provider: string,
  config: ProviderConfig,
  model: string,
): Promise<number> {
  const own = config.models?.[model]?.contextTokens;
  if (own !== undefined) return own;
  const listed = (await listOf(provider, config, model))(oneToken);
  const tokens = listed?.model.context_window ?? usualContext;
  return listed?.provider.id === "openai" ? Math.min(tokens, mostOfOpenAi) : tokens;
}

/** The most tokens that the model could read at once, even if it is told to use fewer. */
export async function windowTokensOf(
  provider: string,
  config: ProviderConfig,
  model: string,
): Promise<number> {
  const listed = (await listOf(provider, config, model))(oneToken)?.model.context_window;
  return Math.max(listed ?? 0, await contextTokensOf(provider, config, model));
}

function withPrice(price: Price, { input, output, cacheRead, cacheWrite }: TokensUsed): number {
  // Dollars for a million tokens equal millionths of a dollar for one.
  return (
    input * price.input +
    output * price.output +
    cacheRead * (price.cacheRead ?? price.input) +
    cacheWrite * (price.cacheWrite ?? price.input)
  );
}
