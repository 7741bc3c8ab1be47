import type { IncomingMessage, ServerResponse } from "node:http";
import type { ProviderDialect, ProviderConfig } from "../contract/providers.ts";
import { agentById, type AgentRow } from "../agents/table.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { callContext } from "../dispatch/context.ts";
import type { Caller } from "../dispatch/identity.ts";
import { companyIsFrozen } from "../dispatch/texts.ts";
import { redactText } from "../redaction/redact.ts";
import type { Row } from "../store/schema.ts";
import { sessionRow } from "../store/row-by-id.ts";
import { Bookings } from "./bookings.ts";
import { callOfSession } from "./calls.ts";
import { costsNothing, endpointOf, refusalIn } from "./dialects.ts";
import { metered } from "./metering.ts";
import { credentialFor, type ModelCredential } from "./model-credentials.ts";
import { contextTokensOf, windowTokensOf } from "./prices.ts";
import { providerOf } from "./providers.ts";
import { stateOfProvider } from "./states.ts";
import type { OpenTrial } from "./trial.ts";
import * as texts from "./texts.ts";
import {
  priceAllowed,
  askProvider,
  jsonBodyOf,
  type Exchange,
  CallForbidden,
  type GatewayParts,
  ownModel,
  pass,
  CallRefused,
} from "./forwarding.ts";

/**
 * The way from a session to a model: `/model/<provider>/…`, with the session's own token. The gateway puts the provider's key
 * in place of the token. It forwards only calls that the agent may make and the budget covers, and books the usage of every
 * call. So no session ever holds a key of a provider.
 */
/** `readBody` reads the JSON of a request within the limits of its caller. */
export function modelGateway(
  given: Omit<GatewayParts, "bookings"> & {
    /** The brain test that a token belongs to. */
    readonly trialOf?: (token: string | undefined) => OpenTrial | undefined;
  },
) {
  const parts = { ...given, bookings: new Bookings() };
  const recordRefusal = refusalRecorder(parts);
  const handle = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    readBody: () => Promise<unknown>,
  ): Promise<void> => {
    const [, provider = "", ...rest] = path.split("/").slice(1);
    let dialect: ProviderDialect = "openai";
    try {
      const caller = await parts.authenticate(tokenOf(request)).catch((error: unknown) => {
        throw new CallRefused(401, error instanceof Error ? error.message : texts.onlySessions);
      });
      const exchange = { request, response, readBody, path: `/${rest.join("/")}` };
      const trial = parts.trialOf?.(tokenOf(request));
      if (trial !== undefined) {
        const { config, company } = await parts.store.read(async (tx) => ({
          config: await providerOf(tx, trial.companyId, provider),
          company: await companyState(tx, trial.companyId),
        }));
        if (config === undefined) throw new CallRefused(404, texts.noProvider(provider));
        dialect = config.dialect;
        if (company.state !== "active") throw new CallRefused(403, companyIsFrozen(company).message);
        const { forwardTrial } = await import("./trial.ts");
        return await forwardTrial(parts, trial, { config, provider }, exchange);
      }
      const found = await place(parts, caller, provider);
      dialect = found.config.dialect;
      try {
        await forward(parts, found, exchange);
      } catch (error) {
        if (error instanceof CallForbidden) await recordRefusal(found, error.message);
        throw error;
      }
    } catch (error) {
      const refused = error instanceof CallRefused ? error : undefined;
      if (refused === undefined && parts.closing?.aborted !== true) parts.reportBug(error, "model gateway");
      if (response.headersSent) return void response.destroy();
      const { status, message, headers } = refused ?? new CallRefused(500, "The gateway failed.");
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(refusalIn(dialect, status, message));
    }
  };
  return (...call: Parameters<typeof handle>): Promise<void> => {
    const handled = handle(...call);
    parts.track?.(handled);
    return handled;
  };
}

interface Place {
  readonly caller: Caller;
  readonly session: Row<"sessions">;
  readonly agent: AgentRow;
  readonly companyId: string;
  readonly config: ProviderConfig;
  readonly provider: string;
}

async function place(parts: GatewayParts, caller: Caller, provider: string): Promise<Place> {
  const { companyId, actor } = caller;
  const { sessionId, agentId } = actor;
  if (sessionId === null || agentId === null || companyId === null)
    throw new CallRefused(403, texts.onlySessions);
  return parts.store.read(async (tx) => {
    const config = await providerOf(tx, companyId, provider);
    if (config === undefined) throw new CallRefused(404, texts.noProvider(provider));
    const session = await tx.first(sessionRow, { id: sessionId });
    if (session === undefined) throw new CallRefused(403, texts.onlySessions);
    return { caller, session, agent: await agentById(tx, agentId), companyId, config, provider };
  });
}

