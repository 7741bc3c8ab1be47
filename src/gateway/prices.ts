import type { Price, ProviderConfig } from "../contract/providers.ts";
import type { TokensUsed } from "./dialects.ts";

/**
 * What tokens cost. The board's own prices come first, then the list of `@pydantic/genai-prices`, which is dated by its version.
 * A model without a price is not used: nothing is free by mistake.
 */
export type Priced = (tokens: TokensUsed) => number;

type Listed = import("@pydantic/genai-prices").PriceCalculation;
let list: Promise<typeof import("@pydantic/genai-prices")> | undefined;

/** Finds the model in the list, with what these tokens cost. */
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
  // The list also has models whose price it does not know, as if they cost nothing. A price of 0 is for the board to set.
  const isFree = (some: Partial<TokensUsed>): boolean => !listed({ ...oneToken, ...some })?.total_price;
  if (isFree({ output: 0 }) || isFree({ input: 0 })) return undefined;
  const total = (tokens: TokensUsed): number => (listed(tokens)?.total_price ?? 0) * 1e6;
  return (tokens) => Math.ceil(withHours(total, tokens));
}

/** What a cache keeps for an hour costs twice as much as input, and never less than what it keeps for five minutes. */
function withHours(total: (tokens: TokensUsed) => number, tokens: TokensUsed): number {
  const { hourWrite = 0 } = tokens;
  if (hourWrite === 0) return total(tokens);
  const others = { ...tokens, cacheWrite: tokens.cacheWrite - hourWrite };
  const asInput = total({ ...others, input: others.input + hourWrite });
  return Math.max(2 * asInput - total(others), total(tokens));
}

/** For a model whose context is not known. */
const usualContext = 128_000;

/** OpenAI's models read this much at the usual price. The list counts what they can write as well, or what costs twice as much. */
const mostOfOpenAi = 272_000;

/** How many tokens the model's context has. What brains are told and what the gateway measures against are this number. */
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

/** The most that the model could read at once, also if it is told to use less. */
export async function windowTokensOf(
  provider: string,
  config: ProviderConfig,
  model: string,
): Promise<number> {
  const listed = (await listOf(provider, config, model))(oneToken)?.model.context_window;
  return Math.max(listed ?? 0, await contextTokensOf(provider, config, model));
}

function withPrice(price: Price, { input, output, cacheRead, cacheWrite }: TokensUsed): number {
  // Dollars for a million tokens are millionths of a dollar for one.
  return (
    input * price.input +
    output * price.output +
    cacheRead * (price.cacheRead ?? price.input) +
    cacheWrite * (price.cacheWrite ?? price.input)
  );
}
