import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProviderConfig } from "../contract/providers.ts";
import { callEnd } from "./call-files.ts";
import { bookedEnd } from "./calls.ts";
import { type Asked, endpointOf } from "./dialects.ts";
import { contextTokensOf, priceOf } from "./prices.ts";
import { countTokens } from "./token-count.ts";

type Fields = Readonly<Record<string, unknown>>;
const [messages, responses, chat] = ["/v1/messages", "/v1/responses", "/v1/chat/completions"];
const endpointAt = (path: string, config: Partial<ProviderConfig> = {}) =>
  endpointOf({ dialect: path === messages ? "anthropic" : "openai", ...config }, "POST", path) ??
  assert.fail();
const ask = (path: string, body: Fields, known: { contextTokens?: number; baseUrl?: string } = {}): Asked =>
  endpointAt(path).asks?.(body, {
    contextTokens: known.contextTokens ?? 400_000,
    windowTokens: 1_000_000,
    baseUrl: known.baseUrl ?? "http://127.0.0.1:1",
  }) ?? assert.fail();
const refusedOf = (body: Fields): readonly string[] => ask(responses, body).refused;
const far = "https://evil.example/x.png";

test("a tool that runs at the provider is seen wherever a request of the Responses API carries it", () => {
  const search = { type: "web_search" };
  const own = [
    { type: "function", name: "shell" },
    { type: "custom", name: "apply_patch" },
  ];
  const inside = (...tools: readonly object[]) => ({ type: "namespace", name: "mcp__agency", tools });
  for (const tools of [own, [inside(...own)], [{ type: "tool_search", execution: "client" }]])
    assert.deepEqual(
      [refusedOf({ tools }), refusedOf({ input: [{ type: "additional_tools", tools }] })],
      [[], []],
    );
  for (const tools of [[search], [...own, inside(search)], [inside(inside(search))], [{ name: "none" }]])
    for (const body of [
      { tools },
      {
        input: [
          { type: "message", role: "user", content: "hi" },
          { type: "additional_tools", tools },
        ],
      },
      { input: [{ type: "tool_search_output", tools }] },
    ])
      assert.deepEqual(
        refusedOf(body),
        ["tools that run at the provider, which have no known price"],
        JSON.stringify(body),
      );
});

test("an address that a provider would fetch is seen at any depth and under any name", () => {
  const said = (...content: readonly object[]) => ({ messages: [{ role: "user", content }] });
  const cases: readonly [path: string, body: Fields][] = [
    [
      responses,
      { input: [{ type: "function_call_output", output: [{ type: "input_image", image_url: far }] }] },
    ],
    [responses, { input: [{ role: "user", content: [{ type: "input_file", file_url: far }] }] }],
    [responses, { input: [{ role: "user", content: [{ type: "input_file", file_data: far }] }] }],
    [messages, said({ type: "image", source: { type: "url", url: far } })],
    [
      messages,
      said({ type: "tool_result", content: [{ type: "document", source: { type: "url", url: far } }] }),
    ],
    [messages, { ...said(), system: [{ type: "image", source: { type: "url", url: "gs://bucket/x" } }] }],
    [chat, said({ type: "image_url", image_url: { url: far } })],
    [chat, said({ type: "image_url", image_url: "//evil.example/x.png" })],
    [chat, said({ type: "video_url", video_url: { url: far } })],
    [chat, said({ type: "audio_url", audio_url: { url: ` ${far}` } })],
    [chat, said({ type: "file", file: { filename: "x.pdf", file_data: far } })],
    [chat, said({ type: "new_kind", new_kind: { from: "file:///etc/passwd" } })],
    [chat, { messages: [{ role: "user", content: "Look.", images: [far] }] }],
    [messages, said({ type: "search_result", source: { type: "url", url: far }, content: [] })],
    [messages, said({ type: "image", source: far })],
  ];
  for (const [path, body] of cases)
    assert.deepEqual(ask(path, body).outside, ["content from an address"], JSON.stringify(body));
});

