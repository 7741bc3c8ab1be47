import type { Exit, Runner, Running, StartSpec } from "../processes/runner.ts";
import type { Life } from "./life.ts";

/**
 * Simulates the processes of one machine.
 *
 *   gated ──released──▶ running ──exits or killed──▶ ended ──tell──▶ noticed by its node
 *
 * As on a real machine:
 *   - A gated process does nothing, and ends if its node dies.
 *   - A running process outlives its node. It is then an orphan, until the restarted node kills it.
 *   - A pid is reused. The start time tells two processes with the same pid apart.
 *   - A killed process ends at once, but its node learns of it later. After a crash the exit is still on the disk.
 */
export interface Process {
  readonly pid: number;
  readonly started: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly companyId: string;
  readonly token: string;
  readonly life: Life;
  released: boolean;
  /** Whether its session ended while it waited at its gate, before its pid was recorded. */
  isTooLate: boolean;
  exit: Exit | null;
  /** Whether the node has learned of the exit. */
  noticed: boolean;
  /** Whether the process lives but hangs. */
  hung: boolean;
  /** Set once the session has submitted its summary: the node ends the process at this time. */
  endsBy: number | null;
  readonly notice: (exit: Exit) => void;
  /** The tokens used so far, which are passed to `report`. */
  used: number;
  readonly report: StartSpec["onUsage"];
}

const pids = 40;

export class Machine {
  readonly processes: Process[] = [];
  /** Makes the next start fail, as for lack of memory. */
  failNextStart = false;
  #failedStarts = 0;
  #started = 0;
  /** Exits on the machine's disk: a node has learned of them but not settled their sessions. */
  readonly #seen = new Map<string, Exit>();

  runnerFor(life: Life): Runner {
    return {
      workspaceFor: (sessionId) => `workspaces/${sessionId}`,
      canStart: () => true,
      leaseRenewal: () => () => undefined,
      start: async (session) => this.#start(life, session),
      killOrphan: (pid, started) => {
        const orphan = this.alive().find((process) => process.pid === pid && process.started === started);
        if (orphan !== undefined) this.end(orphan, killed);
      },
      takeExit: (sessionId) => {
        const exit = this.#seen.get(sessionId);
        this.#seen.delete(sessionId);
        return exit;
      },
      cleanUp: async (sessionId) => void this.#seen.delete(sessionId),
      cleanUpOthers: async () => undefined,
    };
  }

  #start(life: Life, session: StartSpec): Running {
    if (this.failNextStart) {
      this.failNextStart = false;
      // In turns the brain's fault, which counts against the agent, and the node's.
      this.#failedStarts += 1;
      const fault = new SpawnFault("the process could not be started");
      throw this.#failedStarts % 2 === 0 ? fault : Object.assign(fault, { code: "EAGAIN" });
    }
    const exited = Promise.withResolvers<Exit>();
    const taken = new Set(this.alive().map(({ pid }) => pid));
    let pid = 100 + (this.#started % pids);
    while (taken.has(pid)) pid += 1;
    this.#started += 1;
    const process: Process = {
      pid,
      started: String(this.#started),
      sessionId: session.id,
      agentId: session.agent.id,
      companyId: session.agent.company_id,
      token: session.token,
      life,
      released: false,
      isTooLate: false,
      exit: null,
      noticed: false,
      hung: false,
      endsBy: null,
      notice: exited.resolve,
      used: 0,
      report: session.onUsage,
    };
    this.processes.push(process);
    return {
      pid,
      started: process.started,
      exited: exited.promise,
      release: () => {
        process.released = true;
      },
      hold: () => undefined,
      stop: () => this.end(process, killed),
      kill: () => this.end(process, killed),
    };
  }

  alive(): Process[] {
    return this.processes.filter(({ exit }) => exit === null);
  }

  end(process: Process, exit: Exit): void {
    process.exit ??= exit;
    if (process.life.alive && process.life.seesExitsAtOnce) this.tell(process);
  }

  /** Tells the node that the process ended. */
  tell(process: Process): void {
    if (process.exit === null || process.noticed) return;
    process.noticed = true;
    this.#seen.set(process.sessionId, process.exit);
    process.notice(process.exit);
  }

  /** Ended processes whose node is alive and does not know of the end yet. */
  unnoticed(): Process[] {
    return this.processes.filter(
      ({ exit, noticed, life }) => exit !== null && !noticed && life.alive && !life.frozen,
    );
  }

  closeGates(life: Life): void {
    for (const process of this.alive())
      if (process.life === life && !process.released) process.exit = gateClosed;
  }

  /** Drops ended processes that no node will ask about again. */
  forgetTheDead(): void {
    const kept = this.processes.filter(
      ({ exit, noticed, life }) => exit === null || (!noticed && life.alive),
    );
    this.processes.splice(0, this.processes.length, ...kept);
  }
}

export class SpawnFault extends Error {
  override readonly name = "SpawnFault";
}

const killed: Exit = { code: null, reason: "ended by SIGKILL", output: "" };
const gateClosed: Exit = { code: 1, reason: "its gate closed", output: "" };
