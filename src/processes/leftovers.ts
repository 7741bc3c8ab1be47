import { byWorkspace, sendSignal, workspaceOf } from "./process-table.ts";

/**
 * A process that ended while no daemon was running may have left other processes, in its group or outside. All processes are
 * read once for all sessions. Each is read again before it is killed, because pids are reused.
 */
export function leftoverKiller(): (workspace: string) => void {
  let seen: Map<string, number[]> | undefined;
  return (workspace) => {
    seen ??= byWorkspace();
    for (const pid of seen.get(workspace) ?? [])
      if (workspaceOf(pid) === workspace) sendSignal(pid, "SIGKILL");
  };
}

export type Sweep = (workspace: string) => Promise<void>;

/**
 * Kills processes that left the group of a session, such as a background server, but kept its environment. Reading all
 * processes takes a while, and sessions often end together. So all sessions that end within 10 ms share one reading.
 */
export function sweeper(): Sweep {
  const wanted = new Set<string>();
  let look: Promise<void> | undefined;
  return async (workspace) => {
    if (process.platform !== "linux") return;
    wanted.add(workspace);
    look ??= new Promise((resolve) => {
      setTimeout(() => {
        look = undefined;
        const all = byWorkspace();
        for (const one of wanted) for (const pid of all.get(one) ?? []) sendSignal(pid, "SIGKILL");
        wanted.clear();
        resolve();
      }, 10);
    });
    await look;
  };
}
