import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionLimits } from "./runner.ts";

/**
 * One control group per session, if the system lets the daemon create one. The kernel then counts the session's processes and
 * memory, and ends all of them at once, whatever they did to hide. Without groups, the watchdog alone does that as well as it
 * can.
 *
 * Version 2 of control groups has one folder per session. In version 1, each kind of limit has a separate tree.
 */
export interface SessionGroup {
  /** Shell commands by which a process joins. Processes that it starts are in the group, too. */
  readonly join: string;
  readonly folders: readonly string[];
  /** Which limits the kernel accepted. */
  readonly holds: { readonly memory: boolean; readonly processes: boolean };
  /** The limits at which the kernel ended a process or refused to start one. */
  reached(): { readonly memory: boolean; readonly processes: boolean };
}

const megabyte = 1024 * 1024;
const prefix = "agency-";

/** Creates the group of a session. Undefined if the system allows none. */
export function makeGroup(sessionId: string, limits: SessionLimits): SessionGroup | undefined {
  const holds = { memory: false, processes: false };
  const folders = places().flatMap(({ base, version, kinds }) => {
    const parent = join(base, `${prefix}${process.pid}`);
    const folder = join(parent, sessionId);
    try {
      mkdirSync(parent, { recursive: true });
      if (version === 2)
        for (const at of [base, parent]) attempt(join(at, "cgroup.subtree_control"), "+memory +pids");
      mkdirSync(folder);
    } catch {
      return [];
    }
    if (kinds.includes("pids") && attempt(join(folder, "pids.max"), String(limits.processes)))
      holds.processes = true;
    const memory = version === 2 ? "memory.max" : "memory.limit_in_bytes";
    if (kinds.includes("memory") && attempt(join(folder, memory), String(limits.memoryMb * megabyte)))
      holds.memory = true;
    attempt(join(folder, "memory.oom.group"), "1");
    return [folder];
  });
  if (folders.length === 0) return undefined;
  return {
    folders,
    holds,
    join: folders.map((folder) => `echo $$ > '${join(folder, "cgroup.procs")}' 2>/dev/null; `).join(""),
    reached: () => ({
      memory: happened(folders, ["memory.events", "memory.oom_control"], "oom_kill"),
      processes: happened(folders, ["pids.events"], "max"),
    }),
  };
}

/** Whether the kernel would limit the processes and the memory of a session. Makes a group and removes it. */
export function kernelLimits(): SessionGroup["holds"] {
  const group = makeGroup("trial", { processes: 100, memoryMb: 100, diskMb: 100 });
  if (group === undefined) return { memory: false, processes: false };
  void removeGroups(group.folders);
  return group.holds;
}

function happened(folders: readonly string[], files: readonly string[], what: string): boolean {
  const counter = new RegExp(`^${what} [1-9]`, "m");
  return folders.some((folder) => files.some((file) => counter.test(readOr(join(folder, file), ""))));
}

/** Ends every process in these groups. */
export function killGroups(folders: readonly string[]): void {
  for (const folder of folders) {
    if (attempt(join(folder, "cgroup.kill"), "1")) continue;
    for (const line of readOr(join(folder, "cgroup.procs"), "").split("\n")) {
      try {
        if (line !== "") process.kill(Number(line), "SIGKILL");
      } catch {
        // The process is gone already.
      }
    }
  }
}

/**
 * Removes groups whose processes have ended. The kernel needs a moment to notice that. The last child's removal also removes
 * its parents.
 */
export async function removeGroups(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    for (let tries = 0; tries < 40 && !removeFolder(folder); tries++) await sleep(25);
    removeFolder(join(folder, ".."));
  }
}

function removeFolder(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT";
  }
}

interface Place {
  readonly base: string;
  readonly version: 1 | 2;
  readonly kinds: readonly string[];
}

/** The group of this process in each tree that limits processes or memory. */
function places(): Place[] {
  const own = readOr("/proc/self/cgroup", "").split("\n");
  return readOr("/proc/self/mountinfo", "")
    .split("\n")
    .flatMap((line): Place[] => {
      const [, root = "", mounted = "", type = "", options = ""] =
        /^\d+ \d+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
      if (type === "") return [];
      const kinds = type === "cgroup2" ? [""] : options.split(",");
      const mine = own.find((entry) => kinds.some((kind) => entry.split(":")[1]?.split(",").includes(kind)));
      const path = mine?.split(":").slice(2).join(":");
      if (
        path === undefined ||
        (type === "cgroup" && !kinds.some((kind) => ["pids", "memory"].includes(kind)))
      )
        return [];
      const at = join(mounted, root === "/" ? path : path.slice(root.length));
      const base = type === "cgroup2" ? delegated(at) : at;
      return type === "cgroup2"
        ? [{ base, version: 2, kinds: readOr(join(base, "cgroup.controllers"), "").split(/\s+/) }]
        : [{ base, version: 1, kinds }];
    });
}

/**
 * The group below which a daemon in this group makes others. In version 2, a group with processes can't limit groups below it. So
 * systemd puts the daemon of a unit into a group below the unit's own (DelegateSubgroup), and those of sessions come beside it.
 */
export const delegated = (own: string): string => (basename(own) === daemonGroup ? dirname(own) : own);

/** As in deploy/agency.service and cli/background.ts. */
const daemonGroup = "agency-daemon";

/** Removes groups of daemons that were killed together with their watchdog. */
export async function removeAbandonedGroups(): Promise<void> {
  for (const { base } of places())
    for (const name of list(base)) {
      const pid = Number(new RegExp(`^${prefix}(\\d+)$`).exec(name)?.[1]);
      if (!(pid > 0) || readOr(`/proc/${pid}/stat`, "") !== "") continue;
      await removeGroups(list(join(base, name)).map((session) => join(base, name, session)));
    }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function attempt(file: string, content: string): boolean {
  try {
    writeFileSync(file, content);
    return true;
  } catch {
    return false;
  }
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return otherwise;
  }
}
