import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { SessionLimits } from "./runner.ts";

/** The daemon's side of the watchdog (watchdog-process.ts), which runs only while there are sessions. */
export interface Watchdog {
  /** Returns a function that ends the watch. `onEnd` is called with the reason when the session must end. */
  watch(session: WatchedSession, onEnd: OnEnd): () => void;
  /** Begins a renewal of the leases. The returned function takes how long sessions may run from then on. */
  renewal(): (milliseconds: number) => void;
  stop(): Promise<void>;
}

/** `full` lists the folders that take more than half of the session's space, if that is the reason. */
type OnEnd = (reason: string, full: readonly string[]) => void;

export interface WatchedSession {
  readonly id: string;
  readonly pid: number;
  readonly started: string;
  readonly workspace: string;
  /** The folders whose files count against its limit. */
  readonly folders: readonly string[];
  readonly limits: SessionLimits;
  /** The folders of its control groups. */
  readonly groups: readonly string[];
}

export interface WatchOrder {
  readonly watch?: WatchedSession;
  readonly forget?: string;
}

const beatEvery = 2000;
const silenceMilliseconds = 13_000;
const idleMilliseconds = 10_000;
const startAgainAfter = 1000;
const program = fileURLToPath(
  new URL(`../processes/watchdog-process${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

export function keepWatchdog(): Watchdog {
  const watched = new Map<string, { session: WatchedSession; onEnd: OnEnd }>();
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  /** Until this time, the watchdog is told that the leases are valid. After 13 seconds of silence, it ends the sessions. */
  let speaksUntil = 0;

  const tell = (order: WatchOrder): void => {
    if (child?.pid !== undefined) child.stdin?.write(`${JSON.stringify(order)}\n`);
  };
  const beat = setInterval(() => {
    if (performance.now() < speaksUntil) tell({});
  }, beatEvery);
  beat.unref();

  function start(): ChildProcess {
    // Detached, because Ctrl-C ends every process in the daemon's group.
    const next = spawn(process.execPath, ["--max-old-space-size=64", program], {
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
      env: {},
    });
    next.on("error", () => undefined);
    if (next.pid === undefined) {
      // No process, memory or descriptor is left. Nothing else would end the sessions of a node that stands still.
      setTimeout(() => {
        if (child === next && watched.size > 0) resume();
        else if (child === next) child = undefined;
      }, startAgainAfter).unref();
      return next;
    }
    next.stdin.on("error", () => undefined);
    createInterface({ input: next.stdout }).on("line", (line) => {
      const { id, reason, full } = Report.parse(JSON.parse(line));
      watched.get(id)?.onEnd(reason, full);
    });
    next.once("exit", () => {
      if (child !== next) return;
      child = undefined;
      // The watchdog was killed. Its sessions get a new one.
      if (watched.size > 0) resume();
    });
    next.unref();
    return next;
  }

  function resume(): void {
    child = start();
    for (const { session } of watched.values()) tell({ watch: session });
  }

  const stop = async (): Promise<void> => {
    clearTimeout(idle);
    const ending = child;
    child = undefined;
    if (ending?.pid === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    ending.ref();
    const ended = once(ending, "exit");
    ending.stdin?.end();
    await ended;
  };

  return {
    watch: (session, onEnd) => {
      clearTimeout(idle);
      child ??= start();
      watched.set(session.id, { session, onEnd });
      tell({ watch: session });
      return () => {
        watched.delete(session.id);
        tell({ forget: session.id });
        clearTimeout(idle);
        if (watched.size > 0) return;
        idle = setTimeout(() => void stop(), idleMilliseconds);
        idle.unref();
      };
    },
    renewal: () => {
      const begun = performance.now();
      return (milliseconds) => {
        speaksUntil = Math.max(speaksUntil, begun + milliseconds - silenceMilliseconds);
        if (performance.now() < speaksUntil) tell({});
      };
    },
    stop: async () => {
      clearInterval(beat);
      await stop();
    },
  };
}

const Report = z.object({ id: z.string(), reason: z.string(), full: z.array(z.string()) });
