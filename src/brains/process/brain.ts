import { z } from "zod";
import { brain } from "../brain.ts";

export const processBrain = brain({
  type: "process",
  config: z.strictObject({
    command: z.string().min(1).max(4096).describe("The program to run; found on PATH, or an absolute path."),
    args: z
      .array(z.string().max(10_000))
      .max(200)
      .optional()
      .describe("Its arguments, passed as they are: no shell."),
    env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(10_000))
      .optional()
      .describe("Further environment variables."),
  }),
  documentation: [
    "Runs any command as the agent. The briefing comes on standard input; `AGENCY_URL`, `AGENCY_TOKEN` and",
    "`AGENCY_WORKSPACE` are in the environment. The command may speak MCP at `$AGENCY_URL/mcp/<server>` with the token, or",
    "only print: what it prints is the session's output. A line of JSON",
    '`{"usage":{"inputTokens":…,"outputTokens":…,"costUsd":…}}` reports usage so far, at any time and as often as it likes;',
    '`"consultants"` in it, of the same shape, is the part that sub-agents used. When the budget is used up, it is stopped.',
    "",
    "It runs a command of your choice on this machine, so an agent may hire with it only where the company allows it.",
  ].join("\n"),
  safety: [
    "The command runs on this machine as the user of the daemon, in a sandbox where there is one.",
    "Agents may not hire with it unless the company allows it; the board may.",
    "Values of env are stored as they are given and shown to nobody again; prefer a file that only the command reads.",
  ],
  examples: [
    { command: "my-agent" },
    { command: "node", args: ["agent.mjs", "--brief"], env: { LANG: "C.UTF-8" } },
  ],
  plain: () => true,
  probe: async () => ({ available: true, version: null, says: "any command on this machine" }),
  launch: ({ command, args, env }, { briefing, assignment }) => ({
    command,
    args: args ?? [],
    env: env ?? {},
    stdin: assignment === "" ? briefing : `${briefing}\n${assignment}`,
  }),
});