async function forward(parts: GatewayParts, place: Place, exchange: Exchange): Promise<void> {
  const { config, provider, companyId } = place;
  const { request, response, path } = exchange;
  const method = request.method ?? "GET";
  const own = await modelFor(parts, place);
  if (method === "HEAD") return void response.writeHead(200).end();
  if (method === "GET" && path === "/") return void response.end(JSON.stringify(await offerTo(place, own)));
  const endpoint = endpointOf(config, method, path);
  if (endpoint === undefined) throw new CallRefused(404, texts.noEndpoint(`${method} ${path}`));
  const credential = await credentialFor(parts, companyId, config);
  if ("says" in credential) throw new CallRefused(401, credential.says);
  await mayAsk(parts, place, credential);
  if (endpoint.asks === undefined) {
    const answer = await askProvider(parts, place, exchange, credential, null);
    return pass(answer, response, () => undefined);
  }
  const asked = endpoint.asks(await jsonBodyOf(exchange), {
    contextTokens: await contextTokensOf(provider, config, own ?? ""),
    windowTokens: await windowTokensOf(provider, config, own ?? ""),
    baseUrl: config.baseUrl,
  });
  const price = await priceAllowed(parts, { config, provider, own, agentId: place.session.agent_id }, asked);
  if (costsNothing(endpoint))
    return pass(await askProvider(parts, place, exchange, credential, asked.body), response, () => undefined);
  const { session } = place;
  const spender = { id: session.id, agentId: session.agent_id, outcomeId: session.work_outcome_id };
  const listener = endpoint.listens?.();
  await metered(parts, place, exchange, { spender, credential, asked, price, listener });
}

/**
 * The model that the session may ask for. After a change of the agent's settings, a running session may finish its turn with
 * the model it was started with, and with a provider it has asked before.
 */
async function modelFor(parts: GatewayParts, place: Place): Promise<string | undefined> {
  const { agent, session, provider, config } = place;
  const brain = { type: agent.brain_type, config: agent.brain_config, model: session.model };
  try {
    return ownModel(parts, brain, place);
  } catch (error) {
    const earlier = await parts.store.read((tx) =>
      tx.first(callOfSession, { session_id: session.id, provider }),
    );
    if (earlier === undefined) throw error;
    return session.model ?? config.defaultModel;
  }
}

/** The models that a session may ask for. A program that was told no model finds one here. */
async function offerTo(
  { config, provider }: Place,
  model: string | undefined,
): Promise<{ dialect: ProviderDialect; model: string; contextTokens: number }> {
  if (model === undefined) throw new CallRefused(403, texts.noModel(provider));
  return { dialect: config.dialect, model, contextTokens: await contextTokensOf(provider, config, model) };
}

/** Refuses while the provider should not be asked: it refused its key or asked to wait. */
async function mayAsk(
  parts: GatewayParts,
  { companyId, provider, config }: Place,
  credential: ModelCredential,
): Promise<void> {
  const { now, state } = await parts.store.read(async (tx) => ({
    now: tx.now,
    state: await stateOfProvider(tx, companyId, provider, credential),
  }));
  if (state?.cause === "refused") throw new CallRefused(401, texts.providerRefuses(provider, state.says));
  if (state !== undefined)
    throw new CallRefused(429, texts.waitsUntilLifted(state.says, config), {
      "retry-after": String(Math.ceil((state.until - now) / 1000)),
    });
}

/**
 * The most recorded denials for each session, and the most sessions remembered. A program may repeat a refused request without
 * end.
 */
const mostRecorded = 20;
const mostSessions = 1000;

function refusalRecorder({ store, newId }: GatewayParts) {
  const known = new Map<string, Set<string>>();
  return async ({ caller, companyId, provider, session }: Place, message: string): Promise<void> => {
    const refused = redactText(message.slice(0, 500).toWellFormed());
    const ofSession = known.get(session.id) ?? new Set();
    if (ofSession.has(refused) || ofSession.size >= mostRecorded) return;
    known.set(session.id, ofSession.add(refused));
    if (known.size > mostSessions) known.delete(known.keys().next().value ?? "");
    await store.write(async (tx) => {
      await tx.lock(companyId);
      const call = callContext(tx, { caller, companyId, newId, newSecret: newId, operation: "model.refuse" });
      await call.record(session.agent_id, { provider, refused });
    });
  };
}

function tokenOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer ([\x21-\x7e]{1,500})$/i.exec(headers.authorization ?? "")?.[1];
}
