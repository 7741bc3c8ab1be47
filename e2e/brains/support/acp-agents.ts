// Two real programs behind their adapters for the Agent Client Protocol.
import { type Adapter, claude, codex } from "./adapters.ts";

const otherModel = "test-model-1";

export const acpAgents = {
  "Claude Code": {
    ...claude,
    type: "acp",
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
} satisfies Readonly<Record<string, Adapter>>;
