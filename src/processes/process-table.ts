import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** The processes of this machine, as /proc shows them. On other systems only groups and start times are known. */
export interface ProcessRow {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  /** Tells two processes with the same pid apart. */
  readonly started: string;
  readonly threads: number;
  /** Bytes of memory in use. */
  readonly memory: number;
}

const pageBytes = 4096;

export function processTable(): Map<number, ProcessRow> {
  const rows = new Map<number, ProcessRow>();
  if (process.platform !== "linux") return rows;
  for (const name of readdirSync("/proc")) {
    const row = /^\d+$/.test(name) ? rowOf(Number(name)) : undefined;
    // A zombie: it has ended, waits for its parent, and runs nothing.
    if (row !== undefined && row.state !== "Z") rows.set(row.pid, row);
  }
  return rows;
}

function rowOf(pid: number): ProcessRow | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "", parent, threads, started = "", pages] = [0, 1, 17, 19, 21].map((at) => fields[at]);
    return {
      pid,
      state,
      parent: Number(parent),
      started,
      threads: Number(threads),
      memory: Number(pages) * pageBytes,
    };
  } catch {
    return undefined;
  }
}

/** The name of the process's program, up to 15 characters. */
export function programOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** A process and everything that descends from it. */
export function descendants(table: ReadonlyMap<number, ProcessRow>, root: number): ProcessRow[] {
  const children = Map.groupBy(table.values(), ({ parent }) => parent);
  const first = table.get(root);
  const found = first === undefined ? [] : [first];
  for (const { pid } of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/**
 * The ids of a process and all its descendants. The kernel lists the children of each process, so other processes of the
 * machine cost nothing. If the kernel has no such lists (CONFIG_PROC_CHILDREN), all processes are read.
 */
export function family(root: number): number[] {
  if (!existsSync("/proc/self/task")) return [root];
  if (!existsSync(`/proc/${process.pid}/task/${process.pid}/children`))
    return descendants(processTable(), root).map(({ pid }) => pid);
  const found = [root];
  for (const pid of found) found.push(...childrenOf(pid));
  return found;
}

/** Empty if the process is gone. */
function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      Array.from(readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").matchAll(/\d+/g), Number),
    );
  } catch {
    return [];
  }
}

/** The processes, grouped by the workspace of their session. They inherited AGENCY_WORKSPACE, which identifies them. */
export function byWorkspace(): Map<string, number[]> {
  return Map.groupBy(
    readdirSync("/proc").map(Number).filter(Number.isInteger),
    (pid) => workspaceOf(pid) ?? "",
  );
}

/** The workspace of a process's session. Undefined if the process belongs to no session. */
export function workspaceOf(pid: number): string | undefined {
  try {
    return /(?:^|\0)AGENCY_WORKSPACE=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1];
  } catch {
    return undefined;
  }
}

/** When a process started, in the system's format. Undefined if there is no such process. */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform === "linux") return rowOf(pid)?.started;
  try {
    const started = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return started === "" ? undefined : started;
  } catch {
    return undefined;
  }
}

export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process is gone already.
  }
}

export function killGroup(pid: number): void {
  sendSignal(-pid, "SIGKILL");
}
