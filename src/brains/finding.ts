import { get } from "node:http";
import { z } from "zod";
import { ModelName, type ProviderConfig } from "../contract/providers.ts";
import { claudeProgram, subscriptionSecret } from "./claude/brain.ts";
import { type CliProgram, programFile } from "./cli-program.ts";
import { codexProgram, loginFileSecret } from "./codex/brain.ts";
import * as texts from "./texts.ts";

/**
 * The brains that this machine offers. The search asks nothing outside the machine and runs no program: it looks for files on
 * the PATH, for the names of secrets, and for model servers at their usual ports on the loopback address.
 */
export interface Surroundings {
  readonly path: string;
  /** Whether a secret was given to the daemon at its start. */
  readonly has: (secret: string) => boolean;
  /** The ports at which a model server may listen. */
  readonly ports: readonly number[];
}

/** The brain of a new company's root agent, and by default of its other agents. */
export interface StartingBrain {
  readonly type: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** The provider that the company needs for this brain. */
  readonly provider?: { readonly name: string; readonly config: ProviderConfig };
  /** A text for people: which brain, why, and how to choose another. */
  readonly says: string;
}

/** The usual ports of Ollama, llama.cpp, vLLM and LM Studio. */
export const usualPorts: readonly number[] = [11_434, 8080, 8000, 1234];

export const rehearsing: StartingBrain = { type: "rehearsal", config: {}, says: texts.rehearses([]) };

/** The first brain that can work: a command line with a key, a key, a model server on this machine. Otherwise the rehearsal. */
export async function findStartingBrain(around: Surroundings): Promise<StartingBrain> {
  const { has } = around;
  const [key, otherKey] = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];
  const [claude, codex] = [claudeProgram, codexProgram].map(
    ({ command }) => programFile(command, around.path) !== undefined,
  );
  const withKey = (type: string, says: string): StartingBrain => ({ type, config: {}, says });
  const subscribed = (program: CliProgram, type: string, secret: string): StartingBrain => ({
    ...withKey(type, texts.thinksWithCli(program, type, secret)),
    config: { login: "subscription" },
  });
  if (claude && has(subscriptionSecret)) return subscribed(claudeProgram, "claude_local", subscriptionSecret);
  if (claude && has(key))
    return withKey("claude_local", texts.thinksWithCli(claudeProgram, "claude_local", key));
  if (codex && has(loginFileSecret)) return subscribed(codexProgram, "codex_local", loginFileSecret);
  if (codex && has(otherKey))
    return withKey("codex_local", texts.thinksWithCli(codexProgram, "codex_local", otherKey));
  if (has(key)) return withKey("anthropic_api", texts.thinksWithKey("anthropic_api", key));
  if (has(otherKey)) return withKey("openai_compatible", texts.thinksWithKey("openai_compatible", otherKey));
  const servers = (await Promise.all(around.ports.map(serverAt))).flatMap((server) => server ?? []);
  for (const { name, config } of servers)
    if (name !== undefined)
      return {
        type: "openai_compatible",
        config: { provider: "local" },
        provider: { name: "local", config },
        says: texts.thinksLocally(name, config),
      };
  const installed: CliProgram[] = [
    ...(claude === true ? [claudeProgram] : []),
    ...(codex === true ? [codexProgram] : []),
  ];
  const [unknown] = servers;
  if (unknown !== undefined && installed.length === 0)
    return { ...rehearsing, says: texts.rehearsesUnpriced(unknown.config.baseUrl) };
  return { ...rehearsing, says: texts.rehearses(installed.map(({ name }) => name)) };
}

const ModelList = z.object({
  data: z
    .array(
      z.looseObject({
        id: ModelName,
        owned_by: z.string().optional(),
        max_model_len: z.number().int().min(1000).max(1e9).optional(),
      }),
    )
    .max(1000),
});

/** Names of models that can't answer questions. */
const isOther = /embed|rerank|whisper|\btts\b|\bbge\b/i;

/**
 * How local model servers identify themselves, each in a different way, and which of their models run here. Only those cost
 * nothing. Anything else at such a port may be a proxy to paid models, and needs a price from the board.
 */
const ownAnswers: readonly {
  readonly name: string;
  readonly path: string;
  /** The models that run on this machine: those that the answer names, or those of this owner. */
  readonly runs: z.ZodType<readonly string[] | { readonly owner: string }>;
}[] = [
  {
    name: "Ollama",
    path: "/api/tags",
    // A model with a remote host runs at Ollama's own service.
    runs: z
      .object({
        models: z.array(
          z.looseObject({ name: z.string(), digest: z.string(), remote_host: z.string().optional() }),
        ),
      })
      .transform(({ models }) =>
        models.flatMap(({ name, remote_host: host }) => (host === undefined ? [name] : [])),
      ),
  },
  {
    name: "llama.cpp",
    path: "/props",
    runs: z
      .looseObject({ default_generation_settings: z.looseObject({}), total_slots: z.number() })
      .transform(() => ({ owner: "llamacpp" })),
  },
  {
    name: "vLLM",
    path: "/version",
    runs: z.looseObject({ version: z.string() }).transform(() => ({ owner: "vllm" })),
  },
  {
    name: "LM Studio",
    path: "/api/v0/models",
    runs: z
      .object({ data: z.array(z.looseObject({ id: z.string(), compatibility_type: z.string() })) })
      .transform(({ data }) => data.map(({ id }) => id)),
  },
];

interface FoundServer {
  /** Undefined if the server did not identify itself. */
  readonly name: string | undefined;
  readonly config: ProviderConfig;
}

/** The model server at a port of this machine. Connections that don't answer quickly are given up. */
async function serverAt(port: number): Promise<FoundServer | undefined> {
  const baseUrl = `http://127.0.0.1:${port}`;
  const listed = ModelList.safeParse(await jsonAt(`${baseUrl}/v1/models`));
  const models = (listed.data?.data ?? []).filter(({ id }) => !isOther.test(id)).slice(0, 50);
  if (models.length === 0) return undefined;
  const answers = await Promise.all(
    ownAnswers.map(async ({ name, path, runs }) => {
      const { data } = runs.safeParse(await jsonAt(`${baseUrl}${path}`));
      if (data === undefined) return [];
      const free = models.filter((model) =>
        "owner" in data ? model.owned_by === data.owner : data.includes(model.id),
      );
      return free.length > 0 ? [{ name, free }] : [];
    }),
  );
  const [known] = answers.flat();
  const [first] = known?.free ?? models;
  const price = { input: 0, output: 0 };
  return {
    name: known?.name,
    config: {
      dialect: "openai",
      baseUrl,
      models: Object.fromEntries(
        (known?.free ?? []).map(({ id, max_model_len: contextTokens }) => [
          id,
          { price, ...(contextTokens === undefined ? {} : { contextTokens }) },
        ]),
      ),
      ...(first === undefined ? {} : { defaultModel: first.id }),
    },
  };
}

/** A server on a busy machine takes a while. A port without a server refuses at once. */
const patience = 2000;
const mostBytes = 1_000_000;

/** `agent: false` makes a direct connection, even if the environment names a proxy. */
function jsonAt(url: string): Promise<unknown> {
  return new Promise((resolve) => {
    const nothing = (): void => resolve(undefined);
    const request = get(url, { agent: false, signal: AbortSignal.timeout(patience) }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
        if (body.length > mostBytes) request.destroy();
      });
      response.on("error", nothing).on("close", nothing);
      response.on("end", () => {
        try {
          resolve(response.statusCode === 200 ? JSON.parse(body) : undefined);
        } catch {
          nothing();
        }
      });
    });
    request.on("error", nothing);
  });
}
