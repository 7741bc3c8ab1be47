import { z } from "zod";
import { brain, filesNamed, withValues } from "../brain.ts";
import { programFile } from "../cli-program.ts";
import { hearOwn, judgeOwn, ownProgram } from "../own-program.ts";
import { commandSettings, neededCommand, probeCommand } from "../process/brain.ts";
import type { AcpSession } from "./acp-session.ts";
import { knownHere, noneKnown } from "./texts.ts";

/** Known programs that speak the protocol, with the arguments that make them do so. */
const knownPrograms: readonly (readonly [command: string, ...args: string[]])[] = [
  ["gemini", "--acp"],
  ["opencode", "acp"],
  ["copilot", "--acp"],
  ["goose", "acp"],
  ["claude-agent-acp"],
  ["codex-acp"],
];

/**
 * Any program that speaks the Agent Client Protocol. Our program (main.ts) starts it and speaks with it, in the session's
 * process.
 */
export const acpBrain = brain({
  type: "acp",
  runsPrograms: true,
  config: z.strictObject(commandSettings),
  documentation: [
    "Runs any agent that speaks the Agent Client Protocol (ACP) over standard input and output, such as `gemini --acp`,",
    "`opencode acp` or `copilot --acp`. The agent gets Agency's MCP tools over HTTP, and the prompt and the briefing as its",
    "first message. Its requests for permission are answered from the agent's rights. The agent's `model` and `effort` are set if the",
    "program offers a choice. If it does not, the transcript says so.",
    "",
    "The program finds its models through Agency: `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL` lead to the providers `anthropic` and",
    "`openai`, with the session's token as the key. Set other variables in `env`. Another provider is asked only for the agent's `model`. A program that reaches a model in another",
    "way needs `net:<host>`, and Agency then can't count what it uses.",
  ].join("\n"),
  safety: [
    "The program runs in a sandbox, as with the brain process. It can write only its workspace and its home, and reach only Agency.",
    "The board may hire with it. Agents may do so only if the company allows it.",
    "Values of env are stored only encrypted. Configurations never show them again, and those that look like secrets are hidden everywhere.",
  ],
  examples: [
    { command: "gemini", args: ["--acp"] },
    { command: "opencode", args: ["acp"] },
  ],
  reads: ({ command, args = [] }) => filesNamed([command, ...args]),
  program: neededCommand,
  usualProviders: ["anthropic", "openai"],
  probe: async (config) => {
    if (config !== undefined) return probeCommand(config);
    const here = knownPrograms.filter(([command]) => programFile(command) !== undefined);
    return here[0] === undefined
      ? { available: false, version: null, says: noneKnown(knownPrograms.map(([command]) => command)) }
      : { available: true, version: null, says: knownHere(here) };
  },
  launch: ({ command, args = [], env }, session) => {
    const settings: z.infer<typeof AcpSession> = {
      command,
      args,
      model: session.model,
      effort: session.effort,
      resume: session.resume ?? null,
      workspace: session.workspace,
      systemPromptFile: session.systemPromptFile,
      mcpConfigFile: session.mcpConfigFile,
      settingsFile: session.settingsFile,
    };
    return {
      ...ownProgram("acp/main"),
      starts: [command, ...args],
      env: { ...withValues(env ?? {}), AGENCY_SESSION_SETTINGS: JSON.stringify(settings) },
      stdin: session.briefing,
    };
  },
  ear: () => hearOwn,
  judge: judgeOwn,
});
