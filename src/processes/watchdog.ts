import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { SessionLimits } from "./runner.ts";

/** The daemon's side of the watchdog (watchdog-process.ts), which runs while there are sessions. */
export interface Watchdog {
  /** Returns a function that ends the watch. `onEnd` hears why the session must end. */
  watch(session: WatchedSession, onEnd: (reason: string) => void): () => void;
  /** The leases of this node are good for this long. */
  confirm(milliseconds: number): void;
  stop(): Promise<void>;
}

export interface WatchedSession {
  readonly id: string;
  readonly pid: number;
  readonly started: string;
  readonly workspace: string;
  readonly limits: SessionLimits;
  /** The folders of its control groups. */
  readonly groups: readonly string[];
}

export interface WatchOrder {
  readonly watch?: WatchedSession;
  readonly forget?: string;
}

const beatEvery = 2000;
const idleMilliseconds = 10_000;
const program = fileURLToPath(
  new URL(`watchdog-process${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

export function keepWatchdog(): Watchdog {
  const watched = new Map<string, { session: WatchedSession; onEnd: (reason: string) => void }>();
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let confirmedUntil = 0;

  const tell = (order: WatchOrder): void => void child?.stdin?.write(`${JSON.stringify(order)}\n`);
  const beat = setInterval(() => {
    if (performance.now() < confirmedUntil) tell({});
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
    next.stdin.on("error", () => undefined);
    createInterface({ input: next.stdout }).on("line", (line) => {
      const { id, reason } = Report.parse(JSON.parse(line));
      watched.get(id)?.onEnd(reason);
    });
    next.once("exit", () => {
      if (child !== next) return;
      child = undefined;
      // It was killed. Its sessions get a new one.
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
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
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
    confirm: (milliseconds) => (confirmedUntil = performance.now() + milliseconds),
    stop: async () => {
      clearInterval(beat);
      await stop();
    },
  };
}

const Report = z.object({ id: z.string(), reason: z.string() });