test("addresses in prose, in schemas, in arguments and in what a model said earlier pass", () => {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    properties: { url: { default: far } },
  };
  const image = "data:image/png;base64,AAAA";
  const cases: readonly [path: string, body: Fields][] = [
    [
      messages,
      {
        system: [{ type: "text", text: far, cache_control: { type: "ephemeral", ttl: "1h" } }],
        messages: [
          { role: "user", content: far },
          { role: "assistant", content: [{ type: "tool_use", id: "1", name: "fetch", input: { url: far } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: far }] },
          {
            role: "user",
            content: [
              { type: "search_result", source: far, title: far, content: [{ type: "text", text: far }] },
            ],
          },
          { role: "user", content: [{ type: "image", source: { type: "base64", data: "AAAA" } }] },
        ],
        tools: [{ name: "fetch", description: far, input_schema: schema, input_examples: [{ url: far }] }],
        metadata: { user_id: far },
        stop_sequences: [far],
      },
    ],
    [
      responses,
      {
        instructions: far,
        input: [
          { type: "message", role: "user", content: [{ type: "input_text", text: far }] },
          {
            type: "message",
            role: "assistant",
            content: [{ type: "output_text", text: far, annotations: [{ url: far }] }],
          },
          { type: "function_call", name: "fetch", arguments: far },
          { type: "custom_tool_call", name: "apply_patch", input: far },
          { type: "function_call_output", output: far },
          { type: "function_call_output", output: [{ type: "input_image", image_url: image }] },
          { type: "local_shell_call", action: { command: [far], working_directory: far } },
        ],
        tools: [{ type: "function", name: "fetch", parameters: schema }],
        client_metadata: { origin: far },
        text: { format: { type: "json_schema", name: "x", schema } },
        previous_response_id: null,
      },
    ],
    [
      chat,
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: far },
              { type: "image_url", image_url: { url: image } },
              // An MP3 without a header begins with these bytes.
              { type: "input_audio", input_audio: { data: "//uQZAAAAAA/+AAAA==", format: "mp3" } },
            ],
          },
          {
            role: "assistant",
            reasoning_content: far,
            tool_calls: [{ id: "1", function: { name: "x", arguments: far } }],
          },
          { role: "tool", tool_call_id: "1", content: far },
        ],
        tools: [{ type: "function", function: { name: "fetch", description: far, parameters: schema } }],
        response_format: { type: "json_schema", json_schema: { schema } },
      },
    ],
  ];
  for (const [path, body] of cases) {
    const { outside, refused } = ask(path, body);
    assert.deepEqual({ outside, refused }, { outside: [], refused: [] }, path);
  }
});

