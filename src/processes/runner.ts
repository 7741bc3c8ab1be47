import type { AgentRow } from "../agents/table.ts";
import type { Judgement } from "../brains/brain.ts";
import type { Usage } from "../contract/budgets.ts";
import type { Lost } from "../contract/directives.ts";

/**
 * Workspaces and processes, as the scheduler needs them. processes.ts runs real ones; the simulator has an implementation
 * without processes.
 */
export interface Runner {
  workspaceFor(sessionId: string): string;
  /** False for a brain that runs programs on a machine without a sandbox. */
  canStart(brainType: string): boolean;
  /** Whether sessions of this brain run in a sandbox now. */
  isolates?(brainType: string): boolean;
  /**
   * Called before the leases of this node are written. The returned function is called afterwards: sessions may then run for
   * this long from the moment of the first call. Without a renewal, they are ended.
   */
  leaseRenewal(): (milliseconds: number) => void;
  /** Creates the workspace and starts the process, which does nothing until it is released. */
  start(session: StartSpec): Promise<Running>;
  /** Kills a process of an earlier run of this node and everything it started, if the pid still belongs to that process. */
  killOrphan(pid: number, started: string, sessionId: string): void;
  /**
   * The exit of a process that an earlier run of this node saw but did not settle. It is returned only once: an output that
   * crashes the daemon must not crash it at every start.
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
  /** The agent's row. Its configuration has the values of its secrets, which exist only in memory. */
  readonly agent: AgentRow;
  /** How many tokens its model can read, if its brain asks one through the gateway. */
  readonly contextTokens?: number | undefined;
  /** Values of the company's secrets, which its output must not show. */
  readonly secrets: readonly string[];
  readonly workspace: string;
  readonly briefing: {
    readonly text: string;
    readonly assignment: string;
    readonly systemPrompt: string;
    /** The situation of the agent, as data. */
    readonly situation: object;
    /** Names of the company's MCP servers that the agent may use. */
    readonly mcpServers: readonly string[];
    /** Whether the brain's own sub-agents may be used. */
    readonly mayConsult: boolean;
  };
  readonly limits: SessionLimits;
  /** Folders that its sandbox shows, read-only. */
  readonly shows?: readonly string[];
  /** The brain's name for the conversation of an earlier session that was cut off. */
  readonly resume?: string;
  /** The company's skills. */
  readonly skills: readonly SkillCopy[];
  /** Called when the brain reports its name for this conversation. */
  readonly onThread?: (thread: string) => void;
  /** Called whenever the process reports what it has used so far. */
  readonly onUsage: (usage: Usage) => void;
}

/** The limits for all processes of a session together. */
export interface SessionLimits {
  /** Processes and threads. */
  readonly processes: number;
  readonly memoryMb: number;
  readonly diskMb: number;
}

export interface Running {
  readonly pid: number;
  /** Start time. Distinguishes this process from a later one with the same pid. */
  readonly started: string;
  readonly exited: Promise<Exit>;
  release(): void;
  /** Suspends the process (SIGSTOP), or lets it continue. */
  hold(still: boolean): void;
  /** Asks the process to end (SIGTERM), and kills it after this time. Default: 10 seconds. */
  stop(milliseconds?: number): void;
  /** Kills the process at once, with everything it started. */
  kill(): void;
}

export interface Exit {
  readonly code: number | null;
  /** Default: `done` if the code is 0. */
  readonly cause?: Judgement["cause"];
  readonly reason: string;
  /** The agent's final output, at most its last 64 kB. */
  readonly output: string;
  /** The directives in the part that was cut off. Absent if nothing was cut off. */
  readonly lost?: Lost;
  /** True if it was ended because its node could not renew its lease. */
  readonly leaseLost?: true;
  /** Absent if no call was heard. */
  readonly toolCalls?: number;
  readonly usage?: Usage;
}

/** A file of a skill that is copied into a session's workspace. */
export interface SkillCopy {
  /** `<skill>/<path>` */
  readonly path: string;
  readonly content: Uint8Array;
}
