import type { ModelApi } from "../brains/brain.ts";
import { bookAlone, lacksFor } from "../budgets/reservations.ts";
import type { ProviderConfig } from "../contract/providers.ts";
import { writeIn } from "../dispatch/context.ts";
import { callEnd } from "./call-files.ts";
import { bookedEnd } from "./calls.ts";
import { endpointOf, type Listener, noTokens, type TokensUsed } from "./dialects.ts";
import { ask, type GatewayParts, Refused } from "./gateway.ts";
import { credentialFor } from "./model-credentials.ts";
import { contextTokensOf, priceOf } from "./prices.ts";
import { messageIn } from "./provider-waits.ts";
import { providerOf } from "./providers.ts";
import { eventsIn } from "./server-events.ts";
import * as texts from "./texts.ts";
import { countTokens } from "./token-count.ts";

/**
 * One small question to a model, to find out whether a brain can work. It takes the way of a session's calls: the company's
 * provider, key, models, prices and budget. What it uses is booked for the root agent.
 */
export interface Trial {
  readonly companyId: string;
  readonly agentId: string;
  readonly type: string;
  readonly provider: string;
  /** The API that the brain's sessions ask. */
  readonly api: ModelApi;
  /** Null: the provider's default. */
  readonly model: string | null;
}

export type Tried =
  | {
      readonly works: true;
      readonly model: string;
      readonly tokens: number;
      readonly costUsd: number;
      readonly milliseconds: number;
    }
  | {
      readonly works: false;
      readonly model: string | null;
      readonly says: string;
      readonly remedy: string;
    };

/** A model that takes longer for one word is of no use to an agent. */
const patience = 60_000;
/** More than the answer takes, also of a model that thinks first, and less than anyone notices. */
const mostOutput = 2000;

export async function tryModel(parts: GatewayParts, trial: Trial): Promise<Tried> {
  const { store, newId } = parts;
  const { companyId, provider, type } = trial;
  const config = await store.read((tx) => providerOf(tx, companyId, provider));
  const model = trial.model ?? config?.defaultModel ?? null;
  const fails = (says: string, remedy: string): Tried => ({ works: false, model, says, remedy });
  if (config === undefined) return fails(texts.noProvider(provider), texts.remedies.provider);
  const { dialect, path, body } = questions[trial.api];
  if (dialect !== config.dialect)
    return fails(texts.dialectNotSpoken(provider, config.dialect), texts.remedies.provider);
  if (model === null) return fails(texts.noModel(provider), texts.remedies.model(type));
  if (config.models !== undefined && !(model in config.models))
    return fails(texts.modelNotAllowed(model, Object.keys(config.models)), texts.remedies.model(type));
  const price = await priceOf(provider, config, model);
  if (price === undefined) return fails(texts.noPrice(model), texts.remedies.provider);
  const credential = await credentialFor(parts, companyId, config);
  if ("says" in credential) return fails(credential.says, "");
  const contextTokens = await contextTokensOf(provider, config, model);
  const endpoint = endpointOf(config, "POST", path);
  const asked = endpoint?.asks?.({ ...body, model }, { contextTokens, baseUrl: config.baseUrl });
  if (endpoint === undefined || asked === undefined)
    return fails(texts.dialectNotSpoken(provider, config.dialect), texts.remedies.provider);
  const reads = { input: countTokens(asked.body), output: asked.mostOutput };
  const most = { usd: price({ ...noTokens, ...reads }), tokens: reads.input + reads.output };
  const lacks = await store.read((tx) => lacksFor(tx, companyId, trial.agentId, most));
  if (lacks !== undefined) return fails(texts.budgetTooSmall(lacks), texts.remedies.budget);

  const begun = performance.now();
  const timeout = AbortSignal.timeout(patience);
  const closing = parts.closing === undefined ? timeout : AbortSignal.any([parts.closing, timeout]);
  const request = { method: "POST", url: path, headers: headersFor(credential.key) };
  let answer: Response;
  try {
    answer = await ask(
      { ...parts, closing },
      { config, companyId, provider },
      { request, path },
      credential,
      asked.body,
      1,
    );
  } catch (error) {
    if (timeout.aborted)
      return fails(texts.providerSilent(provider, patience / 1000), texts.remedies.provider);
    if (!(error instanceof Refused)) throw error;
    return fails(error.message, texts.remedies.server(config.baseUrl));
  }
  if (!answer.ok) return { ...refusedBy(answer.status, messageIn(await answer.text())), works: false, model };
  const used = await usedIn(answer, endpoint.listens?.(), reads);
  const cost = price(used);
  await writeIn(store, companyId, newId, (writing) =>
    bookAlone(writing, trial.agentId, {
      input_tokens: used.input + used.cacheRead + used.cacheWrite,
      output_tokens: used.output,
      usd: cost,
    }),
  );
  return {
    works: true,
    model,
    tokens: used.input + used.cacheRead + used.cacheWrite + used.output,
    costUsd: cost / 1e6,
    milliseconds: Math.round(performance.now() - begun),
  };

  function refusedBy(status: number, says: string): { says: string; remedy: string } {
    if (status === 401 || status === 403)
      return { says: texts.providerRefuses(provider, says), remedy: texts.remedies.key(config) };
    if (status === 429 || status === 529 || status === 503)
      return { says: texts.providerBusy(provider, says), remedy: texts.remedies.wait };
    if ((status === 404 || status === 400) && /model/i.test(says))
      return { says: texts.modelUnknown(provider, model ?? "", says), remedy: texts.remedies.model(type) };
    return { says: texts.providerFails(provider, status, says), remedy: texts.remedies.provider };
  }
}

async function usedIn(
  answer: Response,
  listener: Listener | undefined,
  most: Parameters<typeof bookedEnd>[1],
): Promise<TokensUsed> {
  const events = eventsIn(answer.headers.get("content-type") ?? "", (data) => listener?.heard(data));
  for await (const chunk of answer.body ?? []) events.write(chunk);
  events.end();
  return bookedEnd(callEnd("done", listener), most).tokens;
}

const question = "Reply with the word OK.";

/** The same question in each API. All of them stream, because some providers answer in no other way. */
const questions: Readonly<
  Record<Trial["api"], { dialect: ProviderConfig["dialect"]; path: string; body: object }>
> = {
  messages: {
    dialect: "anthropic",
    path: "/v1/messages",
    body: {
      max_tokens: 16,
      stream: true,
      // Without it, a token of a subscription is not taken.
      system: "You are Claude Code, Anthropic's official CLI for Claude.",
      messages: [{ role: "user", content: question }],
    },
  },
  responses: {
    dialect: "openai",
    path: "/v1/responses",
    body: {
      stream: true,
      store: false,
      max_output_tokens: mostOutput,
      instructions: "Answer in one word.",
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: question }] }],
    },
  },
  chat: {
    dialect: "openai",
    path: "/v1/chat/completions",
    body: {
      stream: true,
      max_tokens: mostOutput,
      messages: [{ role: "user", content: question }],
    },
  },
};

const headersFor = (key: string | undefined): Record<string, string> => ({
  "content-type": "application/json",
  accept: "text/event-stream",
  "anthropic-version": "2023-06-01",
  ...(key?.startsWith("sk-ant-oat") === true ? { "anthropic-beta": "oauth-2025-04-20" } : {}),
});
