import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProviderDialect, ProviderConfig } from "../contract/providers.ts";
import { writeIn } from "../dispatch/context.ts";
import { marker } from "../redaction/redact.ts";
import type { Caller } from "../dispatch/identity.ts";
import type { Row } from "../store/schema.ts";
import type { Store } from "../store/store.ts";
import { callEnd, type CallFiles } from "./call-files.ts";
import { closeCall, bookedEnd, noteUse, openCall, sessionRow } from "./calls.ts";
import type { Courier } from "./courier.ts";
import {
  addressOf,
  type Asked,
  costsNothing,
  endpointOf,
  type Listener,
  noTokens,
  refusalIn,
  type TokensUsed,
} from "./dialects.ts";
import {
  type CredentialParts,
  credentialFor,
  credentialHeaders,
  type ModelCredential,
} from "./model-credentials.ts";
import { contextTokensOf, priceOf, type Priced } from "./prices.ts";
import { providerOf } from "./providers.ts";
import { eventsIn } from "./server-events.ts";
import { stateOfProvider } from "./states.ts";
import * as texts from "./texts.ts";
import { countTokens } from "./token-count.ts";
import { learnFrom, messageIn, refusesAccount, waitsFor } from "./provider-waits.ts";

/**
 * The way from a session to a model: `/model/<provider>/…`, with the session's own token. The gateway puts the provider's key in
 * its place. It forwards only what the agent may use and the budget covers, and books what every call used. So no session
 * ever holds a key of a provider.
 */
export interface GatewayParts extends CredentialParts {
  readonly store: Store;
  readonly newId: () => string;
  readonly authenticate: (token: string | undefined) => Promise<Caller>;
  /** May this agent use the whole internet? */
  readonly isOutside: (agentId: string) => Promise<boolean>;
  /** Called with what each answer to a session used, before the program can have ended. */
  readonly used?: (sessionId: string, text: string) => void;
  /** Does this brain continue from a summary, in the same session, when its context is nearly full? */
  readonly compacts: (brainType: string) => boolean;
  readonly reportBug: (error: unknown, about: string) => string;
  /** The daemon stops: providers that have not answered are not waited for. */
  readonly closing?: AbortSignal;
  /** Called with each request, which ends when it is booked. The program that asked may be gone long before. */
  readonly track?: (request: Promise<void>) => void;
  readonly fetch?: typeof fetch;
  /** Asks the models in a process that outlives this one. Without it, this process asks. */
  readonly courier?: { readonly files: CallFiles } & Pick<Courier, "fetchFor">;
}

export class Refused extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** A program that waits longer gives up by itself. */
const mostWait = 60_000;
const usualTries = 5;
/** An answer that says very often what it used so far is noted less often from here on. */
const mostNotes = 10;
const noteEvery = 2000;

/** `readBody` reads the JSON of a request within the limits of its caller. */
export function modelGateway(parts: GatewayParts) {
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
        throw new Refused(401, error instanceof Error ? error.message : texts.onlySessions);
      });
      const found = await place(parts, caller, provider);
      dialect = found.config.dialect;
      await forward(
        parts,
        { ...found, provider },
        { request, response, readBody, path: `/${rest.join("/")}` },
      );
    } catch (error) {
      const refused = error instanceof Refused ? error : undefined;
      if (refused === undefined && parts.closing?.aborted !== true) parts.reportBug(error, "model gateway");
      if (response.headersSent) return void response.destroy();
      const { status, message, headers } = refused ?? new Refused(500, "The gateway failed.");
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(refusalIn(dialect, status, message));
    }
  };
  return (...given: Parameters<typeof handle>): Promise<void> => {
    const handled = handle(...given);
    parts.track?.(handled);
    return handled;
  };
}

interface Place {
  readonly session: Row<"sessions">;
  readonly companyId: string;
  readonly config: ProviderConfig;
}

