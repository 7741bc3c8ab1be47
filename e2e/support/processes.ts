// The processes of sessions, as the system shows them. Every process that a session starts inherits its environment. The folder
// named there identifies the session, even for grandchildren and in a sandbox. A zombie has no environment any more and does
// not count: it runs nothing, and only pid 1 of the machine can remove it.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { allowed } from "../../src/testing/allowed.ts";

export interface SessionProcess {
  readonly pid: number;
  readonly sessionId: string;
  readonly command: string;
}

/** All processes of sessions of the daemon on this home. */
export function sessionProcesses(home: string): SessionProcess[] {
  const mark = `AGENCY_WORKSPACE=${home}/workspaces/`;
  return environments().flatMap(({ pid, environment, command }) => {
    const start = environment.indexOf(mark);
    if (start < 0) return [];
    const sessionId = environment.slice(start + mark.length, start + mark.length + 36);
    return [{ pid, sessionId, command }];
  });
}

/** Waits until none of them is left. Returns how long that took since `start`, or fails with the remaining ones. */
export async function gone(
  look: () => readonly SessionProcess[],
  promised: number,
  about: string,
  start = performance.now(),
): Promise<number> {
  const most = allowed(promised);
  for (let left = look(); left.length > 0; left = look()) {
    if (performance.now() - start > most)
      throw new Error(
        `${about}: ${left.length} processes live after ${most} ms: ${left
          .slice(0, 5)
          .map(({ pid, sessionId, command }) => `${pid} (session ${sessionId}) ${command.slice(0, 80)}`)
          .join("; ")}`,
      );
    // A look reads the environment of every process on the machine. After a long wait, looks can be further apart.
    await sleep(Math.max(20, (performance.now() - start) / 50));
  }
  return performance.now() - start;
}

function environments(): { pid: number; environment: string; command: string }[] {
  if (!existsSync("/proc/self/environ")) return environmentsByPs();
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environment = readFileSync(`/proc/${name}/environ`, "utf8");
      if (environment === "") return [];
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
      return [{ pid: Number(name), environment, command }];
    } catch {
      // The process belongs to another user, or has just ended.
      return [];
    }
  });
}

function environmentsByPs(): { pid: number; environment: string; command: string }[] {
  const lines = execFileSync("ps", ["-axwwE", "-o", "pid=,stat=,command="], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  }).split("\n");
  return lines.flatMap((line) => {
    const [, pid, state, command = ""] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined || state?.startsWith("Z") === true
      ? []
      : [{ pid: Number(pid), environment: command, command }];
  });
}
