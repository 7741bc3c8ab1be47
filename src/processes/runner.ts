import type { AgentRow } from "../agents/table.ts";
import type { Usage } from "../budgets/budget.ts";

/** What the scheduler needs of the world outside: workspaces and processes. The simulator has its own. */
export interface Runner {
  workspaceFor(sessionId: string): string;
  /** Makes the workspace and starts the process, which does nothing until it is released. */
  start(session: StartSpec): Promise<Running>;
  /** Kills a process of an earlier life of this node, if that pid is still the same process, and what it left behind. */
  killOrphan(pid: number, started: string, sessionId: string): void;
  /**
   * How a session's process ended that an earlier life of this node saw end and had not dealt with. Said once: words that
   * bring a daemon down must not do so at every start.
   */
  takeExit(sessionId: string): Exit | undefined;
  /** Removes what the session left on disk, but for its transcript. */
  cleanUp(sessionId: string): void;
}

export interface StartSpec {
  readonly id: string;
  readonly token: string;
  readonly agent: AgentRow;
  readonly workspace: string;
  readonly briefing: {
    readonly text: string;
    readonly assignment: string;
    readonly systemPrompt: string;
    readonly mcpServers: readonly McpEntry[];
    /** Whether the brain's own sub-agents may be used. */
    readonly mayConsult: boolean;
  };
  /** Of the company. */
  readonly skills: readonly SkillCopy[];
  /** Called whenever the process says what it has used so far. */
  readonly onUsage: (usage: Usage) => void;
}

export interface McpEntry {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

export interface Running {
  readonly pid: number;
  /** Tells this process from another that gets the same pid later. */
  readonly started: string;
  readonly exited: Promise<Exit>;
  release(): void;
  /** Holds it still, or lets it go on. */
  hold(still: boolean): void;
  /** At once, with everything it started. */
  kill(): void;
}

export interface Exit {
  readonly code: number | null;
  readonly reason: string;
  /** The last 64 kB it printed. */
  readonly output: string;
  readonly usage?: Usage;
}

/** A file of a skill, as it goes into a session's workspace. */
export interface SkillCopy {
  /** `<skill>/<path>` */
  readonly path: string;
  readonly content: Uint8Array;
}
