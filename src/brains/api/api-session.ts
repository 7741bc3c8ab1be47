import { z } from "zod";
import type { ProviderDialect } from "../../contract/providers.ts";

/** The input that the daemon gives to the process of a session with an API brain. */
export const ApiSession = z.object({
  dialect: z.enum(["anthropic", "openai"]),
  api: z.enum(["messages", "responses", "chat"]),
  provider: z.string(),
  effort: z.string().nullable(),
  /** The name of the conversation. */
  thread: z.string(),
  isResumed: z.boolean(),
  systemPromptFile: z.string(),
  mcpConfigFile: z.string(),
});

/** The brain for each dialect. */
export const brainTypes: Readonly<Record<ProviderDialect, string>> = {
  anthropic: "anthropic_api",
  openai: "openai_compatible",
};
