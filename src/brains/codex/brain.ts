import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { brain, type SessionSpec, withValues } from "../brain.ts";
import {
  cliBrain,
  type CliProgram,
  cliSettings,
  copySkills,
  openingOf,
  programAt,
  askedProvider,
} from "../cli-program.ts";
import { ownServer } from "../mcp-config.ts";
import { codexEar } from "./codex-ear.ts";
import { toml } from "./toml.ts";

export const codexProgram: CliProgram = {
  name: "Codex",
  command: "codex",
  install: "npm install --global @openai/codex",
  providers: { key: "openai", subscription: "codex-subscription" },
  subscribed: "the path of the file in which `codex login` keeps its login, CODEX_LOGIN_FILE",
};
/** The secret with the path of the file in which Codex stores its login. */
export const loginFileSecret = "CODEX_LOGIN_FILE";

const homeOf = ({ home }: SessionSpec): string => join(home, ".codex");

export const codexBrain = brain({
  type: "codex_local",
  ...cliBrain(codexProgram),
  config: z.strictObject(cliSettings(codexProgram)),
  documentation: [
    "Runs Codex, the command line of OpenAI, as the agent. It must be installed on the machine of the daemon. The agent's `model`",
    "and `effort` apply. Without a model, the default model of the provider is used.",
    "",
    "It works with Agency's MCP tools and with its own tools for files and the shell. A session that was cut off is continued.",
    "",
    "Sessions ask for models through Agency, which adds the key. Set it once: `agency secrets set OPENAI_API_KEY`. To use a plan of",
    "ChatGPT, run `codex login`, then `agency secrets set CODEX_LOGIN_FILE` with the path of its `auth.json`, and choose",
    "`login: subscription`.",
  ].join("\n"),
  safety: [
    "Codex runs commands in a sandbox: it can write only its workspace and the agent's home, and reach only Agency.",
    "Its own sandbox is off, because it can't run inside Agency's. Without a sandbox it does not start, unless the installation allows it.",
    "No session holds the key of a provider. It gets a token that works only while it runs.",
    "The board may hire with it. Agents may do so only if the company allows it.",
  ],
  api: () => "responses",
  prepare: (config, session) => {
    mkdirSync(homeOf(session), { recursive: true, mode: 0o700 });
    if (session.model !== null)
      writeFileSync(catalogFile(session), JSON.stringify(catalogFor(session.model, session)), {
        mode: 0o600,
      });
    writeFileSync(join(homeOf(session), "config.toml"), toml(settingsFor(config, session)), {
      mode: 0o600,
    });
    copySkills(session, join(homeOf(session), "skills"));
  },
  launch: ({ command = codexProgram.command, exposeSecrets = {} }, session) => {
    const { resume } = session;
    // Without its file, a conversation can't be continued.
    const resumes =
      resume !== undefined && globSync(join(homeOf(session), "sessions", "**", `*${resume}*`)).length > 0;
    return {
      command: programAt(command),
      args: ["exec", "--json", "--skip-git-repo-check", ...(resumes ? ["resume", resume] : []), "-"],
      env: { ...withValues(exposeSecrets), CODEX_HOME: homeOf(session) },
      stdin: openingOf(session, resumes),
    };
  },
  ear: codexEar,
});

const ServerEntry = z.looseObject({
  url: z.string().optional(),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  headers: z.record(z.string(), z.string()).optional(),
});
const ServerFile = z.object({ mcpServers: z.record(z.string(), ServerEntry) });

/**
 * Codex's own sandbox is off, because it fails inside ours. By default Codex would also obey the AGENTS.md of a cloned
 * repository, and offer sub-agents and a web search.
 */