test("stored data and hosted tools at a provider are recognized, and an unknown field is refused by its name", () => {
  const outside: readonly [path: string, body: Fields, says: RegExp][] = [
    [responses, { conversation: "conv_1" }, /a conversation that is stored/],
    [responses, { prompt: { id: "pmpt_1" } }, /a prompt that is stored/],
    [responses, { previous_response_id: "resp_1" }, /an answer that is stored/],
    [responses, { input: [{ type: "item_reference", id: "msg_1" }] }, /an item that is stored/],
    [
      responses,
      { input: [{ content: [{ type: "input_file", file_id: "file_1" }] }] },
      /a file that is stored/,
    ],
    [responses, { store: true }, /storing the request/],
    [responses, { input: [{ id: "msg_1" }] }, /an item that is stored/],
    [chat, { messages: [{ content: [{ type: "input_audio", input_audio: { data: far } }] }] }, /an address/],
    [chat, { messages: [{ content: [{ type: "image", image: "//far.example/a.png" }] }] }, /an address/],
    [chat, { messages: [{ content: [{ type: "image", image: "//intern:8080/a" }] }] }, /an address/],
    [chat, { store: true }, /storing the request/],
    [messages, { mcp_servers: [{ type: "url" }] }, /MCP servers/],
    [
      messages,
      { messages: [{ content: [{ source: { type: "file", file_id: "f" } }] }] },
      /a file that is stored/,
    ],
  ];
  for (const [path, body, says] of outside)
    assert.match(ask(path, body).outside.join(), says, JSON.stringify(body));
  const refused: readonly [path: string, body: Fields, says: RegExp][] = [
    [chat, { models: ["dearer"] }, /the field "models"/],
    [chat, { tools: [{ type: "web_search" }] }, /tools that run at the provider/],
    [chat, { plugins: [{ id: "web" }] }, /plugins of the provider/],
    [chat, { web_search_options: {} }, /a search of the web/],
    [messages, { container: "c1" }, /a container/],
    [messages, { tools: [{ type: "code_execution_20250825" }] }, /tools that run at the provider/],
    [chat, { best_of: 9 }, /the field "best_of"/],
    [messages, { tools: [{ type: "bash_code_execution_20260101" }] }, /tools that run at the provider/],
    [chat, { unknown: false }, /the field "unknown"/],
    [chat, { constructor: true }, /the field "constructor"/],
    [responses, { background: true, store: true }, /work in the background/],
    [messages, { fetch_this: far }, /the field "fetch_this"/],
    [messages, { inference_geo: "us" }, /the field "inference_geo"/],
    [messages, { speed: "fast" }, /the speed "fast"/],
    [messages, { context_management: { edits: [{ type: "compact_20260112" }] } }, /a summary/],
    [responses, { service_tier: "priority" }, /the service tier "priority"/],
    [chat, { service_tier: "priority" }, /the service tier "priority"/],
  ];
  for (const [path, body, says] of refused)
    assert.match(ask(path, body).refused.join(), says, JSON.stringify(body));
  // A cache that is kept for longer costs the same at OpenAI. The tokens written to it are counted.
  for (const path of [responses, chat])
    assert.deepEqual(
      ask(path, { prompt_cache_retention: "24h", prompt_cache_options: { mode: "explicit" } }).refused,
      [],
    );
  for (const tier of ["auto", "default", "flex", null])
    assert.deepEqual(ask(responses, { service_tier: tier }).refused, []);
});

test("the reserved limit is the limit that is sent, times the number of answers", () => {
  const sent = (asked: Asked): [number, Fields] => [asked.mostOutput, JSON.parse(asked.body)];
  const expect = (path: string, body: Fields, most: number, fields: Fields, known = {}): void => {
    const [mostOutput, forwarded] = sent(ask(path, body, known));
    assert.equal(mostOutput, most, JSON.stringify(body).slice(0, 200));
    for (const name of ["max_tokens", "max_output_tokens", "max_completion_tokens", "n"])
      assert.deepEqual(forwarded[name], fields[name], `${name} of ${JSON.stringify(body).slice(0, 200)}`);
  };
  const openai = { baseUrl: "https://api.openai.com" };
  expect(messages, { max_tokens: 10 }, 10, { max_tokens: 10 });
  expect(messages, {}, 32_000, { max_tokens: 32_000 });
  expect(responses, { max_output_tokens: 10 }, 10, { max_output_tokens: 10 });
  expect(responses, {}, 32_000, { max_output_tokens: 32_000 });
  expect(chat, { max_tokens: 10, n: 50 }, 500, { max_tokens: 10, n: 50 });
  expect(chat, { max_tokens: 10, n: "50" }, 10, { max_tokens: 10, n: 1 });
  expect(chat, { max_tokens: 100, max_completion_tokens: 10 }, 100, { max_tokens: 100 });
  expect(chat, { max_tokens: -1 }, 8192, { max_tokens: 8192 }, { contextTokens: 128_000 });
  // Some servers refuse a limit that does not fit into the context together with the question.
  const long = { messages: [{ role: "user", content: "word ".repeat(3000) }] };
  const [left] = sent(ask(chat, long, { contextTokens: 8000 }));
  assert.ok(left >= 1024 && left + countTokens(JSON.stringify(long)) <= 8000, String(left));
  expect(chat, {}, 4000, { max_tokens: 4000 }, { contextTokens: 8000 });
  // Files and long conversations are counted too high. Neither may shorten the answer while the context has room.
  const picture = "A".repeat(900_000);
  const spoken = (content: unknown) => [{ role: "user", content }];
  const shown = [{ type: "input_image", image_url: `data:image/png;base64,${picture}` }];
  const threeQuarters = spoken("word ".repeat((0.76 * 272_000 * 4) / 5));
  for (const input of [
    spoken(shown),
    [
      { type: "reasoning", encrypted_content: picture },
      { type: "function_call_output", output: shown },
    ],
    threeQuarters,
  ])
    expect(responses, { input }, 32_000, { max_output_tokens: 32_000 }, { contextTokens: 272_000 });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: picture } };
  for (const content of [[image], "word ".repeat((0.84 * 200_000 * 4) / 5)])
    expect(
      messages,
      { messages: spoken(content) },
      typeof content === "string" ? 30_000 : 32_000,
      { max_tokens: typeof content === "string" ? 30_000 : 32_000 },
      { contextTokens: 200_000 },
    );
  const nearlyFull = { messages: spoken("word ".repeat((0.84 * 64_000 * 4) / 5)) };
  expect(chat, nearlyFull, 8192, { max_tokens: 8192 }, { contextTokens: 64_000 });
  expect(chat, { max_tokens: 10 }, 10, { max_completion_tokens: 10 }, openai);
  // This address does not accept a limit.
  const login = endpointAt(responses, { login: "codex" }).asks?.(
    { max_output_tokens: 10 },
    { contextTokens: 400_000, windowTokens: 400_000, ...openai },
  );
  assert.deepEqual([login?.mostOutput, JSON.parse(login?.body ?? "")], [128_000, { store: false }]);
});

