import { z } from "zod";
import type { ModelApi } from "../brains/brain.ts";
import type { ProviderConfig, ProviderDialect } from "../contract/providers.ts";
import { judgeRequest, type Judged } from "./request-rules.ts";
import { countTokens, mostOfContext, mostRead } from "./token-count.ts";

/**
 * The parts of each dialect that the gateway must understand: which paths exist, what a request asks for, what an answer used,
 * and how a refusal looks. Everything else passes unchanged.
 */
export interface TokensUsed {
  /** Input tokens, without those read from a cache or written to it. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour, which costs more. */
  readonly hourWrite?: number;
}
export const noTokens: TokensUsed = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export interface Asked extends Judged {
  readonly model: string;
  /** The most tokens of the request that the model can read. */
  readonly mostInput: number;
  /** The most tokens that the answer can have. The forwarded request has this limit, if the provider takes one. */
  readonly mostOutput: number;
  /** Whether the request asks the provider's cache to keep a part for an hour. */
  readonly writesForAnHour: boolean;
  /** The request as it is forwarded. */
  readonly body: string;
}

/** Listens to an answer, whole or in events, and knows its usage so far. */
export interface Listener {
  heard(data: unknown): void;
  /** Undefined while the answer has reported nothing. */
  readonly used: () => TokensUsed | undefined;
  /** About how many written tokens `used` does not include yet. */
  readonly unsaid: () => number;
}

/** Facts about the model that is asked. */
export interface AskedModel {
  readonly contextTokens: number;
  /** The most tokens that the model could read at once. */
  readonly windowTokens: number;
  readonly baseUrl: string;
}

/**
 * The limit for a request that sets none, because the reservation must be the most that it can cost. Models with a small
 * context refuse a limit above 8,192, and some servers refuse one that does not fit into the context together with the
 * question. The question is counted rather too high. The count never takes the room that a conversation leaves free before its
 * session is asked to stop.
 */
function usualOutput(body: Json, { contextTokens }: AskedModel): number {
  const usual = contextTokens < 200_000 ? 8192 : 32_000;
  const left = contextTokens - countTokens(JSON.stringify(body, withoutFiles));
  const alwaysLeft = contextTokens * (1 - mostOfContext);
  return Math.floor(Math.max(1024, Math.min(usual, Math.max(alwaysLeft, Math.min(left, contextTokens / 2)))));
}
/** Leaves out files and sealed thoughts: their characters say nothing about their tokens. */
const withoutFiles = (field: string, value: unknown): unknown =>
  typeof value === "string" &&
  (/^(encrypted_content|data|file_data)$/.test(field) || value.startsWith("data:"))
    ? ""
    : value;
/** The most that any model writes at once, for an address that accepts no limit. */
const mostOfAll = 128_000;

type Json = Readonly<Record<string, unknown>>;
const Json = z.record(z.string(), z.unknown());
const jsonOf = (value: unknown): Json => Json.safeParse(value).data ?? {};
const numberOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;

interface Endpoint {
  readonly method: "POST" | "GET";
  readonly path: string;
  /** Absent if the request costs nothing and has no body. */
  readonly asks?: (body: Json, model: AskedModel) => Asked;
  readonly listens?: () => Listener;
}

const request = (
  api: ModelApi,
  body: Json,
  model: AskedModel,
  more: { readonly mostOutput: number; readonly change?: Json },
): Asked => {
  const forwarded = JSON.stringify({ ...body, ...more.change });
  const judged = judgeRequest(api, body);
  return {
    ...judged,
    mostInput: mostRead(api, forwarded, judged, model.windowTokens),
    model: typeof body["model"] === "string" ? body["model"] : "",
    mostOutput: more.mostOutput,
    // The quotes prove that it is a field. Within a text they would be escaped.
    writesForAnHour: api === "messages" && forwarded.includes('"ttl":"1h"'),
    body: forwarded,
  };
};

interface Said {
  readonly used: TokensUsed;
  /** False while the answer is still being written. */
  readonly isLast: boolean;
}

/** Keeps the usage that an answer reports, and counts what it writes until the report. */
const listening = (read: (event: Json, before: TokensUsed) => Said | undefined) => (): Listener => {
  let used: TokensUsed | undefined;
  let isLast = false;
  let [inPieces, inItems] = [0, 0];
  return {
    heard: (data) => {
      const event = jsonOf(data);
      const said = read(event, used ?? noTokens);
      if (said !== undefined) ({ used, isLast } = said);
      if (isLast) return;
      const { delta, choices, content, output, item, type } = event;
      inPieces += countTokens(written(delta ?? choices ?? content ?? output));
      if (String(type).endsWith(".done")) inItems += countTokens(written(item));
    },
    used: () => used,
    unsaid: () => (isLast ? 0 : Math.max(inPieces, inItems)),
  };
};
const written = (value: unknown): string => {
  if (typeof value === "string") return value;
  const isNothing = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  return isNothing ? "" : JSON.stringify(value);
};

