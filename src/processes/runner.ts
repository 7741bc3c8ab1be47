import type { AgentRow } from "../agents/table.ts";
import type { Usage } from "../budgets/budget.ts";

/** Workspaces and processes, as the scheduler needs them. processes.ts runs real ones; the simulator has its own. */
export interface Runner {
  workspaceFor(sessionId: string): string;
  /** False for a brain that runs programs on a machine without a sandbox. */
  canStart(brainType: string): boolean;
  /** The leases of this node were written and are good for this long. Without this, its sessions are ended. */
  confirmLeases(milliseconds: number): void;
  /** Creates the workspace and starts the process, which does nothing until it is released. */
  start(session: StartSpec): Promise<Running>;
  /** Kills a process of an earlier run of this node, if the pid is still that process, and everything it started. */
  killOrphan(pid: number, started: string, sessionId: string): void;
  /**
   * How a process ended, if an earlier run of this node saw it end and did not settle the session. It is returned only once:
   * an output that crashes the daemon must not crash it at every start.
   */
  takeExit(sessionId: string): Exit | undefined;
  /** Removes everything the session left on disk except its transcript. */
  cleanUp(sessionId: string): Promise<void>;
  /** Removes the workspaces that earlier runs of this node left: all but those that `isOwn` accepts. */
  cleanUpOthers(isOwn: (sessionId: string) => boolean): Promise<void>;
}

export interface StartSpec {
  readonly id: string;
  readonly token: string;
  /** Its configuration has the values of its secrets. They exist only in memory. */
  readonly agent: AgentRow;
  /** Values of the company that its output must not show. */
  readonly secrets: readonly string[];
  readonly workspace: string;
  readonly briefing: {
    readonly text: string;
    readonly assignment: string;
    readonly systemPrompt: string;
    readonly mcpServers: readonly McpEntry[];
    /** Whether the brain's own sub-agents may be used. */
    readonly mayConsult: boolean;
  };
  readonly limits: SessionLimits;
  /** The company's skills. */
  readonly skills: readonly SkillCopy[];
  /** Called whenever the process reports what it has used so far. */
  readonly onUsage: (usage: Usage) => void;
}

/** What all processes of a session may use together. */
export interface SessionLimits {
  /** Processes and threads. */
  readonly processes: number;
  readonly memoryMb: number;
  readonly diskMb: number;
}

export interface McpEntry {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

export interface Running {
  readonly pid: number;
  /** Start time. Distinguishes this process from a later one with the same pid. */
  readonly started: string;
  readonly exited: Promise<Exit>;
  release(): void;
  /** Stops the process (SIGSTOP), or lets it continue. */
  hold(still: boolean): void;
  /** Kills the process at once, with everything it started. */
  kill(): void;
}

export interface Exit {
  readonly code: number | null;
  readonly reason: string;
  /** The last 64 kB of its output. */
  readonly output: string;
  readonly usage?: Usage;
}

/** A file of a skill that is copied into a session's workspace. */
export interface SkillCopy {
  /** `<skill>/<path>` */
  readonly path: string;
  readonly content: Uint8Array;
}