test("an image counts as the documented maximum of the provider, and any other file as the model's window", () => {
  const window = 1_000_000;
  const data = "A".repeat(300_000);
  const inline = `data:image/png;base64,${data}`;
  const said = (...content: readonly object[]) => ({
    messages: [{ role: "user", content }],
    input: [{ role: "user", content }],
  });
  const shown = (...output: readonly object[]) => ({ input: [{ type: "function_call_output", output }] });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
  const pdf = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } };
  const read = (path: string, { messages: asked, input }: Fields): number => {
    const body = path === responses ? { input } : { messages: asked };
    return ask(path, { ...body, max_tokens: 10 }).mostInput;
  };
  const between = (counted: number, least: number): void =>
    assert.ok(counted >= least && counted < least + 200, `${counted} is not about ${least}`);
  between(read(messages, said(image)), 4784);
  between(read(messages, said({ type: "tool_result", content: [image, image] })), 2 * 4784);
  between(read(chat, said({ type: "image_url", image_url: { url: inline } })), 50_000);
  between(read(chat, said({ type: "image_url", image_url: inline })), 50_000);
  between(read(responses, shown({ type: "input_image", image_url: inline })), 50_000);
  // A text that only claims to be an image is counted as text as well.
  const text = `data:text/plain,${data}`;
  between(read(chat, said({ type: "image_url", image_url: { url: text } })), 150_000);
  assert.equal(
    read(chat, said(...Array.from({ length: 90 }, () => ({ type: "image_url", image_url: "" })))),
    window,
  );
  const files: readonly [path: string, body: Fields][] = [
    [messages, said(pdf)],
    [messages, said({ type: "tool_result", content: [pdf] })],
    [messages, said({ type: "document", source: { type: "url", url: far } })],
    [messages, said({ type: "image", source: { type: "url", url: far } })],
    [messages, said({ type: "document", source: { type: "file", file_id: "file_1" } })],
    [messages, said({ type: "document", source: { type: "content", content: [pdf] } })],
    [
      chat,
      said({ type: "file", file: { filename: "x.pdf", file_data: "data:application/pdf;base64,AAAA" } }),
    ],
    [chat, said({ type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } })],
    [chat, said({ type: "video_url", video_url: { url: "data:video/mp4;base64,AAAA" } })],
    [chat, said({ type: "new_kind", new_kind: { from: "data:model/new;base64,AAAA" } })],
    [chat, { messages: [{ role: "user", content: "Look.", images: ["AAAA"] }] }],
    [responses, said({ type: "input_file", filename: "x.pdf", file_data: "AAAA" })],
    [responses, said({ type: "input_file", file_id: "file-1" })],
    [responses, shown({ type: "input_file", file_data: "AAAA" })],
    [responses, { input: [{ type: "item_reference", id: "msg_1" }] }],
  ];
  for (const [path, body] of files)
    assert.equal(read(path, body), window, JSON.stringify(body).slice(0, 200));
  const texts: readonly [path: string, body: Fields][] = [
    [
      messages,
      said({ type: "document", source: { type: "text", media_type: "text/plain", data: "Words." } }),
    ],
    [messages, said({ type: "redacted_thinking", data: "AAAA" })],
    [messages, said({ type: "tool_use", id: "1", name: "x", input: { data: "AAAA", type: "image" } })],
    [messages, said({ type: "text", text: "data:image/png;base64,AAAA" })],
    [responses, { input: [{ type: "function_call", name: "x", arguments: '{"file_id":"1"}' }] }],
  ];
  for (const [path, body] of texts) between(read(path, body), 20);
});

