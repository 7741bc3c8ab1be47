/**
 * The waits between tries of something that keeps failing, such as a brain that is signed out or a key that is refused: 30
 * seconds, then twice as long each time, up to an hour. Only in memory.
 */
const firstWait = 30_000;
const longestWait = 3_600_000;

export interface GrowingWaits {
  /** It failed. Returns when to try again. What fails before that time had begun earlier, and changes nothing. */
  failed(key: string, now: number): number;
  /** It worked, or it is another thing now. */
  clear(key: string): void;
}

export function growingWaits(): GrowingWaits {
  const waits = new Map<string, { wait: number; until: number }>();
  return {
    failed: (key, now) => {
      const last = waits.get(key);
      if (last !== undefined && last.until > now) return last.until;
      const wait = last === undefined ? firstWait : Math.min(longestWait, last.wait * 2);
      waits.set(key, { wait, until: now + wait });
      return now + wait;
    },
    clear: (key) => void waits.delete(key),
  };
}
