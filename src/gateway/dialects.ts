import { z } from "zod";
import type { ProviderConfig, ProviderDialect } from "../contract/providers.ts";

/**
 * What the gateway must understand of each dialect: which paths exist, what a request asks for, what an answer used, and how a
 * refusal looks. Everything else passes unchanged.
 */
export interface TokensUsed {
  /** Without what was read from a cache or written to it. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}
export const noTokens: TokensUsed = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export interface Asked {
  readonly model: string;
  readonly streams: boolean;
  /** The most that may be written. */
  readonly mostOutput: number;
  /** What the request wants that needs the internet or stays at the provider, as phrases. */
  readonly outside: readonly string[];
  /** The request as it is forwarded. */
  readonly body: string;
}

/** Listens to an answer, whole or in events, and knows what it used so far. */
export interface Listener {
  heard(data: unknown): void;
  /** Undefined while the answer has said nothing. */
  readonly used: () => TokensUsed | undefined;
}

/** For a request that sets no limit. */
const usualOutput = 32_000;

type Json = Readonly<Record<string, unknown>>;
const Json = z.record(z.string(), z.unknown());
const jsonOf = (value: unknown): Json => Json.safeParse(value).data ?? {};
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(jsonOf) : []);
const numberOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;

interface Endpoint {
  readonly method: "POST" | "GET";
  readonly path: string;
  /** Absent: it costs nothing and has no body. */
  readonly asks?: (body: Json) => Asked;
  readonly listens?: () => Listener;
}

const request = (body: Json, more: Pick<Asked, "outside"> & { most: unknown; change?: Json }): Asked => ({
  model: typeof body["model"] === "string" ? body["model"] : "",
  streams: body["stream"] === true,
  mostOutput: numberOf(more.most) || usualOutput,
  outside: more.outside,
  body: JSON.stringify({ ...body, ...more.change }),
});

/** Addresses that the provider would fetch. */
function addressesIn(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(addressesIn);
  const fields = Json.safeParse(value).data;
  if (fields === undefined) return false;
  if (fields["type"] === "url" || typeof fields["file_url"] === "string") return true;
  const image = fields["image_url"];
  const address = typeof image === "string" ? image : jsonOf(image)["url"];
  if (typeof address === "string" && !address.startsWith("data:")) return true;
  return addressesIn(fields["content"]) || addressesIn(fields["source"]);
}

const wants = (asked: readonly (readonly [boolean, string])[]): string[] =>
  asked.flatMap(([is, words]) => (is ? [words] : []));

const messages: Endpoint = {
  method: "POST",
  path: "/v1/messages",
  asks: (body) =>
    request(body, {
      most: body["max_tokens"],
      outside: wants([
        [listOf(body["tools"]).some(isServerTool), "tools that run at the provider"],
        [listOf(body["mcp_servers"]).length > 0, "MCP servers of the provider"],
        [addressesIn(body["messages"]) || addressesIn(body["system"]), "content from an address"],
        [body["container"] !== undefined, "a container at the provider"],
      ]),
    }),
  listens: () => {
    let used: TokensUsed | undefined;
    return {
      heard: (data) => {
        const event = jsonOf(data);
        const usage = jsonOf(event["usage"] ?? jsonOf(event["message"])["usage"]);
        if (!("output_tokens" in usage) && !("input_tokens" in usage)) return;
        const of = (name: string, before: number): number => (name in usage ? numberOf(usage[name]) : before);
        const before = used ?? noTokens;
        used = {
          input: of("input_tokens", before.input),
          output: of("output_tokens", before.output),
          cacheRead: of("cache_read_input_tokens", before.cacheRead),
          cacheWrite: of("cache_creation_input_tokens", before.cacheWrite),
        };
      },
      used: () => used,
    };
  },
};

/** A tool of the caller has no type or the type `custom`, or is one of those that the caller runs itself. */
function isServerTool({ type }: Json): boolean {
  return typeof type === "string" && !/^(custom|function|bash_|text_editor_|memory_)/.test(type);
}

