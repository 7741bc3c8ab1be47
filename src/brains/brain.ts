import { normalize } from "node:path";
import type { z } from "zod";
import type { Usage } from "../contract/budgets.ts";
import type { EndCause, TranscriptEntry } from "../contract/sessions.ts";

/**
 * What thinks for an agent. A brain module declares its configuration (strictly: unknown keys are refused), documents it,
 * and says how one session runs:
 *
 *   probe    is it here, in which version, is it signed in?
 *   launch   makes the command
 *   prepare  writes what its program expects in the agent's home, which outlives sessions
 *   hear     understands the lines that the program prints
 *   judge    says why it ended
 *
 * Starting, watching and stopping the command is the same for all brains (processes/).
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
  /**
   * Is what it needs on this machine? Without a configuration, it looks for what is usual. A program that a configuration names is
   * never run, because an agent may have written its name. Whether the provider answers is not its question (daemon/brain-probe.ts).
   * A program that is asked is ended when `closing` is aborted.
   */
  readonly probe: (config?: z.infer<C>, closing?: AbortSignal) => Promise<Probe>;
  /** The program that a session with this configuration runs and that may be missing on a machine. Without it, none can be. */
  readonly program?: (config: z.infer<C>) => NeededProgram | undefined;
  /** The provider of models that sessions with this configuration ask (gateway/). The gateway refuses all others. */
  readonly provider?: (config: z.infer<C>) => string;
  /**
   * Only for a brain without `provider` that runs a command of the one who hires: the command finds its providers itself. It may ask
   * these for their default model, and the others only for the model that the agent's settings name. Without both, no model is asked.
   */
  readonly usualProviders?: readonly string[];
  /** The API of that provider that sessions with this configuration ask. */
  readonly api?: (config: z.infer<C>) => ModelApi;
  /** True if it continues from a summary, in the same session, when its context is nearly full. Otherwise the session is asked to stop. */
  readonly compacts?: true;
  /** Whether it runs programs that Agency does not contain. Such a brain needs a sandbox. */
  readonly runsPrograms: boolean;
  /** The files outside the workspace that a session with this configuration gets to read because it names them. */
  readonly reads?: (config: z.infer<C>) => readonly string[];
  /** True if a session may have no tools. It is then given the work as text, and its final output counts as the result. */
  readonly plain?: (config: z.infer<C>) => boolean;
  readonly prepare?: (config: z.infer<C>, session: SessionSpec) => void;
  /** The command of one session. Null for a brain that is never started (a person). */
  readonly launch: (config: z.infer<C>, session: SessionSpec) => Launch | null;
  /** Makes an ear for one session. Without it, everything that the program prints is what the agent says. */
  readonly ear?: () => Ear;
  /** Without it, exit code 0 means done. */
  readonly judge?: (end: End) => Judgement;
}

export type ModelApi = "messages" | "responses" | "chat";

export interface NeededProgram {
  /** A name on PATH, or an absolute path. */
  readonly command: string;
  /** What to say, and to do, where it is missing. */
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
      /** What an answer of a model used is counted by the gateway. */
      readonly kind: Exclude<TranscriptEntry["kind"], "usage">;
    })
  /** Totals of the session so far. */
  | { readonly kind: "usage"; readonly usage: Usage }
  /** What the program calls this conversation. A later session can resume it. */
  | { readonly kind: "thread"; readonly id: string };

/** What is known of a program that ended. */
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
 * Why a program ended. `missing` and `signed_out` are the brain's fault: all agents that use it wait, and sessions try again after
 * waits that grow (gateway/growing-waits.ts). `overloaded` waits. Neither counts as a session without progress. Only what was said
 * before `done` is carried out.
 */
export interface Judgement {
  readonly cause: EndCause;
  /** One sentence for people, in the program's own words where it has some. */
  readonly says: string;
}

/** Why a brain can't work now. All agents that use it wait together. */
export interface Trouble {
  /** Waiting ends by itself. The others end when something changes: the program is installed, the key is set. With a time, it is tried again then. */
  readonly cause: "missing" | "no_key" | "signed_out" | "refused" | "waiting";
  readonly says: string;
  /** Milliseconds on the database's clock. Null: until something changes. */
  readonly until: number | null;
  /** The secret with the key. */
  readonly secret?: string | undefined;
}

/** For a brain that says nothing more exact. */
export function plainJudgement({ code, signal }: End): Judgement {
  if (code === 0) return { cause: "done", says: "exited with code 0" };
  return {
    cause: "failed",
    says: signal === null ? `exited with code ${code ?? "unknown"}` : `ended by ${signal}`,
  };
}

export interface SessionSpec {
  readonly id: string;
  /** Its credential for tools and for models. A session holds no other. */
  readonly token: string;
  readonly workspace: string;
  /** The agent's own folder, which outlives its sessions. */
  readonly home: string;
  /** The agent's own, or the default of its provider. */
  readonly model: string | null;
  readonly effort: string | null;
  /** How much the model can read, as the gateway measures it. Null if it is not known. */
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
  /** The work as text. Empty for a brain that looks it up with its tools. */
  readonly assignment: string;
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the few variables every session gets. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Files and folders that a sandbox must show, beside those that the command line names. */
  readonly reads?: readonly string[];
  /** A command that the program starts. A sandbox shows what that needs, too. */
  readonly starts?: readonly string[];
}

export function brain<C extends z.ZodObject>(module: Brain<C>): Brain<C> {
  return module;
}

/**
 * The files outside the system's folders that these words name. Every user of the machine may read the system's folders. A path
 * with `..` may lead out of them.
 */
export const filesNamed = (words: readonly string[]): string[] =>
  words.filter(
    (word) => word.startsWith("/") && !(/^\/(usr|s?bin|lib\w*)\//.test(word) && normalize(word) === word),
  );

/** The variables of a session. Its secrets were put in before (secrets/), so a reference is a bug. */
export function withValues(variables: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => {
      if (typeof value !== "string") throw new Error(`the variable ${name} has no value`);
      return [name, value];
    }),
  );
}
