import { z } from "zod";
import { type ProviderDialect, ProviderName } from "../../contract/providers.ts";
import { type Brain, brain, type ModelApi, withValues } from "../brain.ts";
import { exposing } from "../exposed-secrets.ts";
import { hearOwn, judgeOwn, ownProgram } from "../own-program.ts";
import { type ApiSession, brainTypes } from "./api-session.ts";

/** Brains that ask the API of a model. The loop with the tools is our own (main.ts) and runs in the session's process. */

const shared = [
  "The agent's `model` chooses the model; without one, the provider's default model is used. `effort` is passed on.",
  "",
  "The agent has Agency's MCP tools, the tools of MCP servers it was granted (named `<server>__<tool>`), and four more for its",
  "workspace: `read`, `write`, `edit` and `shell`. Every model call passes the gateway of the daemon, which adds the key, checks",
  "the budget before the call and books what the call used. When the conversation fills 85 % of the context, the agent saves its",
  "state, and the conversation continues from a summary. A session that was cut off is resumed.",
];

const provider = (usual: string) =>
  ProviderName.optional().describe(
    `Provider of the company whose API is used. Default ${usual}. The board adds providers with PUT /api/companies/:companyId/providers/:name.`,
  );

function apiBrain<C extends z.ZodObject<typeof exposing>>(
  dialect: ProviderDialect,
  config: C,
  chosen: (config: z.infer<C>) => { readonly provider: string; readonly api: ModelApi },
  about: readonly string[],
  examples: Brain["examples"],
): Brain<C> {
  return brain({
    type: brainTypes[dialect],
    runsPrograms: true,
    compacts: true,
    config,
    documentation: [...about, ...shared].join("\n"),
    safety: [
      "The session runs in a sandbox: its commands can write only the workspace and reach only Agency. No session holds the provider's key.",
      "Everything that the agent reads is sent to the provider.",
      "The board may hire with it. Agents may do so only if the company allows it.",
    ],
    examples,
    probe: async () => ({ available: true, version: null, says: "built in" }),
    provider: (given) => chosen(given).provider,
    api: (given) => chosen(given).api,
    launch: (given, session) => {
      const settings: z.infer<typeof ApiSession> = {
        dialect,
        ...chosen(given),
        effort: session.effort,
        thread: session.resume ?? session.id,
        isResumed: session.resume !== undefined,
        systemPromptFile: session.systemPromptFile,
        mcpConfigFile: session.mcpConfigFile,
      };
      return {
        ...ownProgram("api/main"),
        env: { ...withValues(given.exposeSecrets ?? {}), AGENCY_SESSION_SETTINGS: JSON.stringify(settings) },
        stdin: session.briefing,
      };
    },
    ear: () => hearOwn,
    judge: judgeOwn,
  });
}

export const anthropicBrain = apiBrain(
  "anthropic",
  z.strictObject({ provider: provider("anthropic"), ...exposing }),
  ({ provider: name = "anthropic" }) => ({ provider: name, api: "messages" }),
  ["Asks Claude through Anthropic's API, or another server that speaks Anthropic's messages.", ""],
  [{}, { provider: "anthropic" }],
);

export const openAiBrain = apiBrain(
  "openai",
  z.strictObject({
    provider: provider("openai"),
    api: z
      .enum(["chat", "responses"])
      .optional()
      .describe(
        "chat (the default): chat completions, which almost every server has. responses: OpenAI's Responses API, the only one of some models.",
      ),
    ...exposing,
  }),
  ({ provider: name = "openai", api = "chat" }) => ({ provider: name, api }),
  [
    "Asks any server that speaks OpenAI's chat completions or Responses: hosted ones, and local ones such as Ollama, llama.cpp and",
    "vLLM. For a local server, the board adds a provider with its address, its models and their context, for example",
    "`http://127.0.0.1:11434`. With Responses, nothing is stored at the provider.",
    "",
  ],
  [{}, { provider: "local" }, { api: "responses" }],
);
