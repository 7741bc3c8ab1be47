import { existsSync, globSync, mkdirSync, renameSync } from "node:fs";
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
import { claudeEar } from "./claude-ear.ts";

export const claudeProgram: CliProgram = {
  name: "Claude Code",
  command: "claude",
  install: "npm install --global @anthropic-ai/claude-code",
  providers: { key: "anthropic", subscription: "claude-subscription" },
  subscribed: "the token that `claude setup-token` prints, CLAUDE_CODE_OAUTH_TOKEN",
};
/** The secret with the token that `claude setup-token` prints. Claude Code itself uses the same name. */
export const subscriptionSecret = "CLAUDE_CODE_OAUTH_TOKEN";

/** The allowed tools of Claude Code. It has others that start sub-agents, wake it later or write to other sessions. */
const tools = ["Bash", "Edit", "Read", "Write", "Glob", "Grep", "Skill"];

export const claudeBrain = brain({
  type: "claude_local",
  ...cliBrain(claudeProgram),
  config: z.strictObject(cliSettings(claudeProgram)),
  documentation: [
    "Runs Claude Code, the command line of Anthropic, as the agent. It must be installed on the machine of the daemon. The agent's",
    "`model` and `effort` apply. Without a model, the default model of the provider is used.",
    "",
    "It works with Agency's MCP tools and with its own tools for files and the shell. A session that was cut off is continued.",
    "",
    "Sessions ask for models through Agency, which adds the key. Set it once: `agency secrets set ANTHROPIC_API_KEY`. To use a",
    "subscription, run `claude setup-token`, then `agency secrets set CLAUDE_CODE_OAUTH_TOKEN`, and choose `login: subscription`.",
  ].join("\n"),
  safety: [
    "Claude Code runs commands in a sandbox: it can write only its workspace and the agent's home, and reach only Agency.",
    "No session holds the key of a provider. It gets a token that works only while it runs.",
    "The board may hire with it. Agents may do so only if the company allows it.",
  ],
  api: () => "messages",
  prepare: (_, session) => {
    copySkills(session, join(session.home, ".claude", "skills"));
    moveConversation(session);
  },
  launch: ({ command = claudeProgram.command, provider, login = "key", exposeSecrets = {} }, session) => {
    const { id, url, token, model, effort, mayConsult, resume, contextTokens } = session;
    const resumes = resume !== undefined && conversationFile(session) !== undefined;
    return {
      command: programAt(command),
      args: [
        ["-p", "--output-format", "stream-json", "--verbose"],
        ["--mcp-config", session.mcpConfigFile, "--strict-mcp-config"],
        ["--setting-sources", "user", "--settings", session.settingsFile, "--permission-mode", "dontAsk"],
        ["--system-prompt-file", session.systemPromptFile],
        ["--tools", [...tools, ...(mayConsult ? ["Task"] : [])].join(",")],
        // Without this argument, Claude Code may not even run a test. The sandbox decides what the tools can reach.
        ["--allowedTools", tools.join(",")],
        model === null ? [] : ["--model", model],
        effort === null ? [] : ["--effort", effort],
        resumes ? ["--resume", resume] : ["--session-id", id],
      ].flat(),
      env: {
        ...withValues(exposeSecrets),
        ANTHROPIC_BASE_URL: `${url}/model/${askedProvider(claudeProgram, { provider, login })}`,
        [login === "key" ? "ANTHROPIC_AUTH_TOKEN" : "CLAUDE_CODE_OAUTH_TOKEN"]: token,
        ...(model === null ? {} : Object.fromEntries(otherModels.map((name) => [name, model]))),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
        // The gateway itself tries again where that helps. With the usual 10 retries, it takes three minutes to notice a wrong
        // key.
        CLAUDE_CODE_MAX_RETRIES: "2",
        DISABLE_AUTOUPDATER: "1",
        ...(contextTokens === null ? {} : contextOf(contextTokens)),
      },
      stdin: openingOf(session, resumes),
    };
  },
  ear: claudeEar,
});

/** The gateway forwards only the agent's own model, so titles, summaries and sub-agents use it as well. */
const otherModels = [
  "ANTHROPIC_DEFAULT_HAIKU_MODEL",
  "ANTHROPIC_SMALL_FAST_MODEL",
  "CLAUDE_CODE_SUBAGENT_MODEL",
];

/**
 * Before the context is full, the gateway asks a session to save its state, and another session continues. With its own limits,
 * Claude Code would summarize or refuse before that.
 */
const contextOf = (tokens: number): Record<string, string> => ({
  DISABLE_COMPACT: "1",
  CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(tokens),
  CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE: String(tokens),
});

/** Claude Code stores conversations by their working folder, and each session has another folder. */
const folderOf = ({ home }: SessionSpec, workspace: string): string =>
  join(home, ".claude", "projects", workspace.replaceAll(/[^A-Za-z0-9]/g, "-"));

function conversationFile({ home, resume }: SessionSpec): string | undefined {
  return globSync(join(home, ".claude", "projects", "*", `${resume ?? "-"}.jsonl`))[0];
}

function moveConversation(session: SessionSpec): void {
  const from = session.resume === undefined ? undefined : conversationFile(session);
  const folder = folderOf(session, session.workspace);
  if (from === undefined || existsSync(join(folder, `${session.resume ?? ""}.jsonl`))) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  renameSync(from, join(folder, `${session.resume ?? ""}.jsonl`));
}
