import type { z } from "zod";

/**
 * What thinks for an agent. A brain module says what configuration it takes (strictly: unknown keys are refused), explains
 * itself, tells whether it is there, and makes the command that runs one session. How the command is run, watched and
 * ended is the same for all of them (runtime/).
 */
export interface Brain<C extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  readonly config: C;
  /** For whoever chooses a brain: what it is, what its keys mean, what to beware of. Markdown. */
  readonly documentation: string;
  /** What to beware of, one sentence each. */
  readonly safety: readonly string[];
  /** Configurations as somebody would ask for them; each fits the schema. */
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  /** Is it there, and which version? */
  readonly probe: () => Promise<{
    readonly available: boolean;
    readonly version: string | null;
    readonly says: string;
  }>;
  /** It may have no tools: then it is told the work itself, and what it prints last is taken for its result. */
  readonly plain?: (config: z.infer<C>) => boolean;
  /** The command of one session; null for a brain that is never started (a person). */
  readonly launch: (config: z.infer<C>, session: SessionSpec) => Launch | null;
}

export interface SessionSpec {
  readonly workspace: string;
  readonly url: string;
  readonly systemPromptFile: string;
  readonly mcpConfigFile: string;
  readonly settingsFile: string;
  readonly briefing: string;
  /** The work itself in words; empty for a brain that looks it up with its tools. */
  readonly assignment: string;
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the few variables every session gets. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
}

export function brain<C extends z.ZodObject>(module: Brain<C>): Brain<C> {
  return module;
}
