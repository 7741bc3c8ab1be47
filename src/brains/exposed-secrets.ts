import { z } from "zod";
import { SecretReference } from "../contract/secrets.ts";
import { text } from "../contract/words.ts";

/** Variables that steer the shell, the loader or the brain's own program. No secret may have such a name. */
const steering =
  /^(?:PATH|HOME|SHELL|USER|IFS|ENV|BASH_\w*|TMPDIR|LANG|LC_\w*|\w*_PROXY|NODE_(?!AUTH_TOKEN$)\w*|NPM_CONFIG_\w*|GIT_(?!TOKEN$)\w*|(?:LD|DYLD|AGENCY|ANTHROPIC|CLAUDE|CODEX|OPENAI|DISABLE|MCP)_\w*)$/i;

/**
 * Secrets that a session can see, as variables of its environment. All others stay in the daemon. Only the board refers to a
 * secret by its name (secrets/), and values are hidden in transcripts.
 */
export const exposing = {
  exposeSecrets: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
        .refine((name) => !steering.test(name), "This variable steers the program. Choose another name."),
      z.union([text(10_000), SecretReference]),
    )
    .meta({ secret: true })
    .optional()
    .describe(
      'Secrets that its sessions see as variables, such as {"GITHUB_TOKEN": {"secret": "GITHUB_TOKEN"}}. The agent can read them: expose only what it must use itself.',
    ),
};