async function place(parts: GatewayParts, { actor, companyId }: Caller, provider: string): Promise<Place> {
  const { sessionId, agentId } = actor;
  if (sessionId === null || agentId === null || companyId === null)
    throw new Refused(403, texts.onlySessions);
  return parts.store.read(async (tx) => {
    const config = await providerOf(tx, companyId, provider);
    if (config === undefined) throw new Refused(404, texts.noProvider(provider));
    const session = await tx.first(sessionRow, { id: sessionId });
    if (session === undefined) throw new Refused(403, texts.onlySessions);
    return { session, companyId, config };
  });
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly readBody: () => Promise<unknown>;
  readonly path: string;
}

async function forward(
  parts: GatewayParts,
  place: Place & { readonly provider: string },
  exchange: Exchange,
): Promise<void> {
  const { config, provider, companyId } = place;
  const { request, response, path } = exchange;
  const method = request.method ?? "GET";
  if (method === "HEAD") return void response.writeHead(200).end();
  if (method === "GET" && path === "/") return void response.end(JSON.stringify(await offerTo(place)));
  const endpoint = endpointOf(config, method, path);
  if (endpoint === undefined) throw new Refused(404, texts.noEndpoint(`${method} ${path}`));
  const credential = await credentialFor(parts, companyId, config);
  if ("says" in credential) throw new Refused(401, credential.says);
  await mayAsk(parts, companyId, provider, credential.key);
  if (endpoint.asks === undefined) {
    const answer = await ask(parts, place, exchange, credential, null);
    return pass(answer, response, () => undefined);
  }
  const body: unknown = await exchange.readBody();
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new Refused(400, texts.bodyNotAnObject);
  const asked = endpoint.asks(
    { ...body },
    { contextTokens: await contextOf(place), baseUrl: config.baseUrl },
  );
  const price = await allowed(parts, place, asked);
  if (costsNothing(endpoint))
    return pass(await ask(parts, place, exchange, credential, asked.body), response, () => undefined);
  await metered(parts, place, exchange, { credential, asked, price, listener: endpoint.listens?.() });
}

/** What a session may ask for: a program that was told no model finds it here. */
async function offerTo(
  place: Place & { readonly provider: string },
): Promise<{ dialect: ProviderDialect; model: string; contextTokens: number }> {
  const { config, provider, session } = place;
  const model = session.model ?? config.defaultModel;
  if (model === undefined) throw new Refused(403, texts.noModel(provider));
  return { dialect: config.dialect, model, contextTokens: await contextOf(place) };
}

const contextOf = ({ config, provider, session }: Place & { readonly provider: string }): Promise<number> =>
  contextTokensOf(provider, config, session.model ?? config.defaultModel ?? "");

/** A provider that refused its key or asked to wait is not asked again before it makes sense. */
async function mayAsk(
  parts: GatewayParts,
  companyId: string,
  provider: string,
  key: string | undefined,
): Promise<void> {
  const { now, state } = await parts.store.read(async (tx) => ({
    now: tx.now,
    state: await stateOfProvider(tx, companyId, provider, key),
  }));
  if (state?.cause === "refused") throw new Refused(401, texts.providerRefuses(provider, state.says));
  if (state !== undefined)
    throw new Refused(429, state.says, { "retry-after": String(Math.ceil((state.until - now) / 1000)) });
}

async function allowed(
  parts: GatewayParts,
  { config, provider, session }: Place & { readonly provider: string },
  asked: Asked,
): Promise<Priced> {
  // The model that the session was started with: after a change of the agent's model it may still finish its turn.
  const own = session.model ?? config.defaultModel;
  if (own === undefined) throw new Refused(403, texts.noModel(provider));
  if (asked.model !== own) throw new Refused(403, texts.modelNotAllowed(asked.model, [own]));
  if (config.models !== undefined && !(own in config.models))
    throw new Refused(403, texts.modelNotAllowed(own, Object.keys(config.models)));
  if (asked.refused.length > 0) throw new Refused(400, texts.notForwarded(asked.refused));
  if (asked.outside.length > 0 && !(await parts.isOutside(session.agent_id)))
    throw new Refused(403, texts.outsideNotAllowed(asked.outside));
  const price = await priceOf(provider, config, own);
  if (price === undefined) throw new Refused(403, texts.noPrice(own));
  return price;
}