const messages: Endpoint = {
  method: "POST",
  path: "/v1/messages",
  asks: (body, model) => {
    const mostOutput = numberOf(body["max_tokens"]) || usualOutput(body, model);
    return request("messages", body, model, { mostOutput, change: { max_tokens: mostOutput } });
  },
  listens: listening((event, before) => {
    const usage = jsonOf(event["usage"] ?? jsonOf(event["message"])["usage"]);
    if (!("output_tokens" in usage) && !("input_tokens" in usage)) return undefined;
    const of = (name: string, earlier: number): number => (name in usage ? numberOf(usage[name]) : earlier);
    const writes = jsonOf(usage["cache_creation"])["ephemeral_1h_input_tokens"];
    const hourWrite = writes === undefined ? (before.hourWrite ?? 0) : numberOf(writes);
    const used = {
      input: of("input_tokens", before.input),
      output: of("output_tokens", before.output),
      cacheRead: of("cache_read_input_tokens", before.cacheRead),
      cacheWrite: Math.max(hourWrite, of("cache_creation_input_tokens", before.cacheWrite)),
      ...(hourWrite === 0 ? {} : { hourWrite }),
    };
    return { used, isLast: event["type"] !== "message_start" };
  }),
};

/** This request sends only the question, without a limit for an answer. */
const counting: Endpoint = {
  ...messages,
  path: "/v1/messages/count_tokens",
  asks: (body, model) => request("messages", body, model, { mostOutput: 0 }),
  listens: freeOf,
};

const openAiTokens = (usage: Json, input: string, output: string, details: string): TokensUsed => {
  const { cached_tokens: cached, cache_write_tokens: kept } = jsonOf(usage[details]);
  const cacheRead = numberOf(cached);
  // Newer models report cache writes as a part of the input.
  const rest = Math.max(0, numberOf(usage[input]) - cacheRead);
  const cacheWrite = Math.min(rest, numberOf(kept));
  return { input: rest - cacheWrite, output: numberOf(usage[output]), cacheRead, cacheWrite };
};

const saidIn = (usage: Json, input: string, output: string): Said | undefined =>
  input in usage ? { used: openAiTokens(usage, input, output, `${input}_details`), isLast: true } : undefined;

const responses: Endpoint = {
  method: "POST",
  path: "/v1/responses",
  asks: (body, model) => {
    const mostOutput = numberOf(body["max_output_tokens"]) || usualOutput(body, model);
    // Without this field, the provider would store the answer.
    const change = { store: body["store"] ?? false, max_output_tokens: mostOutput };
    return request("responses", body, model, { mostOutput, change });
  },
  listens: listening((event) =>
    saidIn(jsonOf(event["usage"] ?? jsonOf(event["response"])["usage"]), "input_tokens", "output_tokens"),
  ),
};

/** The name of the limit. OpenAI's newer models accept only a name that not all other servers know. */
const limitFor = ({ baseUrl }: AskedModel): string =>
  /(^|\.)openai\.(azure\.)?com$/.test(new URL(baseUrl).hostname) ? "max_completion_tokens" : "max_tokens";

const chat: Endpoint = {
  method: "POST",
  path: "/v1/chat/completions",
  asks: (body, model) => {
    const { max_tokens: limit, max_completion_tokens: otherLimit, ...rest } = body;
    const each = Math.max(numberOf(limit), numberOf(otherLimit)) || usualOutput(body, model);
    const answers = Math.max(1, numberOf(body["n"]));
    return request("chat", rest, model, {
      mostOutput: each * answers,
      change: {
        [limitFor(model)]: each,
        ...(body["n"] === undefined ? {} : { n: answers }),
        // Without this field, a streamed answer reports no usage.
        ...(body["stream"] !== undefined && body["stream"] !== false
          ? { stream_options: { include_usage: true } }
          : {}),
      },
    });
  },
  listens: listening((event) => saidIn(jsonOf(event["usage"]), "prompt_tokens", "completion_tokens")),
};

const models: Endpoint = { method: "GET", path: "/v1/models" };

const endpoints: Readonly<Record<ProviderDialect, readonly Endpoint[]>> = {
  anthropic: [messages, counting, models],
  openai: [responses, chat, models],
};

function freeOf(): Listener {
  return { heard: () => undefined, used: () => noTokens, unsaid: () => 0 };
}

/**
 * The address for a login with ChatGPT has only Responses, stores nothing, and accepts no limit of the output. So the most that
 * a model can write is reserved for each call.
 */
const withLogin: Endpoint = {
  ...responses,
  asks: ({ max_output_tokens: _, ...body }, model) => {
    const mostOutput = Math.min(mostOfAll, model.contextTokens);
    return request("responses", body, model, { mostOutput, change: { store: false } });
  },
};

type Spoken = Pick<ProviderConfig, "dialect" | "login" | "baseUrl">;

export function endpointOf(
  config: Omit<Spoken, "baseUrl">,
  method: string,
  path: string,
): Endpoint | undefined {
  const all = config.login === undefined ? endpoints[config.dialect] : [withLogin];
  return all.find((one) => one.method === method && one.path === path);
}

/** The URL of a path of the API. For a login, the paths have no version. */
export function addressOf({ baseUrl, login }: Omit<Spoken, "dialect">, path: string): string {
  const base = baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "");
  return `${base}${login === undefined ? path : path.replace(/^\/v1/, "")}`;
}

export const costsNothing = (endpoint: Endpoint): boolean =>
  endpoint.listens === undefined || endpoint.listens === freeOf;

/** A refusal by the gateway, in the form of the provider's own: the program understands no other. */
export function refusalIn(dialect: ProviderDialect, status: number, message: string): string {
  const types: Readonly<Record<number, string>> = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
  };
  const type = types[status] ?? "api_error";
  return JSON.stringify(
    dialect === "anthropic"
      ? { type: "error", error: { type, message } }
      : { error: { message, type, code: type, param: null } },
  );
}
