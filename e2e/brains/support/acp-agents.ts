// Programs that speak the Agent Client Protocol: OpenCode itself, and Claude Code and Codex behind adapters.
import { type Adapter, claude, codex, openAiCompatible } from "./adapters.ts";
import { use } from "../../../src/testing/fake-model/script.ts";

const otherModel = "test-model-1";

export const acpAgents = {
  "Claude Code": {
    ...claude,
    type: "acp",
    recorded: "acp-claude",
    program: "claude-agent-acp",
    configOf: () => ({
      command: "claude-agent-acp",
      env: {
        ANTHROPIC_MODEL: claude.model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: claude.model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_MAX_RETRIES: "0",
        // Otherwise Claude hides MCP tools behind a search.
        ENABLE_TOOL_SEARCH: "false",
      },
    }),
  },
  Codex: {
    ...codex,
    // Codex hides MCP tools behind a search for the models that it knows.
    model: otherModel,
    type: "acp",
    recorded: "acp-codex",
    program: "codex-acp",
    configOf: (url) => ({
      command: "codex-acp",
      env: {
        NO_BROWSER: "1",
        MODEL_PROVIDER: "agency",
        INITIAL_AGENT_MODE: "agent-full-access",
        CODEX_CONFIG: JSON.stringify({
          model: otherModel,
          model_provider: "agency",
          approval_policy: "never",
          sandbox_mode: "danger-full-access",
          web_search: "disabled",
          model_providers: {
            agency: {
              name: "Agency",
              base_url: `${url}/model/openai/v1`,
              env_key: "AGENCY_TOKEN",
              wire_api: "responses",
              request_max_retries: 0,
            },
          },
        }),
      },
    }),
  },
  OpenCode: {
    ...openAiCompatible,
    type: "acp",
    recorded: "acp-opencode",
    program: "opencode",
    configOf: () => ({
      command: "opencode",
      args: ["acp"],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          model: `agency/${openAiCompatible.model}`,
          small_model: `agency/${openAiCompatible.model}`,
          // The sandbox decides what its shell reads.
          permission: { external_directory: "allow" },
          autoupdate: false,
          share: "disabled",
          provider: {
            agency: {
              npm: "@ai-sdk/openai-compatible",
              options: { baseURL: "{env:AGENCY_URL}/model/openai/v1", apiKey: "{env:AGENCY_TOKEN}" },
              models: { [openAiCompatible.model]: { reasoning: true } },
            },
          },
        }),
        // Otherwise it would ask the internet for its list of models and for updates.
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
      },
    }),
    shell: (command) => use("bash", { command, description: "Runs a command" }),
  },
} satisfies Readonly<Record<string, Adapter>>;

/**
 * OpenCode speaks the protocol itself, so it only has to pass the core tests: work, its model, a stop, a refused key, a search
 * for keys, and its output.
 */
export const coreOnly: ReadonlySet<string> = new Set(["OpenCode"]);