test("the estimate of tokens is too high in every script, but not by much", () => {
  const [chinese, japanese] = [
    "请在今天下午之前把这份报告发给所有的同事。",
    "今日の午後までにこの報告書を全員に送ってください。",
  ];
  // At least one token for a word of English, for half a word of Russian, and for a character of Chinese or Japanese.
  const cases: readonly [text: string, least: number][] = [
    ["The quick brown fox jumps over the lazy dog. ", 10],
    [chinese, chinese.length],
    [japanese, japanese.length],
    ["Пожалуйста, отправьте отчёт сегодня. ", 8],
  ];
  for (const [text, least] of cases) {
    const counted = countTokens(text.repeat(100)) / 100;
    assert.ok(counted >= least && counted <= 4 * least, `${counted} instead of ${least}: ${text}`);
  }
});

test("usage is the last report of the answer, or else the text written so far", () => {
  const most = { input: 300, output: 5000 };
  const heard = (path: string, ...events: readonly Fields[]) => {
    const listener = endpointAt(path).listens?.() ?? assert.fail();
    for (const event of events) listener.heard(event);
    return bookedEnd(callEnd("done", listener), most);
  };
  const piece = "word ".repeat(300);
  const tokens = countTokens(piece);
  const start = { type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } };
  const delta = { type: "content_block_delta", delta: { type: "text_delta", text: piece } };
  const end = { type: "message_delta", delta: {}, usage: { output_tokens: 77 } };
  assert.deepEqual(heard(messages, start, delta, end).tokens.output, 77);
  assert.equal(heard(messages, start, delta, end).status, "done");
  const cut = heard(messages, start, delta);
  assert.deepEqual([cut.status, cut.tokens.input, cut.tokens.output >= tokens], ["cut", 9, true]);
  for (const [path, event] of [
    [chat, { choices: [{ delta: { content: piece } }] }],
    [chat, { choices: [{ message: { content: piece } }] }],
    [responses, { type: "response.output_text.delta", delta: piece }],
    [responses, { type: "response.output_item.done", item: { arguments: piece } }],
  ] as const) {
    const { status, tokens: booked } = heard(path, event);
    assert.deepEqual([status, booked.input], ["cut", 300]);
    assert.ok(booked.output >= tokens && booked.output < 2 * tokens, `${path} ${booked.output}`);
  }
  for (const path of [messages, chat, responses])
    assert.deepEqual(heard(path).tokens, { input: 300, output: 5000, cacheRead: 0, cacheWrite: 0 });
});

