/**
 * The waits between tries of something that keeps failing, such as a brain that is signed out or a key that is refused: 30
 * seconds, then twice as long each time, up to an hour.
 */
const firstWait = 30_000;
const longestWait = 3_600_000;

/** Waits in memory, for things that differ between nodes. */
export interface GrowingWaits {
  /**
   * Notes a failure and returns when to try again. A failure before that time belongs to an earlier try and changes nothing.
   */
  failed(key: string, now: number): number;
  /** Forgets the failures: the thing works, or it was replaced. */
  clear(key: string): void;
}

/** When to try again after a failure at `now`. */
export function nextWait(
  last: { readonly wait: number; readonly until: number } | undefined,
  now: number,
): { wait: number; until: number } {
  if (last !== undefined && last.until > now) return { wait: last.wait, until: last.until };
  const wait = Math.min(longestWait, Math.max(firstWait, (last?.wait ?? 0) * 2));
  return { wait, until: now + wait };
}

export function growingWaits(): GrowingWaits {
  const waits = new Map<string, { wait: number; until: number }>();
  return {
    failed: (key, now) => {
      const next = nextWait(waits.get(key), now);
      waits.set(key, next);
      return next.until;
    },
    clear: (key) => void waits.delete(key),
  };
}
