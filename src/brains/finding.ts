import { get } from "node:http";
import { z } from "zod";
import { ModelName, type ProviderConfig } from "../contract/providers.ts";
import { claudeProgram, subscriptionSecret } from "./claude/brain.ts";
import { type CliProgram, programFile } from "./cli-program.ts";
import { codexProgram, loginFileSecret } from "./codex/brain.ts";
import * as texts from "./texts.ts";

/**
 * What there is on this machine to think with. Finding out asks nothing outside the machine and runs no program: it looks for
 * files on the PATH, for the names of secrets, and for model servers at their usual ports on the loopback address.
 */
export interface Surroundings {
  readonly path: string;
  /** Whether a secret was given to the daemon at its start. */
  readonly has: (secret: string) => boolean;
  /** The ports where a model server may listen. */
  readonly ports: readonly number[];
}

/** The brain that the root agent of a new company gets, and the company's other agents by default. */
export interface StartingBrain {
  readonly type: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** The provider that the company needs for it. */
  readonly provider?: { readonly name: string; readonly config: ProviderConfig };
  /** Which brain, why, and how to choose another, for people. */
  readonly says: string;
}

/** The usual ports of Ollama, llama.cpp, vLLM and LM Studio. */
const serverNames: Readonly<Record<number, string>> = {
  11_434: "Ollama",
  8080: "llama.cpp",
  8000: "vLLM",
  1234: "LM Studio",
};
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
  for (const server of await Promise.all(around.ports.map(serverAt)))
    if (server !== undefined)
      return {
        type: "openai_compatible",
        config: { provider: "local" },
        provider: { name: "local", config: server.config },
        says: texts.thinksLocally(server.name, server.config),
      };
  const installed: CliProgram[] = [
    ...(claude === true ? [claudeProgram] : []),
    ...(codex === true ? [codexProgram] : []),
  ];
  return { ...rehearsing, says: texts.rehearses(installed.map(({ name }) => name)) };
}

const ModelList = z.object({
  data: z
    .array(z.looseObject({ id: ModelName, max_model_len: z.number().int().min(1000).max(1e9).optional() }))
    .max(1000),
});

/** A model that answers no questions. */
const isOther = /embed|rerank|whisper|\btts\b|\bbge\b/i;

/** The model server at a port of this machine. A connection that does not answer quickly is not waited for. */
async function serverAt(port: number): Promise<{ name: string; config: ProviderConfig } | undefined> {
  const baseUrl = `http://127.0.0.1:${port}`;
  const listed = ModelList.safeParse(await jsonAt(`${baseUrl}/v1/models`));
  const models = (listed.data?.data ?? []).filter(({ id }) => !isOther.test(id)).slice(0, 50);
  const [first] = models;
  if (first === undefined) return undefined;
  const price = { input: 0, output: 0 };
  return {
    name: serverNames[port] ?? "A model server",
    config: {
      dialect: "openai",
      baseUrl,
      models: Object.fromEntries(
        models.map(({ id, max_model_len: contextTokens }) => [
          id,
          { price, ...(contextTokens === undefined ? {} : { contextTokens }) },
        ]),
      ),
      defaultModel: first.id,
    },
  };
}

/** A server on a busy machine takes a while. A port where nothing listens refuses at once. */
const patience = 2000;
const mostBytes = 1_000_000;

/** `agent: false` makes a plain connection, also where the environment names a proxy for all others. */
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