/** Reserves the most that the call can cost, forwards it, and books what it used, also if the program is gone meanwhile. */
async function metered(
  parts: GatewayParts,
  place: Place & { readonly provider: string },
  exchange: Exchange,
  call: { credential: ModelCredential; asked: Asked; price: Priced; listener: Listener | undefined },
): Promise<void> {
  const { store, newId, courier } = parts;
  const { companyId, session, provider, config } = place;
  const { asked, price, listener } = call;
  const id = newId();
  const most = { input: countTokens(asked.body), output: asked.mostOutput };
  const { input } = most;
  const atMost: TokensUsed = {
    ...noTokens,
    cacheWrite: input,
    output: most.output,
    ...(asked.writesForAnHour ? { hourWrite: input } : {}),
  };
  const lacks = await writeIn(store, companyId, newId, (writing) =>
    openCall(writing, {
      id,
      session,
      provider,
      model: asked.model,
      input,
      mostTokens: input + most.output,
      mostUsd: Math.max(price(atMost), price({ ...noTokens, ...most })),
    }),
  );
  if (lacks !== undefined) throw new Refused(403, texts.budgetTooSmall(lacks));
  let status: "done" | "cut" | "failed" = "failed";
  // What an answer used is on record before the program hears it, so a daemon that is killed has booked what was answered.
  let noted: TokensUsed | undefined;
  let [notes, lastNote] = [0, 0];
  const note = async (): Promise<void> => {
    const used = listener?.used();
    if (used === undefined || used === noted) return;
    if (notes >= mostNotes && performance.now() < lastNote + noteEvery) return;
    [noted, notes, lastNote] = [used, notes + 1, performance.now()];
    await writeIn(store, companyId, newId, (writing) => noteUse(writing, id, used)).catch((error: unknown) =>
      parts.reportBug(error, `model call ${id}`),
    );
  };
  try {
    const carried = courier?.fetchFor({ id, config, path: exchange.path });
    const asking = carried === undefined ? parts : { ...parts, fetch: carried };
    const answer = await ask(asking, place, exchange, call.credential, asked.body);
    if (answer.ok) {
      status = "cut";
      await pass(answer, exchange.response, (data) => listener?.heard(data), note);
      status = "done";
    } else await pass(answer, exchange.response, () => undefined);
  } finally {
    // The next daemon hears from the courier what it used.
    if (parts.closing?.aborted !== true || courier?.files.fateOf(id) !== "asking") {
      const { status: how, tokens } = bookedEnd(callEnd(status, listener), most);
      if (how !== "failed") parts.used?.(session.id, texts.tokensUsed(tokens));
      const context = {
        tokens: await contextTokensOf(provider, config, asked.model),
        compacts: parts.compacts,
      };
      const end = { status: how, tokens, cost: price(tokens), context };
      await writeIn(store, companyId, newId, (writing) => closeCall(writing, id, end)).then(
        () => courier?.files.forget(id),
        (error: unknown) => parts.reportBug(error, `model call ${id}`),
      );
    }
  }
}

