import type { z } from "zod";

/**
 * What thinks for an agent. A brain module declares its configuration (strictly: unknown keys are refused), documents it,
 * reports whether the brain is available, and makes the command that runs one session. Running, watching and ending that
 * command is the same for all brains (processes/).
 */
export interface Brain<C extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  /** A field or record with `.meta({ secret: true })` is never shown. */
  readonly config: C;
  /** For the agent or person that chooses a brain: what it is and how it works. Markdown. */
  readonly documentation: string;
  /** Risks to know, one sentence each. */
  readonly safety: readonly string[];
  /** Realistic configurations. Each one fits the schema. */
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  /** Is the brain available on this machine, and in which version? */
  readonly probe: () => Promise<{
    readonly available: boolean;
    readonly version: string | null;
    readonly says: string;
  }>;
  /** Whether it runs programs that Agency does not contain. Such a brain needs a sandbox. */
  readonly runsPrograms: boolean;
  /** The files outside the workspace that a session with this configuration gets to read because it names them. */
  readonly reads?: (config: z.infer<C>) => readonly string[];
  /** True if a session may have no tools. It is then given the work as text, and its final output counts as the result. */
  readonly plain?: (config: z.infer<C>) => boolean;
  /** The command of one session. Null for a brain that is never started (a person). */
  readonly launch: (config: z.infer<C>, session: SessionSpec) => Launch | null;
}

export interface SessionSpec {
  readonly workspace: string;
  readonly url: string;
  readonly systemPromptFile: string;
  readonly mcpConfigFile: string;
  readonly settingsFile: string;
  readonly briefing: string;
  /** The work as text. Empty for a brain that looks it up with its tools. */
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

/** The variables of a session. Its secrets were put in before (secrets/), so a reference is a bug. */
export function withValues(variables: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => {
      if (typeof value !== "string") throw new Error(`the variable ${name} has no value`);
      return [name, value];
    }),
  );
}