function settingsFor(config: Parameters<typeof askedProvider>[1] & Exposing, session: SessionSpec) {
  const { url, model, effort } = session;
  const { mcpServers } = ServerFile.parse(JSON.parse(readFileSync(session.mcpConfigFile, "utf8")));
  return {
    model_provider: "agency",
    ...(model === null
      ? { developer_instructions: readFileSync(session.systemPromptFile, "utf8") }
      : { model, model_catalog_json: catalogFile(session) }),
    ...(effort === null ? {} : { model_reasoning_effort: effort === "max" ? "xhigh" : effort }),
    approval_policy: "never",
    sandbox_mode: "danger-full-access",
    check_for_update_on_startup: false,
    project_doc_max_bytes: 0,
    web_search: "disabled",
    // Codex's own skills are for people at a terminal, and copying them into the home delays each start.
    skills: { bundled: { enabled: false } },
    features: { multi_agent: session.mayConsult, goals: false, plugins: false, apps: false },
    shell_environment_policy: shellVariables(Object.keys(config.exposeSecrets ?? {})),
    model_providers: {
      agency: {
        name: "Agency",
        base_url: `${url}/model/${askedProvider(codexProgram, config)}/v1`,
        env_key: "AGENCY_TOKEN",
        wire_api: "responses",
        request_max_retries: 2,
        stream_max_retries: 2,
      },
    },
    mcp_servers: Object.fromEntries(
      Object.entries(mcpServers).map(([name, entry]) => [name, serverFor(entry, name === ownServer)]),
    ),
  };
}

interface Exposing {
  readonly exposeSecrets?: Readonly<Record<string, unknown>> | undefined;
}

/** By default Codex removes variables that look like secrets from its shell. */
const shellVariables = (exposed: readonly string[]) =>
  exposed.length === 0
    ? { inherit: "core" }
    : {
        inherit: "all",
        ignore_default_excludes: true,
        include_only: ["HOME", "PATH", "SHELL", "USER", "LOGNAME", "TMPDIR", "LANG", ...exposed],
      };

const catalogFile = (session: SessionSpec): string => join(homeOf(session), "models.json");

/**
 * Codex's description of the model. Its own entry for a known model would hide our tools behind a search or a tool that runs
 * code, and would add 17 kB of instructions. For an unknown model, Codex would guess.
 */
const catalogFor = (slug: string, { systemPromptFile, contextTokens }: SessionSpec) => ({
  models: [
    {
      slug,
      display_name: slug,
      description: "",
      base_instructions: readFileSync(systemPromptFile, "utf8"),
      default_reasoning_level: "medium",
      supported_reasoning_levels: efforts.map((effort) => ({ effort, description: effort })),
      supports_reasoning_summaries: true,
      default_reasoning_summary: "auto",
      support_verbosity: false,
      default_verbosity: null,
      shell_type: "unified_exec",
      apply_patch_tool_type: "freeform",
      supports_search_tool: false,
      supports_parallel_tool_calls: true,
      experimental_supported_tools: [],
      truncation_policy: { mode: "tokens", limit: 10_000 },
      // Codex summarizes by itself at 90 %. Before that, the gateway asks the session to save its state.
      context_window: contextTokens,
      input_modalities: ["text", "image"],
      visibility: "list",
      supported_in_api: true,
      priority: 1,
      availability_nux: null,
      upgrade: null,
    },
  ],
});
const efforts = ["low", "medium", "high", "xhigh"];

function serverFor(
  { url, command, args, env, headers = {} }: z.infer<typeof ServerEntry>,
  isRequired: boolean,
) {
  const waits = { tool_timeout_sec: 3600, default_tools_approval_mode: "approve" };
  if (url === undefined) return { command: command ?? "", args: args ?? [], env: env ?? {}, ...waits };
  const { Authorization: credential, ...others } = headers;
  const variable = /^Bearer \$\{(\w+)\}$/.exec(credential ?? "")?.[1];
  return {
    url,
    ...(variable === undefined ? {} : { bearer_token_env_var: variable }),
    ...(Object.keys(others).length === 0 ? {} : { http_headers: others }),
    // Without Agency's own tools, a session could only spend money. It can work without any other server.
    ...(isRequired ? { required: true } : {}),
    ...waits,
  };
}
