import type { Exit, Runner, Running, StartSpec } from "../processes/runner.ts";
import type { Life } from "./life.ts";

/**
 * The processes of one machine, without processes. Like a real one, a process
 *   - does nothing until its gate is opened, and ends by itself when the node dies before that
 *   - outlives its node once the gate is open: an orphan, until the node comes back and kills it
 *   - has a pid that somebody else may get later; its start time tells them apart
 *   - is gone at once when it is killed, but its node learns of that only later, and finds it on the disk again after a crash
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
  exit: Exit | null;
  /** The node has learned of its exit. */
  noticed: boolean;
  /** It lives and does nothing any more. */
  hung: boolean;
  /** It handed in its summary, its node knows, and ends it then if it has not ended. */
  endsBy: number | null;
  readonly notice: (exit: Exit) => void;
  /** What it has used so far, and who is told of it. */
  used: number;
  readonly report: StartSpec["onUsage"];
}

const pids = 40;

export class Machine {
  readonly processes: Process[] = [];
  /** The next start fails: no memory, no command, no disk. */
  failNextStart = false;
  #started = 0;
  /** On its disk: exits that a node has learned of, until they are dealt with. */
  readonly #seen = new Map<string, Exit>();

  runnerFor(life: Life): Runner {
    return {
      workspaceFor: (sessionId) => `workspaces/${sessionId}`,
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
      cleanUp: (sessionId) => void this.#seen.delete(sessionId),
    };
  }

  #start(life: Life, session: StartSpec): Running {
    if (this.failNextStart) {
      this.failNextStart = false;
      throw new SpawnFault("the process could not be started");
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

  /** Its node learns that it ended. */
  tell(process: Process): void {
    if (process.exit === null || process.noticed) return;
    process.noticed = true;
    this.#seen.set(process.sessionId, process.exit);
    process.notice(process.exit);
  }

  /** Ended processes that their node does not know of yet and can be told. */
  unnoticed(): Process[] {
    return this.processes.filter(
      ({ exit, noticed, life }) => exit !== null && !noticed && life.alive && !life.frozen,
    );
  }

  closeGates(life: Life): void {
    for (const process of this.alive())
      if (process.life === life && !process.released) process.exit = gateClosed;
  }

  /** Those that nobody will ask about again need not be kept. */
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
