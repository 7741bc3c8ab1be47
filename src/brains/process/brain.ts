import { z } from "zod";
import { text } from "../../contract/words.ts";
import { SecretReference } from "../../contract/secrets.ts";
import { brain, filesNamed, type NeededProgram, type Probe, withValues } from "../brain.ts";
import { programFile } from "../cli-program.ts";
import { commandMissing } from "../texts.ts";

/** The settings of a command that the hirer chooses. */
export const commandSettings = {
  command: text(4096).min(1).describe("Program to run: a name on PATH, or an absolute path."),
  args: z
    .array(text(10_000))
    .max(200)
    .optional()
    .describe("Arguments of the program. They are passed unchanged, without a shell."),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.union([text(10_000), SecretReference]))
    .meta({ secret: true })
    .optional()
    .describe('Additional environment variables. A value is a text or a secret: {"secret": "NAME"}.'),
};

const Command = z.strictObject(commandSettings);

/**
 * The program of a command. Undefined if only the session can find it: its variables set the PATH, or the command is a path in
 * its workspace.
 */
export function neededCommand({ command, env }: z.infer<typeof Command>): NeededProgram | undefined {
  const isFound = command.startsWith("/") || !(command.includes("/") || Object.hasOwn(env ?? {}, "PATH"));
  return isFound ? { command, missing: commandMissing(command) } : undefined;
}

/** Looks for the command. A command that only the session can find counts as present. */
export async function probeCommand(config: z.infer<typeof Command>): Promise<Probe> {
  const needed = neededCommand(config);
  const found = needed && programFile(needed.command);
  return needed !== undefined && found === undefined
    ? { available: false, version: null, says: needed.missing }
    : { available: true, version: null, says: found ?? config.command };
}

export const processBrain = brain({
  type: "process",
  runsPrograms: true,
  config: Command,
  documentation: [
    "Runs any command as the agent. The command gets the briefing on standard input, and `AGENCY_URL`, `AGENCY_TOKEN` and",
    "`AGENCY_WORKSPACE` in the environment. It can call MCP tools at `$AGENCY_URL/mcp` with the token, or only print:",
    "its output is the session's output.",
    "",
    "To report usage, the command prints a line of JSON with the totals so far, as often as it likes:",
    '`{"usage":{"inputTokens":…,"outputTokens":…,"costUsd":…}}`. An object `"consultants"` of the same shape inside `usage` is',
    "the part that sub-agents used. When the budget is used up, the session is stopped.",
    "",
    "Because it runs a command on this machine, an agent may hire with this brain only if the company allows it. It can name only",
    "programs of the system and files that its own configuration names.",
  ].join("\n"),
  safety: [
    "The command runs on this machine in a sandbox. It can write only its workspace, and reach only Agency. It can read only system folders, its own install folder and files named in args.",
    "Without a sandbox it does not start, unless the installation allows it. It then has all rights of the daemon's user.",
    "The board may hire with it. Agents may do so only if the company allows it.",
    "Values of env are stored only encrypted. Configurations never show them again, and those that look like secrets are hidden everywhere. Without a secrets key they are lost when the daemon stops.",
    "The command can read the secrets it gets and could send them to any program in its sandbox.",
  ],
  examples: [
    { command: "my-agent" },
    { command: "node", args: ["agent.mjs", "--brief"], env: { LANG: "C.UTF-8" } },
  ],
  reads: ({ command, args = [] }) => filesNamed([command, ...args]),
  plain: () => true,
  usualProviders: [],
  program: neededCommand,
  probe: async (config) =>
    config === undefined
      ? { available: true, version: null, says: "any command on this machine" }
      : probeCommand(config),
  launch: ({ command, args, env }, { briefing, assignment }) => ({
    command,
    args: args ?? [],
    env: withValues(env ?? {}),
    stdin: assignment === "" ? briefing : `${briefing}\n${assignment}`,
  }),
});
