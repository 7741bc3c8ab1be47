import type { ProviderConfig } from "../contract/providers.ts";
import { trialSpender } from "./calls.ts";
import { costsNothing, endpointOf } from "./dialects.ts";
import {
  priceAllowed,
  askProvider,
  jsonBodyOf,
  type Exchange,
  type GatewayParts,
  ownModel,
  pass,
  CallRefused,
} from "./forwarding.ts";
import { metered, OverBudget } from "./metering.ts";
import { credentialFor } from "./model-credentials.ts";
import { contextTokensOf, windowTokensOf } from "./prices.ts";
import { messageIn } from "./provider-waits.ts";
import * as texts from "./texts.ts";

/**
 * The calls of a brain under test (daemon/trial-sessions.ts). They pass the same way as the calls of a session: the same
 * program asks the same address, and the company's provider, key, models, prices and budget apply. There is no session row, so
 * usage is reserved and booked for the root agent. A provider that refused or asked to wait is asked nevertheless: the test
 * finds out whether that has changed.
 */
export interface OpenTrial {
  readonly companyId: string;
  /** The root agent. */
  readonly agentId: string;
  readonly type: string;
  /** The configuration as JSON. */
  readonly config: string;
  /** Null for the provider's default. */
  readonly model: string | null;
  /** The results of the calls so far. */
  readonly calls: TrialCall[];
}

export type TrialCall =
  | {
      readonly works: true;
      readonly provider: string;
      readonly model: string;
      readonly tokens: number;
      readonly costUsd: number;
    }
  | {
      readonly works: false;
      readonly provider: string;
      readonly model: string | null;
      readonly says: string;
      readonly remedy: string;
    };

interface TrialPlace {
  readonly config: ProviderConfig;
  readonly provider: string;
}

export async function forwardTrial(
  parts: GatewayParts,
  trial: OpenTrial,
  { config, provider }: TrialPlace,
  exchange: Exchange,
): Promise<void> {
  const { companyId, agentId, type } = trial;
  const { request, response, path } = exchange;
  const model = ownModel(parts, trial, { config, provider }) ?? null;
  const failed = (says: string, remedy: string): void =>
    void trial.calls.push({ works: false, provider, model, says, remedy });
  const method = request.method ?? "GET";
  if (method === "HEAD") return void response.writeHead(200).end();
  let remedy = texts.remedies.model(type);
  try {
    if (model === null) throw new CallRefused(403, texts.noModel(provider));
    const contextTokens = await contextTokensOf(provider, config, model);
    if (method === "GET" && path === "/")
      return void response.end(JSON.stringify({ dialect: config.dialect, model, contextTokens }));
    const endpoint = endpointOf(config, method, path);
    if (endpoint === undefined) throw new CallRefused(404, texts.noEndpoint(`${method} ${path}`));
    const credential = await credentialFor(parts, companyId, config);
    if ("says" in credential) {
      remedy = "";
      throw new CallRefused(401, credential.says);
    }
    const place = { config, companyId, provider };
    remedy = texts.remedies.server(config.baseUrl);
    if (endpoint.asks === undefined)
      return await pass(
        await askProvider(parts, place, exchange, credential, null, 1),
        response,
        () => undefined,
      );
    const asked = endpoint.asks(await jsonBodyOf(exchange), {
      contextTokens,
      windowTokens: await windowTokensOf(provider, config, model),
      baseUrl: config.baseUrl,
    });
    remedy = texts.remedies.model(type);
    const price = await priceAllowed(parts, { config, provider, own: model, agentId }, asked);
    remedy = texts.remedies.server(config.baseUrl);
    if (costsNothing(endpoint))
      return await pass(
        await askProvider(parts, place, exchange, credential, asked.body, 1),
        response,
        () => undefined,
      );
    const spender = { id: trialSpender(parts.nodeId, companyId), agentId, outcomeId: null };
    const listener = endpoint.listens?.();
    await metered(parts, place, exchange, {
      spender,
      credential,
      asked,
      price,
      listener,
      mostTries: 1,
      onRefusal: async (answer) => {
        const refused = refusedBy(answer.status, messageIn(await answer.clone().text()));
        failed(refused.says, refused.remedy);
      },
      onBooked: ({ input, cacheRead, cacheWrite, output }, cost) => {
        const tokens = input + cacheRead + cacheWrite + output;
        trial.calls.push({ works: true, provider, model, tokens, costUsd: cost / 1e6 });
      },
    });
  } catch (error) {
    if (error instanceof OverBudget) remedy = texts.remedies.budget;
    if (error instanceof CallRefused && error.status !== 404)
      failed(error.message, error.message === texts.noPrice(model ?? "") ? texts.remedies.provider : remedy);
    throw error;
  }

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