/** Asks the provider, and waits and asks again where it says so. */
export async function ask(
  parts: Pick<GatewayParts, "store" | "newId" | "reportBug" | "closing" | "fetch">,
  { config, companyId, provider }: Pick<Place, "config" | "companyId"> & { readonly provider: string },
  {
    request,
    path,
  }: Pick<Exchange, "path"> & {
    readonly request: Pick<IncomingMessage, "method" | "url" | "headers">;
  },
  given: ModelCredential,
  body: string | null,
  mostTries = usualTries,
): Promise<Response> {
  const search = new URL(request.url ?? "/", "http://gateway").search;
  const url = `${addressOf(config, path)}${search}`;
  const begun = performance.now();
  const { closing } = parts;
  let credential = given;
  for (let tries = 1; ; tries++) {
    const { key, renew } = credential;
    const heard = await (parts.fetch ?? fetch)(url, {
      method: request.method ?? "GET",
      headers: { ...passedOn(request, config), ...credentialHeaders(config.dialect, credential) },
      body,
      redirect: "error",
      signal: AbortSignal.any([
        AbortSignal.timeout(15 * 60_000),
        ...(closing === undefined ? [] : [closing]),
      ]),
    }).catch((error: unknown) => {
      if (closing?.aborted !== true) parts.reportBug(error, `provider ${provider}`);
      throw new Refused(502, texts.providerUnreachable(provider));
    });
    const renewed = heard.status === 401 ? await renew?.() : undefined;
    if (renewed !== undefined) {
      credential = renewed;
      await heard.body?.cancel();
      continue;
    }
    const answer = heard.ok ? heard : await withoutKey(heard, config.dialect, key);
    const wait = await learnFrom(parts, { companyId, provider, config, key }, answer, tries);
    if (wait === undefined) return answer;
    if (tries >= mostTries || performance.now() - begun + wait > mostWait) {
      await waitsFor(parts, { companyId, provider }, wait, messageIn(await answer.clone().text()));
      return answer;
    }
    await answer.body?.cancel();
    await sleep(wait, undefined, closing === undefined ? {} : { signal: closing });
  }
}

/** A refusal may quote the key. One of the account reaches the program as one of the key, which every program understands. */
async function withoutKey(
  refusal: Response,
  dialect: ProviderDialect,
  key: string | undefined,
): Promise<Response> {
  const { status, headers } = refusal;
  const body = await refusal.text();
  const shown = key === undefined ? body : body.replaceAll(key, marker);
  if (!refusesAccount(status, shown)) return new Response(shown, { status, headers });
  const json = { "content-type": "application/json" };
  return new Response(refusalIn(dialect, 401, messageIn(shown)), { status: 401, headers: json });
}

/** Sends the provider's answer on, and lets the listener hear it. A program that is gone does not end the reading. */
async function pass(
  answer: Response,
  response: ServerResponse,
  hear: (data: unknown) => void,
  before: () => Promise<void> = async () => undefined,
): Promise<void> {
  const kept = [...answer.headers].filter(([name]) => passedBack.test(name));
  response.writeHead(answer.status, Object.fromEntries(kept));
  response.on("error", () => undefined);
  const events = eventsIn(answer.headers.get("content-type") ?? "", hear);
  for await (const chunk of answer.body ?? []) {
    events.write(chunk);
    await before();
    if (response.destroyed) continue;
    if (!response.write(chunk))
      await new Promise<void>((resolve) => {
        response.once("drain", resolve);
        response.once("close", resolve);
      });
  }
  events.end();
  await before();
  response.end();
}

/** Only what the dialects need. Never the session's own credential. */
function passedOn(
  { headers }: Pick<IncomingMessage, "headers">,
  { login }: ProviderConfig,
): Record<string, string> {
  const kept = ["content-type", "accept", "anthropic-version", "anthropic-beta", "user-agent", "openai-beta"];
  // Codex sends these to the address of its login.
  const ofCodex = login === undefined ? [] : ["originator", "version", "session-id", "thread-id"];
  return Object.fromEntries(
    [...kept, ...ofCodex].flatMap((name) => {
      const value = headers[name];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}

const passedBack =
  /^(content-type|retry-after|request-id|x-request-id|anthropic-ratelimit-.*|x-ratelimit-.*|x-codex-.*)$/;

function tokenOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer ([\x21-\x7e]{1,500})$/i.exec(headers.authorization ?? "")?.[1];
}
