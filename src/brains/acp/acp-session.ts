import { z } from "zod";

/** The input that the daemon gives to the process of a session with the brain `acp`. */
export const AcpSession = z.object({
  command: z.string(),
  args: z.array(z.string()),
  model: z.string().nullable(),
  effort: z.string().nullable(),
  resume: z.string().nullable(),
  workspace: z.string(),
  systemPromptFile: z.string(),
  mcpConfigFile: z.string(),
  settingsFile: z.string(),
});