test("tokens that OpenAI writes to its cache count as input with their own price", () => {
  for (const [path, input, output] of [
    [responses, "input_tokens", "output_tokens"],
    [chat, "prompt_tokens", "completion_tokens"],
  ] as const) {
    const listener = endpointAt(path).listens?.() ?? assert.fail();
    const details = { cached_tokens: 30, cache_write_tokens: 50 };
    listener.heard({ usage: { [input]: 100, [output]: 7, [`${input}_details`]: details } });
    assert.deepEqual(listener.used(), { input: 20, output: 7, cacheRead: 30, cacheWrite: 50 });
    // An older model reports no cache writes. A wrong figure makes no count negative.
    listener.heard({ usage: { [input]: 100, [output]: 7, [`${input}_details`]: { cached_tokens: 30 } } });
    assert.deepEqual(listener.used(), { input: 70, output: 7, cacheRead: 30, cacheWrite: 0 });
    listener.heard({ usage: { [input]: 20, [output]: 7, [`${input}_details`]: details } });
    assert.deepEqual(listener.used(), { input: 0, output: 7, cacheRead: 30, cacheWrite: 0 });
  }
});

test("what a cache keeps for an hour is priced and reserved as such", async () => {
  const listener = endpointAt(messages).listens?.() ?? assert.fail();
  const kept = { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 9000 };
  const usage = {
    input_tokens: 10,
    output_tokens: 1,
    cache_creation_input_tokens: 10_000,
    cache_creation: kept,
  };
  listener.heard({ type: "message_start", message: { usage } });
  listener.heard({ type: "message_delta", usage: { output_tokens: 100 } });
  const used = listener.used() ?? assert.fail();
  assert.deepEqual(used, { input: 10, output: 100, cacheRead: 0, cacheWrite: 10_000, hourWrite: 9000 });
  const config = { dialect: "anthropic", baseUrl: "https://api.anthropic.com" } as const;
  const model = "claude-opus-4-5";
  const own = { models: { [model]: { price: { input: 5, output: 25, cacheWrite: 6.25 } } } };
  for (const provider of [config, { ...config, ...own }]) {
    const price = (await priceOf("anthropic", provider, model)) ?? assert.fail();
    assert.equal(price(used), 10 * 5 + 100 * 25 + 1000 * 6.25 + 9000 * 10);
  }
  const text = (more: object) => ({
    messages: [{ content: [{ type: "text", text: '"ttl":"1h"', ...more }] }],
  });
  assert.equal(ask(messages, text({})).writesForAnHour, false);
  assert.equal(
    ask(messages, text({ cache_control: { type: "ephemeral", ttl: "1h" } })).writesForAnHour,
    true,
  );
});

test("the size of a context is the board's or the list's, and for OpenAI's models the part at the usual price", async () => {
  const openai = { dialect: "openai", baseUrl: "https://api.openai.com" } as const;
  const login = { ...openai, baseUrl: "https://chatgpt.com/backend-api/codex", login: "codex" } as const;
  const anthropic = { dialect: "anthropic", baseUrl: "https://api.anthropic.com" } as const;
  const own = { ...openai, models: { "gpt-5.5": { contextTokens: 900_000 } } };
  for (const [provider, config, model, tokens] of [
    ["openai", openai, "gpt-5.5", 272_000],
    ["openai", openai, "gpt-5.1", 272_000],
    ["openai", own, "gpt-5.5", 900_000],
    ["codex-subscription", login, "gpt-5.5", 272_000],
    ["anthropic", anthropic, "claude-opus-4-5", 200_000],
    ["anthropic", anthropic, "claude-opus-4-6", 1_000_000],
    ["local", { ...openai, baseUrl: "http://127.0.0.1:1" }, "house-model", 128_000],
  ] as const)
    assert.equal(await contextTokensOf(provider, config, model), tokens, `${provider} ${model}`);
});

test("a model without a price in the list is not free, unless the board says so", async () => {
  const config = { dialect: "openai", baseUrl: "https://api.cerebras.ai" } as const;
  const model = "qwen-3-coder-480b";
  assert.equal(await priceOf("cerebras", config, model), undefined);
  assert.equal(await priceOf("openai", config, "whisper-1"), undefined);
  const free = { ...config, models: { [model]: { price: { input: 0, output: 0 } } } };
  const price = (await priceOf("cerebras", free, model)) ?? assert.fail();
  assert.equal(price({ input: 1000, output: 1000, cacheRead: 0, cacheWrite: 0 }), 0);
});
