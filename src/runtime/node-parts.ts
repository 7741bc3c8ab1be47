import type { AgentRow } from "../agents/table.ts";
import type { Judgement } from "../brains/brain.ts";
import type { Runner } from "../processes/runner.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import type { ReadTx, Store } from "../store/store.ts";
import type { Heart } from "./heart.ts";
import type { NodeTrouble } from "./node-trouble.ts";
import type { TroubleOf } from "./work.ts";

/** Facts about the brains of agents: which model they use, and what keeps them from working. */
export interface BrainHealth {
  readonly troubleOf: TroubleOf;
  /** The agent's own model, or the default of its provider. */
  modelOf(tx: ReadTx, agent: AgentRow): Promise<string | null>;
  /** The number of tokens that this model can read. */
  contextOf(tx: ReadTx, agent: AgentRow): Promise<number | undefined>;
  /** Called when a session ended by itself: its brain worked, or could not. */
  ended(tx: ReadTx, agent: AgentRow, end: Judgement): Promise<void>;
  /** Called when a person may have fixed the brains of this company. The next sessions find out. */
  mended(companyId: string): void;
  /** Checks the brains that could not work. Returns the companies in which one can work again. */
  lookAgain(): Promise<readonly string[]>;
}

export interface NodeParts {
  readonly store: Store;
  readonly nodeId: string;
  readonly runner: Runner;
  readonly newId: () => string;
  readonly newSecret: () => string;
  /** Replaces references to secrets in an agent's configuration. Without it, configurations are used as they are. */
  readonly secrets?: Pick<SecretStore, "resolve" | "valuesOf">;
  /** Checks the programs and providers of brains. Without it, every brain counts as working. */
  readonly brains?: BrainHealth;
  /** Finds the mirror of a repository. Without it, sessions see no repository. */
  readonly mirrorOf?: (tx: ReadTx, companyId: string, name: string) => Promise<string | undefined>;
  /** The most sessions that run on this node at the same time. Without it, there is no limit. */
  readonly capacity?: number;
  /** Reports this node to the others. Without it, they don't know of it. */
  readonly heart?: Heart;
  /** What keeps this node from starting sessions. Without it, only the scheduler knows. */
  readonly trouble?: NodeTrouble;
  /** Milliseconds from one sweep to the next. */
  readonly sweepEvery?: number;
  /** How long the scheduler waits for work in one company before it turns to the others. Without it, it waits to the end. */
  readonly patience?: (signal: AbortSignal) => Promise<void>;
  /** Lets tests act at a step. Unset in the daemon. */
  readonly at?: (step: string) => Promise<void> | void;
  readonly reportBug: (error: unknown, about: string) => void;
}
