import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProviderConfig, ProviderDialect } from "../contract/providers.ts";
import type { Caller } from "../dispatch/identity.ts";
import { marker } from "../redaction/redact.ts";
import type { Store } from "../store/store.ts";
import type { Bookings } from "./bookings.ts";
import type { CallFiles } from "./call-files.ts";
import type { Courier } from "./courier.ts";
import { addressOf, type Asked, refusalIn } from "./dialects.ts";
import { type CredentialParts, credentialHeaders, type ModelCredential } from "./model-credentials.ts";
import { type Priced, priceOf } from "./prices.ts";
import { learnFrom, messageIn, refusesAccount, waitsFor } from "./provider-waits.ts";
import { eventsIn } from "./server-events.ts";
import * as texts from "./texts.ts";

/** Sends a request to the provider, and the answer back. */

export interface GatewayParts extends CredentialParts {
  readonly store: Store;
  readonly newId: () => string;
  readonly nodeId: string;
  readonly authenticate: (token: string | undefined) => Promise<Caller>;
  /** Whether this agent may use the whole internet. */
  readonly isOutside: (agentId: string) => Promise<boolean>;
  readonly reportBug: (error: unknown, about: string) => string;
  /** Aborts when the daemon stops. Providers that have not answered are then not waited for. */
  readonly closing?: AbortSignal;
  /** Called with the usage of each answer to a session, before the program can have ended. */
  readonly used?: (sessionId: string, text: string) => void;
  /** Whether this brain continues from a summary in the same session when its context is nearly full. */
  readonly compacts: (brainType: string) => boolean;
  /** What sessions of this brain may ask a provider for: see `mayAskFor` in brains/registry.ts. */
  readonly mayAskFor: (
    brainType: string,
    brainConfig: string,
    provider: string,
  ) => "default" | "named" | "nothing";
  /** Called with each request. The promise resolves when the request is booked; the program may be gone long before. */
  readonly track?: (request: Promise<void>) => void;
  readonly bookings: Bookings;
  readonly fetch?: typeof fetch;
  /** Asks the models from a process that outlives this one. Without it, this process asks. */
  readonly courier?: { readonly files: CallFiles } & Pick<Courier, "fetchFor">;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly readBody: () => Promise<unknown>;
  readonly path: string;
}

export class CallRefused extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** The request shows what an agent tried to reach, so it is recorded, once for each session. */
export class CallForbidden extends CallRefused {
  constructor(message: string) {
    super(403, message);
  }
}

/**
 * The model that a session may ask this provider for: the one in its agent's settings. If these name none, it is the provider's
 * default, provided that the brain names this provider or leads there by default.
 */
export function ownModel(
  parts: Pick<GatewayParts, "mayAskFor">,
  brain: { readonly type: string; readonly config: string; readonly model: string | null },
  { config, provider }: { readonly config: ProviderConfig; readonly provider: string },
): string | undefined {
  const allowed = parts.mayAskFor(brain.type, brain.config, provider);
  if (allowed === "nothing") throw new CallForbidden(texts.providerNotUsed(provider));
  return brain.model ?? (allowed === "default" ? config.defaultModel : undefined);
}

/** Programs give up by themselves after about this long. */
const mostWait = 60_000;
const usualTries = 5;

/** Asks the provider. If the provider asks to wait, waits and asks again. */
export async function askProvider(
  parts: Pick<GatewayParts, "store" | "newId" | "reportBug" | "closing" | "fetch">,
  {
    config,
    companyId,
    provider,
  }: {
    readonly config: ProviderConfig;
    readonly companyId: string;
    readonly provider: string;
  },
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
    const asked = { companyId, provider, config, credential };
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
      throw new CallRefused(502, texts.providerUnreachable(provider));
    });
    const renewed = heard.status === 401 ? await renew?.() : undefined;
    if (renewed !== undefined) {
      credential = renewed;
      await heard.body?.cancel();
      continue;
    }
    const answer = heard.ok ? heard : await withoutKey(heard, config.dialect, key);
    // The answer is paid, so it reaches the program even while nothing can be written.
    const wait = await learnFrom(parts, asked, answer, tries).catch((error: unknown) => {
      if (!answer.ok) throw error;
      parts.reportBug(error, `provider ${provider}`);
      return undefined;
    });
    if (wait === undefined) return answer;
    if (tries >= mostTries || performance.now() - begun + wait > mostWait) {
      await waitsFor(parts, asked, wait, messageIn(await answer.clone().text()));
      return answer;
    }
    await answer.body?.cancel();
    await sleep(wait, undefined, closing === undefined ? {} : { signal: closing });
  }
}

/**
 * The answer without the key that it may quote. A refusal of the account becomes a refusal of the key, which every program
 * understands.
 */
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

/** Sends the provider's answer on, and lets the listener hear it. The reading continues if the program is gone. */
export async function pass(
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

/** The headers that the dialects need. The session's own credential is never passed on. */
function passedOn(
  { headers }: Pick<IncomingMessage, "headers">,
  { login }: ProviderConfig,
): Record<string, string> {
  const kept = ["content-type", "accept", "anthropic-version", "anthropic-beta", "user-agent", "openai-beta"];
  // Codex sends these headers to the address of its login.
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

export async function jsonBodyOf({ readBody }: Pick<Exchange, "readBody">): Promise<Record<string, unknown>> {
  const body: unknown = await readBody();
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new CallRefused(400, texts.bodyNotAnObject);
  return { ...body };
}

export async function priceAllowed(
  parts: GatewayParts,
  {
    config,
    provider,
    own,
    agentId,
  }: {
    readonly config: ProviderConfig;
    readonly provider: string;
    readonly own: string | undefined;
    readonly agentId: string;
  },
  asked: Asked,
): Promise<Priced> {
  if (own === undefined) throw new CallRefused(403, texts.noModel(provider));
  if (asked.model !== own) throw new CallForbidden(texts.modelNotAllowed(asked.model, [own]));
  if (config.models !== undefined && !(own in config.models))
    throw new CallRefused(403, texts.modelNotAllowed(own, Object.keys(config.models)));
  if (asked.refused.length > 0) throw new CallRefused(400, texts.notForwarded(asked.refused));
  if (asked.outside.length > 0 && !(await parts.isOutside(agentId)))
    throw new CallForbidden(texts.outsideNotAllowed(asked.outside));
  const price = await priceOf(provider, config, own);
  if (price === undefined) throw new CallRefused(403, texts.noPrice(own));
  return price;
}