/** For the Responses API. A namespace contains further tools. */
function runsAtProvider({ type, tools }: Json): boolean {
  if (type === "namespace") return listOf(tools).some(runsAtProvider);
  return !["function", "custom", "local_shell", "tool_search"].includes(String(type));
}

const openAiTokens = (usage: Json, input: string, output: string, details: string): TokensUsed => {
  const cacheRead = numberOf(jsonOf(usage[details])["cached_tokens"]);
  return {
    input: Math.max(0, numberOf(usage[input]) - cacheRead),
    output: numberOf(usage[output]),
    cacheRead,
    cacheWrite: 0,
  };
};

const responsesAsked = (body: Json): Asked =>
  request(body, {
    most: body["max_output_tokens"],
    outside: wants([
      // Tools also come with an item of the conversation (additional_tools, tool_search_output).
      [
        [body, ...listOf(body["input"])].some(({ tools }) => listOf(tools).some(runsAtProvider)),
        "tools that run at the provider",
      ],
      [body["store"] === true, "storing the request"],
      [body["background"] === true, "work in the background"],
      [addressesIn(body["input"]), "content from an address"],
    ]),
    // It is stored unless the request says otherwise.
    change: { store: body["store"] ?? false },
  });

const responses: Endpoint = {
  method: "POST",
  path: "/v1/responses",
  asks: responsesAsked,
  listens: () => {
    let used: TokensUsed | undefined;
    return {
      heard: (data) => {
        const event = jsonOf(data);
        const usage = jsonOf(event["usage"] ?? jsonOf(event["response"])["usage"]);
        if ("input_tokens" in usage)
          used = openAiTokens(usage, "input_tokens", "output_tokens", "input_tokens_details");
      },
      used: () => used,
    };
  },
};

const chat: Endpoint = {
  method: "POST",
  path: "/v1/chat/completions",
  asks: (body) =>
    request(body, {
      most: body["max_completion_tokens"] ?? body["max_tokens"],
      outside: wants([
        [body["web_search_options"] !== undefined, "a search of the web"],
        [body["store"] === true, "storing the request"],
        [addressesIn(body["messages"]), "content from an address"],
      ]),
      // Without this a streamed answer does not say what it used.
      change: body["stream"] === true ? { stream_options: { include_usage: true } } : {},
    }),
  listens: () => {
    let used: TokensUsed | undefined;
    return {
      heard: (data) => {
        const usage = jsonOf(jsonOf(data)["usage"]);
        if ("prompt_tokens" in usage)
          used = openAiTokens(usage, "prompt_tokens", "completion_tokens", "prompt_tokens_details");
      },
      used: () => used,
    };
  },
};

const models: Endpoint = { method: "GET", path: "/v1/models" };

const endpoints: Readonly<Record<ProviderDialect, readonly Endpoint[]>> = {
  anthropic: [messages, { ...messages, path: "/v1/messages/count_tokens", listens: freeOf }, models],
  openai: [responses, chat, models],
};

function freeOf(): Listener {
  return { heard: () => undefined, used: () => noTokens };
}

/**
 * The address that a login with ChatGPT is for has only Responses, stores nothing, and takes no limit of the output. So the
 * usual limit is reserved for each call.
 */
const withLogin: Endpoint = {
  ...responses,
  asks: ({ max_output_tokens: _, ...body }) => responsesAsked({ ...body, store: false }),
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

/** Where a path of the API is. The one of a login has no version in its paths. */
export function addressOf({ baseUrl, login }: Omit<Spoken, "dialect">, path: string): string {
  const base = baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "");
  return `${base}${login === undefined ? path : path.replace(/^\/v1/, "")}`;
}

export const costsNothing = (endpoint: Endpoint): boolean =>
  endpoint.listens === undefined || endpoint.listens === freeOf;

/** How the gateway refuses: as the provider itself would, because the program reads nothing else. */
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
