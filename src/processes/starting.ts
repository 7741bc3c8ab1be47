import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { Server } from "node:net";
import { release } from "node:os";
import { readsOf } from "./reads.ts";
import type { SessionLimits, StartSpec } from "./runner.ts";
import type { SandboxKeeper } from "./sandbox.ts";

/** Starts a command behind a gate: in a sandbox (gate.ts), or with a line of shell. */

const shellGate = 'read -r go <&3 && exec 3<&- && exec "$@"';

/** No single file may become larger than the limit for all files. The shell counts in units of half a kilobyte. */
export const filesUpTo = ({ diskMb }: SessionLimits): string => `ulimit -c 0; ulimit -f ${diskMb * 2048}; `;

export interface Gated {
  readonly child: ChildProcess;
  /** Lets the gate become the command. */
  readonly open: () => void;
}

interface Start {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The first commands of the shell: join the group and set limits. */
  readonly before: string;
}

export function behindShellGate(workspace: string, { command, env, before }: Start): Gated {
  const child = spawn("/bin/sh", ["-c", `${before}${shellGate}`, "agency-session", ...command], {
    cwd: workspace,
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    env,
  });
  const pipe = child.stdio[3];
  return {
    child,
    open: () => {
      if (pipe === null || pipe === undefined || !("write" in pipe)) return;
      pipe.on("error", () => undefined);
      pipe.end("go\n");
    },
  };
}

/** The environment goes through the channel: everyone can see the command line of a process, and root every environment. */
export function behindSandboxGate(
  options: {
    readonly path: string;
    readonly home: string;
    readonly url: () => string;
    readonly sandbox: Pick<SandboxKeeper, "wrap" | "filter">;
    readonly onDoor: (door: Server) => void;
  },
  { workspace, limits, shows = [] }: Pick<StartSpec, "workspace" | "limits" | "shows">,
  {
    command,
    env,
    before,
    home: agentHome,
    reads,
    writes = [],
  }: Start & {
    readonly home: string;
    readonly reads: readonly string[];
    readonly writes?: readonly string[];
  },
): Gated {
  const { path, home, sandbox, url } = options;
  const box = {
    workspace,
    home: agentHome,
    reads: [...readsOf(command, { path, home, more: reads }), ...shows],
    writes,
  };
  const args = [...sandbox.wrap(box, processesUpTo(limits)), url()];
  const filter = openSync(sandbox.filter, "r");
  const child = spawn("/bin/sh", ["-c", `${before}exec bwrap "$@"`, "agency-session", ...args], {
    cwd: workspace,
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "ipc", filter],
    env: { PATH: path, AGENCY_WORKSPACE: workspace },
  });
  closeSync(filter);
  child.once("message", (_, door) => {
    if (!(door instanceof Server)) return;
    options.onDoor(door);
    child.once("exit", () => door.close());
  });
  return { child, open: () => void child.send({ command, env }, () => undefined) };
}

/**
 * Set inside the sandbox: the limit counts the processes of the sandbox's user, since Linux 5.14 only those in the sandbox. A
 * daemon that runs as root has no such limit. Shells disagree about the letter.
 */
function processesUpTo({ processes }: SessionLimits): string {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  const counts = major > 5 || (major === 5 && minor >= 14);
  return counts ? `ulimit -p ${processes} 2>/dev/null || ulimit -u ${processes} 2>/dev/null; ` : "";
}
