/**
 * A process beside the daemon. It ends sessions when the daemon can't, and sessions that exceed their limits.
 *
 *   the daemon confirms its leases every 2 seconds ──13 seconds of silence──▶ every session is ended
 *   the daemon is gone (its pipe closes) ──▶ every session is ended, and so is this process
 *   a session is above a limit ──▶ the daemon is told and ends it; after 2 more seconds this process does
 *
 * Silence is counted in this process's own ticks, not with a clock: if the whole machine stood still, the daemon could not report.
 */
import { lstat, readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { killGroups, removeGroups } from "./cgroups.ts";
import {
  byWorkspace,
  descendants,
  killGroup,
  type ProcessRow,
  processTable,
  sendSignal,
  startTimeOf,
} from "./process-table.ts";
import { leaseLost, tooMuchDisk, tooMuchMemory, tooManyProcesses } from "./texts.ts";
import type { WatchedSession, WatchOrder } from "./watchdog.ts";

const tickMilliseconds = 500;
const silentTicks = 26;
const graceTicks = 4;
const megabyte = 1024 * 1024;
const leastOfEntry = 4096;

interface Watched extends WatchedSession {
  /** Every process of the session that was seen, with its start time: some leave no other trace. */
  readonly seen: Map<number, string>;
  /** Ticks since the daemon was told that the session is above a limit. */
  overFor: number | undefined;
}

const sessions = new Map<string, Watched>();
let silent = 0;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
process.stdout.on("error", () => undefined);
const orders = createInterface({ input: process.stdin });
orders.on("line", (line) => obey(JSON.parse(line)));
orders.once("close", () => {
  void Promise.all([...sessions.values()].map((session) => end(session))).then(() => process.exit(0));
});
setInterval(tick, tickMilliseconds);
void measureDisks();

function obey(order: WatchOrder): void {
  silent = 0;
  if (order.watch !== undefined)
    sessions.set(order.watch.id, { ...order.watch, seen: new Map(), overFor: undefined });
  if (order.forget !== undefined) sessions.delete(order.forget);
}

function tick(): void {
  silent += 1;
  if (sessions.size === 0) return;
  if (silent >= silentTicks)
    for (const session of sessions.values()) {
      report(session, leaseLost);
      sessions.delete(session.id);
      void end(session);
    }
  const table = processTable();
  for (const session of sessions.values()) {
    const rows = descendants(table, session.pid);
    for (const { pid, started } of rows) session.seen.set(pid, started);
    const reason = excessOf(session, rows);
    if (reason !== undefined) over(session, reason);
    if (session.overFor !== undefined && (session.overFor += 1) > graceTicks) void end(session);
  }
}

function excessOf({ limits }: Watched, rows: readonly ProcessRow[]): string | undefined {
  const threads = rows.reduce((sum, row) => sum + row.threads, 0);
  if (threads > limits.processes) return tooManyProcesses(threads, limits.processes);
  const memory = rows.reduce((sum, row) => sum + row.memory, 0) / megabyte;
  if (memory > limits.memoryMb) return tooMuchMemory(Math.round(memory), limits.memoryMb);
  return undefined;
}

function over(session: Watched, reason: string, full: readonly string[] = []): void {
  if (session.overFor !== undefined) return;
  session.overFor = 0;
  report(session, reason, full);
}

/** `full` lists the folders that take more than half of the session's space. */
function report({ id }: Watched, reason: string, full: readonly string[] = []): void {
  process.stdout.write(`${JSON.stringify({ id, reason, full })}\n`);
}

/** Ends every process of the session, and looks again until none is left. */
async function end(session: Watched): Promise<void> {
  const { pid, started, workspace, groups, seen } = session;
  for (let round = 0; round < 40; round++) {
    const leader = startTimeOf(pid);
    if (leader === undefined || leader === started) killGroup(pid);
    killGroups(groups);
    const table = processTable();
    const left = [
      ...[...seen].filter(([child, start]) => table.get(child)?.started === start).map(([child]) => child),
      ...descendants(table, pid)
        .filter(() => leader === started)
        .map((row) => row.pid),
      ...(byWorkspace().get(workspace) ?? []).filter((child) => table.has(child)),
    ];
    for (const child of left) sendSignal(child, "SIGKILL");
    if (left.length === 0) break;
    await sleep(25);
  }
  await removeGroups(groups);
}

/** Walks the folders of sessions one after the other. Each walk is followed by a rest of ten times its length. */
async function measureDisks(): Promise<void> {
  for (;;) {
    const start = performance.now();
    for (const session of sessions.values()) {
      const sizes = new Map<string, number>();
      for (const folder of session.folders) sizes.set(folder, await sizeOf(folder));
      const bytes = [...sizes.values()].reduce((sum, size) => sum + size, await hiddenSizeOf(session));
      const { diskMb } = session.limits;
      const full = [...sizes].filter(([, size]) => size > (diskMb * megabyte) / 2).map(([folder]) => folder);
      if (bytes > diskMb * megabyte) over(session, tooMuchDisk(Math.round(bytes / megabyte), diskMb), full);
    }
    await sleep(Math.max(1000, (performance.now() - start) * 10));
  }
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const entry = await lstat(path).catch(() => undefined);
    // An empty file takes space on the disk, too.
    bytes +=
      Math.max((entry?.blocks ?? 0) * 512, leastOfEntry) +
      (entry?.isDirectory() === true ? await sizeOf(path) : 0);
  }
  return bytes;
}

/** Files that were deleted but are still open take up space, too. */
async function hiddenSizeOf({ seen }: Watched): Promise<number> {
  let bytes = 0;
  for (const pid of seen.keys()) {
    const folder = `/proc/${pid}/fd`;
    for (const name of await readdir(folder).catch(() => [])) {
      const target = await readlink(join(folder, name)).catch(() => "");
      if (!target.endsWith(" (deleted)")) continue;
      bytes += ((await stat(join(folder, name)).catch(() => undefined))?.blocks ?? 0) * 512;
    }
  }
  return bytes;
}
