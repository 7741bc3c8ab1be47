import type { Store } from "../store/store.ts";

export interface Follower {
  /** Works one last time, then stops. */
  stop(): Promise<void>;
}

/**
 * Works after commits, one run at a time, and once more at the end. `work` gets whether this is the last time. It returns the
 * milliseconds until the next run, and must not throw. Without commits it runs every `atLeastEvery` milliseconds.
 */
export function afterCommits(parts: {
  readonly store: Store;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** The pause in milliseconds, also before the first run. */
  readonly pause: number;
  readonly atLeastEvery: number;
  readonly work: (isLast: boolean) => Promise<number>;
}): Follower {
  const { store, sleep, atLeastEvery } = parts;
  const stopping = new AbortController();
  let wake = (): void => undefined;
  let committed = true;
  const deaf = store.onCommit(() => {
    committed = true;
    wake();
  });

  async function run(): Promise<void> {
    let { pause } = parts;
    for (let isLast = false; !isLast;) {
      if (!committed)
        await Promise.race([
          new Promise<void>((resolve) => (wake = resolve)),
          sleep(atLeastEvery, stopping.signal),
        ]);
      await sleep(pause, stopping.signal);
      isLast = stopping.signal.aborted;
      committed = false;
      pause = await parts.work(isLast);
    }
    deaf();
  }

  const running = run();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
