import type { Heart } from "../runtime/heart.ts";
import { renewEvery, type Scheduler } from "../runtime/scheduler.ts";
import { isDiskFull, isUnavailable } from "../store/disk.ts";
import type { Store } from "../store/store.ts";

/**
 * Calls the scheduler's tick() after commits and at the time that the last tick asked for, until the daemon stops. Ticks never
 * overlap: `turn` is the running one, and a nudge during it sets `wanted`, which leads to one more tick. After a tick, the
 * scheduler rests for at least a fifth of the tick's time, so commits that come together share a tick. Without a database or on
 * a full disk, the scheduler starts as soon as it can.
 *
 * Leases are renewed in a separate loop, which waits for no tick. A renewal that failed is repeated soon: after a connection that
 * died silently, one at the usual time could come too late for the sessions.
 */
export async function runScheduler(parts: DriveParts & { scheduler: Scheduler }): Promise<Driven> {
  const { store, scheduler, sleep, reportBug } = parts;
  const stopping = new AbortController();
  let wanted = false;
  let started = false;
  let rested = 0;
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> | undefined;

  const nudge = (): void => {
    wanted = true;
    if (turn === undefined && !stopping.signal.aborted) turn = work().finally(() => (turn = undefined));
  };

  async function work(): Promise<void> {
    while (wanted && !stopping.signal.aborted) {
      await sleep(Math.max(rested - performance.now(), 0), stopping.signal);
      wanted = false;
      clearTimeout(timer);
      const begun = performance.now();
      let pause: number | null = 1000;
      try {
        if (!started) await start();
        const next = await scheduler.tick();
        // By the database's clock, because this machine's clock may be hours ahead or behind.
        pause = next === null ? null : Math.min(Math.max(next - scheduler.now(), 0), 60_000);
      } catch (error) {
        // The log already says that the disk is full.
        if (!isDiskFull(error)) reportBug(error, "scheduler");
      }
      const ended = performance.now();
      rested = ended + Math.min(Math.max((ended - begun) * 4, restAtLeast), restAtMost);
      if (pause === null || stopping.signal.aborted) continue;
      timer = setTimeout(nudge, pause);
      timer.unref();
    }
  }

  async function keepLeases(): Promise<void> {
    while (!stopping.signal.aborted) {
      const isRenewed = await scheduler.renewLeases().then(
        () => true,
        (error: unknown) => {
          if (!isDiskFull(error)) reportBug(error, "leases");
          return false;
        },
      );
      await sleep(isRenewed ? renewEvery : renewAgain, stopping.signal);
    }
  }

  const start = async (): Promise<void> => {
    await scheduler.start();
    started = true;
  };
  await start().catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
  });
  const deaf = store.onCommit(nudge);
  nudge();
  const leases = keepLeases();
  /** Ends the wait for running sessions when the daemon is asked to stop a second time. */
  const hurry = new AbortController();
  let drained: Promise<void> | undefined;

  async function drain(milliseconds: number): Promise<void> {
    if (milliseconds <= 0) return;
    const until = performance.now() + milliseconds;
    // A node without sessions need not wait for a silent database.
    void scheduler.drain(milliseconds).catch(() => undefined);
    while (scheduler.running() > 0 && performance.now() < until && !hurry.signal.aborted)
      await sleep(50, hurry.signal);
  }

  return {
    drain: (milliseconds) => {
      if (drained !== undefined && milliseconds <= 0) hurry.abort();
      return (drained ??= drain(milliseconds));
    },
    stop: async () => {
      stopping.abort();
      deaf();
      clearTimeout(timer);
      await turn;
      // Writes that fail now are made at the next start.
      await scheduler.stop().catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
      });
      await leases;
    },
  };
}

/** The work of a node, until the daemon stops. */
interface DriveParts {
  readonly store: Store;
  /** Resolves after this time or when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly reportBug: (error: unknown, about: string) => string;
}

interface Driven {
  /**
   * Starts no new sessions, and lets running ones end by themselves for this long. A second call without a time ends the wait.
   */
  drain(milliseconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** A node that starts no sessions also reports itself to the others. */
export async function keepBeating(parts: DriveParts & { heart: Heart }): Promise<Driven> {
  const { store, heart, sleep, reportBug } = parts;
  const stopping = new AbortController();
  const beat = async (): Promise<void> => {
    const next = heart.beat();
    if (next === undefined) return;
    await store
      .write((tx) => next.write(tx), "leases")
      .then(next.written, (error: unknown) => {
        if (!isDiskFull(error)) reportBug(error, "heartbeat");
      });
  };
  await beat();
  const beating = (async () => {
    while (!stopping.signal.aborted) {
      await sleep(renewEvery, stopping.signal);
      if (!stopping.signal.aborted) await beat();
    }
  })();
  return {
    drain: async () => undefined,
    stop: () => {
      stopping.abort();
      return beating;
    },
  };
}

/** Much shorter than the leases of a node that could not renew them (runtime/node-leases.ts). */
const renewAgain = 1000;
const restAtLeast = 25;
const restAtMost = 100;
