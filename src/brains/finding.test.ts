import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { findStartingBrain } from "./finding.ts";
import { allowed } from "../testing/allowed.ts";

const folder = mkdtempSync(join(tmpdir(), "agency-finding-"));
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close().closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

/** A folder of the PATH with these programs. Running one leaves a trace. */
function programs(...names: readonly string[]): string {
  const path = mkdtempSync(join(folder, "bin-"));
  for (const name of names) {
    writeFileSync(join(path, name), `#!/bin/sh\ntouch ${join(folder, "ran")}\n`);
    chmodSync(join(path, name), 0o755);
  }
  return path;
}

async function serverWith(answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** A server that answers only these paths. */
const serving =
  (answers: Readonly<Record<string, unknown>>): RequestListener =>
  ({ url = "" }, response) =>
    void response.writeHead(url in answers ? 200 : 404).end(JSON.stringify(answers[url] ?? {}));
type Listed = Readonly<Record<string, unknown>>;
const listing = (...models: readonly Listed[]) => serving({ "/v1/models": { data: models } });
/** A list of models in the format of vLLM. */
const vllm = (...models: readonly Listed[]) =>
  serving({
    "/v1/models": { data: models.map((model) => ({ owned_by: "vllm", ...model })) },
    "/version": { version: "0.11.0" },
  });

const find = (how: { path?: string; secrets?: readonly string[]; ports?: readonly number[] }) =>
  findStartingBrain({
    path: how.path ?? "",
    has: (name) => how.secrets?.includes(name) === true,
    ports: how.ports ?? [],
  });

const [key, token, openAiKey] = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY"];
const login = "CODEX_LOGIN_FILE";

test("the first working brain in a fixed order is chosen, and the sentence names the reason", async () => {
  const both = programs("claude", "codex");
  const cases: readonly [
    path: string,
    secrets: readonly string[],
    type: string,
    says: RegExp,
    config?: object,
  ][] = [
    ["", [], "rehearsal", /no model was found.*agency secrets set/],
    [
      both,
      [key, token, openAiKey],
      "claude_local",
      /CLAUDE_CODE_OAUTH_TOKEN.*subscription/,
      { login: "subscription" },
    ],
    [both, [key, openAiKey], "claude_local", /Claude Code.*installed.*ANTHROPIC_API_KEY.*charged/],
    [both, [openAiKey, login], "codex_local", /CODEX_LOGIN_FILE.*subscription/, { login: "subscription" }],
    [both, [openAiKey], "codex_local", /Codex.*installed.*OPENAI_API_KEY.*charged/],
    [programs("codex"), [key], "anthropic_api", /ANTHROPIC_API_KEY.*charged/],
    [programs("claude"), [openAiKey], "openai_compatible", /OPENAI_API_KEY.*charged/],
    ["", [key, openAiKey], "anthropic_api", /ANTHROPIC_API_KEY/],
    // The token of a subscription works only in Claude Code.
    ["", [token, login], "rehearsal", /no model was found/],
    [programs("claude"), [], "rehearsal", /Claude Code is installed.*no key/],
    [programs("codex"), [], "rehearsal", /Codex is installed.*no key/],
    [`relative${delimiter}${programs("other")}`, [], "rehearsal", /no model was found/],
  ];
  for (const [path, secrets, type, says, config = {}] of cases) {
    const found = await find({ path, secrets });
    assert.deepEqual([found.type, found.config], [type, config], says.source);
    assert.match(found.says, says);
    assert.match(found.says, /agency brains use/);
  }
  assert.throws(() => chmodSync(join(folder, "ran"), 0o600), "a program was run");
});

test("a model server of this machine is used after keys, with its first model that answers questions, for nothing", async () => {
  const port = await serverWith(
    vllm({ id: "nomic-embed-text" }, { id: "qwen3:8b", max_model_len: 32_000 }, { id: "llama-4" }),
  );
  const found = await find({ ports: [port] });
  assert.deepEqual([found.type, found.config], ["openai_compatible", { provider: "local" }]);
  const price = { input: 0, output: 0 };
  assert.deepEqual(found.provider, {
    name: "local",
    config: {
      dialect: "openai",
      baseUrl: `http://127.0.0.1:${port}`,
      models: { "qwen3:8b": { price, contextTokens: 32_000 }, "llama-4": { price } },
      defaultModel: "qwen3:8b",
    },
  });
  assert.match(found.says, new RegExp(`qwen3:8b.*http://127.0.0.1:${port}.*agency brains use`));
  assert.equal((await find({ ports: [port], secrets: [key] })).type, "anthropic_api");
});

test("a server at such a port that serves no model is passed over, and a silent one is not waited for", async () => {
  const strange = await Promise.all(
    [
      listing(),
      listing({ id: "text-embedding-3" }),
      listing({ id: "<script>" }),
      (_: unknown, response: Parameters<RequestListener>[1]) => void response.end("<html>hello</html>"),
      (_: unknown, response: Parameters<RequestListener>[1]) =>
        void response.writeHead(302, { location: "http://127.0.0.1:9/v1/models" }).end(),
      (_: unknown, response: Parameters<RequestListener>[1]) => void response.write(`{"data":[{"id":"cut"`),
      (_: unknown, response: Parameters<RequestListener>[1]) => void response.write(" ".repeat(2_000_000)),
      () => undefined,
    ].map(serverWith),
  );
  const begun = performance.now();
  assert.equal((await find({ ports: strange })).type, "rehearsal");
  assert.ok(performance.now() - begun < allowed(3000), "it waited");
  const good = await serverWith(vllm({ id: "gemma" }));
  assert.equal((await find({ ports: [...strange, good] })).provider?.config.defaultModel, "gemma");
});

test("only models that a local server says it runs itself are free", async () => {
  const models = (...listed: readonly Listed[]) => ({ "/v1/models": { data: listed } });
  const price = { input: 0, output: 0 };
  const known: readonly [name: string, answers: Listed, free: readonly string[]][] = [
    [
      "Ollama",
      {
        ...models({ id: "gpt-oss:120b-cloud" }, { id: "qwen3:8b", owned_by: "library" }),
        "/api/tags": {
          models: [
            { name: "gpt-oss:120b-cloud", digest: "a", remote_host: "https://ollama.com" },
            { name: "qwen3:8b", digest: "b" },
          ],
        },
      },
      ["qwen3:8b"],
    ],
    [
      "llama.cpp",
      {
        ...models({ id: "gemma", owned_by: "llamacpp" }),
        "/props": { total_slots: 1, default_generation_settings: {} },
      },
      ["gemma"],
    ],
    [
      "vLLM",
      {
        ...models({ id: "gpt-5.5", owned_by: "openai" }, { id: "llama-4", owned_by: "vllm" }),
        "/version": { version: "1" },
      },
      ["llama-4"],
    ],
    [
      "LM Studio",
      { ...models({ id: "phi" }), "/api/v0/models": { data: [{ id: "phi", compatibility_type: "gguf" }] } },
      ["phi"],
    ],
  ];
  for (const [name, answers, free] of known) {
    const { provider, says } = await find({ ports: [await serverWith(serving(answers))] });
    assert.deepEqual(
      provider?.config.models,
      Object.fromEntries(free.map((id) => [id, { price }])),
      `${name}: ${says}`,
    );
    assert.equal(provider?.config.defaultModel, free[0]);
    assert.ok(says.includes(`because ${name} answers`), says);
  }
  const proxies: readonly Listed[] = [
    models({ id: "gpt-5.5", owned_by: "openai" }),
    models({ id: "gpt-5.5", owned_by: "vllm" }),
    { ...models({ id: "gpt-5.5", owned_by: "openai" }), "/version": { version: "1" } },
    { ...models({ id: "gpt-5.5" }), "/api/tags": { models: [{ name: "other", digest: "a" }] } },
  ];
  for (const answers of proxies) {
    const port = await serverWith(serving(answers));
    const { type, provider, says } = await find({ ports: [port] });
    assert.deepEqual([type, provider], ["rehearsal", undefined], JSON.stringify(answers));
    assert.match(says, new RegExp(`http://127.0.0.1:${port} does not say.*price is not known`));
  }
});
