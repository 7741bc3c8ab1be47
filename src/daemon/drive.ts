import type { Scheduler } from "../runtime/scheduler.ts";
import { isDiskFull } from "../store/disk.ts";
import type { Store } from "../store/store.ts";

/**
 * Calls the scheduler's tick() after every commit and at the time the last tick asked for, until the daemon stops. Ticks never
 * overlap: `turn` is the running one, and a nudge during it sets `wanted`, which leads to one more tick. On a full disk the
 * scheduler starts once there is space.
 */
export async function runScheduler(parts: {
  store: Store;
  scheduler: Scheduler;
  reportBug: (error: unknown, about: string) => string;
}): Promise<{ stop: () => Promise<void> }> {
  const { store, scheduler, reportBug } = parts;
  let wanted = false;
  let stopped = false;
  let started = false;
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> | undefined;

  const nudge = (): void => {
    wanted = true;
    if (turn === undefined && !stopped) turn = work().finally(() => (turn = undefined));
  };

  async function work(): Promise<void> {
    while (wanted && !stopped) {
      wanted = false;
      clearTimeout(timer);
      let next: number | null;
      try {
        if (!started) await start();
        next = await scheduler.tick();
      } catch (error) {
        // A full disk is already in the log.
        if (!isDiskFull(error)) reportBug(error, "scheduler");
        next = Date.now() + 1000;
      }
      if (next !== null && !stopped) {
        timer = setTimeout(nudge, Math.min(Math.max(next - Date.now(), 0), 60_000));
        timer.unref();
      }
    }
  }

  const start = async (): Promise<void> => {
    await scheduler.start();
    started = true;
  };
  await start().catch((error: unknown) => {
    if (!isDiskFull(error)) throw error;
  });
  const deaf = store.onCommit(nudge);
  nudge();
  return {
    stop: async () => {
      stopped = true;
      deaf();
      clearTimeout(timer);
      await turn;
      // What can't be written now, the next start does.
      await scheduler.stop().catch((error: unknown) => {
        if (!isDiskFull(error)) throw error;
      });
    },
  };
}
