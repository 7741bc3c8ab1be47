import { normalize } from "node:path";
import type { z } from "zod";
import type { Usage } from "../contract/budgets.ts";
import type { EndCause, TranscriptEntry } from "../contract/sessions.ts";

/**
 * A brain: the program or model that thinks for an agent. Its module declares a configuration (strictly: unknown keys are
 * refused), documents it, and defines how one session runs:
 *
 *   probe    is the program here, in which version, is it signed in?
 *   launch   makes the command
 *   prepare  writes the files that the program expects in the agent's home, which outlives sessions
 *   hear     understands the lines that the program prints
 *   judge    decides why the session ended
 *
 * Starting, watching and stopping the command is the same for all brains (processes/).
 */
export interface Brain<C extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  /** The schema of the configuration. A field or record with `.meta({ secret: true })` is never shown. */
  readonly config: C;
  /** Markdown for the agent or person that chooses a brain: what it is and how it works. */
  readonly documentation: string;
  /** Risks to know, one sentence each. */
  readonly safety: readonly string[];
  /** Realistic configurations. Each one fits the schema. */
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  /**
   * Checks that this machine has everything the brain needs. Without a configuration, it looks for the usual program. A program
   * that a configuration names is never run, because an agent may have written its name. Whether the provider answers is
   * checked elsewhere (daemon/brain-probe.ts). When `closing` is aborted, a running program is ended.
   */
  readonly probe: (config?: z.infer<C>, closing?: AbortSignal) => Promise<Probe>;
  /** The program of a session with this configuration, if a machine may lack it. Absent if no machine can lack it. */
  readonly program?: (config: z.infer<C>) => NeededProgram | undefined;
  /** The provider that sessions with this configuration ask for models (gateway/). The gateway refuses all others. */
  readonly provider?: (config: z.infer<C>) => string;
  /**
   * Only for a brain without `provider` that runs a command of the hirer. The command finds its providers itself. It may ask
   * these providers for their default model, and others only for the model in the agent's settings. Without both, it can't ask
   * for a model.
   */
  readonly usualProviders?: readonly string[];
  /** The API of that provider that sessions with this configuration ask. */
  readonly api?: (config: z.infer<C>) => ModelApi;
  /**
   * True if the brain continues from a summary, in the same session, when its context is nearly full. Otherwise the session is
   * asked to stop.
   */
  readonly compacts?: true;
  /** Whether the brain runs programs that Agency does not contain. Such a brain needs a sandbox. */
  readonly runsPrograms: boolean;
  /** The files outside the workspace that a session can read because its configuration names them. */
  readonly reads?: (config: z.infer<C>) => readonly string[];
  /** True if a session may have no tools. It then gets the work as text, and its final output counts as the result. */
  readonly plain?: (config: z.infer<C>) => boolean;
  readonly prepare?: (config: z.infer<C>, session: SessionSpec) => void;
  /** The command of one session. Null for a brain that is never started (a person). */
  readonly launch: (config: z.infer<C>, session: SessionSpec) => Launch | null;
  /** Makes an ear for one session. Without an ear, everything that the program prints counts as said by the agent. */
  readonly ear?: () => Ear;
  /** Judges an end. By default, exit code 0 means done. */
  readonly judge?: (end: End) => Judgement;
}

export type ModelApi = "messages" | "responses" | "chat";

export interface NeededProgram {
  /** A name on PATH, or an absolute path. */
  readonly command: string;
  /** The refusal and the advice if the program is missing. */
  readonly missing: string;
}

export interface Probe {
  readonly available: boolean;
  readonly version: string | null;
  readonly says: string;
}

/** Understands one line. An ear may remember earlier lines. */
export type Ear = (line: string) => readonly Heard[];

export type Heard =
  | (Omit<TranscriptEntry, "at" | "kind"> & {
      /** An ear does not report the usage of a model's answer: the gateway counts it. */
      readonly kind: Exclude<TranscriptEntry["kind"], "usage">;
    })
  /** Totals of the session so far. */
  | { readonly kind: "usage"; readonly usage: Usage }
  /** The program's name for this conversation. A later session can resume it. */
  | { readonly kind: "thread"; readonly id: string };

/** Facts about a program that ended. */
export interface End {
  readonly code: number | null;
  readonly signal: string | null;
  readonly said: string;
  readonly toolCalls: number;
  /** The last errors that were heard, and the end of standard error. */
  readonly errors: string;
  /** The last error that the brain named. Empty if it named none. */
  readonly named: string;
}

/**
 * Why a program ended. `missing` and `signed_out` are faults of the brain: all agents that use it wait, and sessions try again
 * after growing waits (gateway/growing-waits.ts). `overloaded` waits. None of these counts as a session without progress. Only
 * with `done` is the final output applied.
 */
export interface Judgement {
  readonly cause: EndCause;
  /** One sentence for people, with the program's own words if there are any. */
  readonly says: string;
}

/** The reason why a brain can't work now. All agents that use it wait together. */
export interface Trouble {
  /**
   * `waiting` ends by itself. The other causes end when something changes: the program is installed, or the key is set. With a
   * time, the brain is tried again then.
   */
  readonly cause: "missing" | "no_key" | "signed_out" | "refused" | "waiting";
  readonly says: string;
  /** Milliseconds on the database's clock. Null if it lasts until something changes. */
  readonly until: number | null;
  /** The name of the secret with the key. */
  readonly secret?: string | undefined;
}

/** The judgement for brains that have none of their own. */
export function plainJudgement({ code, signal }: End): Judgement {
  if (code === 0) return { cause: "done", says: "exited with code 0" };
  return {
    cause: "failed",
    says: signal === null ? `exited with code ${code ?? "unknown"}` : `ended by ${signal}`,
  };
}

export interface SessionSpec {
  readonly id: string;
  /** The credential for tools and for models. A session has no other. */
  readonly token: string;
  readonly workspace: string;
  /** The agent's own folder, which outlives its sessions. */
  readonly home: string;
  /** The agent's own model, or the default of its provider. */
  readonly model: string | null;
  readonly effort: string | null;
  /** How many tokens the model can read, as the gateway counts them. Null if unknown. */
  readonly contextTokens: number | null;
  /** Whether the brain's own sub-agents may be used. */
  readonly mayConsult: boolean;
  /** The conversation to continue, if an earlier session of this agent was cut off. */
  readonly resume?: string | undefined;
  readonly url: string;
  readonly systemPromptFile: string;
  readonly mcpConfigFile: string;
  readonly settingsFile: string;
  readonly briefing: string;
  /** The work as text. Empty for a brain that looks up its work with tools. */
  readonly assignment: string;
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in addition to the few that every session gets. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Files and folders that a sandbox must show, besides those in the command line. */
  readonly reads?: readonly string[];
  /** A command that the program starts. A sandbox shows the files of that command, too. */
  readonly starts?: readonly string[];
}

export function brain<C extends z.ZodObject>(module: Brain<C>): Brain<C> {
  return module;
}

/**
 * The files outside the system's folders that these words name. Every user of the machine can read the system's folders. A path
 * with `..` may lead out of them.
 */
export const filesNamed = (words: readonly string[]): string[] =>
  words.filter(
    (word) => word.startsWith("/") && !(/^\/(usr|s?bin|lib\w*)\//.test(word) && normalize(word) === word),
  );

/** The variables of a session. Their secrets were resolved before (secrets/), so a reference here is a bug. */
export function withValues(variables: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => {
      if (typeof value !== "string") throw new Error(`the variable ${name} has no value`);
      return [name, value];
    }),
  );
}
