/**
 * The scheduler's work by company: one piece at a time in each company. The scheduler waits for a piece only as long as its
 * patience
 * lasts: a company whose lock is held elsewhere must not hold up the others.
 *
 *   free ──work──▶ busy ──done in time──▶ free        busy ──patience is over──▶ unattended ──done──▶ free
 */
export interface Lanes {
  readonly run: InCompany;
  readonly busy: () => number;
  /** Resolves when no work is under way, or when patience is over. */
  idle(): Promise<void>;
}

/**
 * Runs work in a company. Returns false, and does nothing, if earlier work of the company is under way. The caller then tries
 * again later.
 */
export type InCompany = (companyId: string, work: () => Promise<unknown>) => Promise<boolean>;

/** `patience` resolves or is aborted when waiting takes too long. Without it, the scheduler waits for all work. */
export function createLanes(
  patience: ((signal: AbortSignal) => Promise<void>) | undefined,
  reportBug: (error: unknown, about: string) => void,
): Lanes {
  const lanes = new Map<string, Promise<unknown>>();
  return {
    run: async (companyId, work) => {
      if (lanes.has(companyId)) return false;
      const done = work().finally(() => lanes.delete(companyId));
      lanes.set(companyId, done);
      const waiting = new AbortController();
      let isUnattended = false;
      const over = patience?.(waiting.signal).then(() => {
        if (!waiting.signal.aborted) isUnattended = true;
      });
      done.catch((error: unknown) => {
        if (isUnattended) reportBug(error, `work in company ${companyId}`);
      });
      await Promise.race(over === undefined ? [done] : [done, over]).finally(() => waiting.abort());
      return true;
    },
    busy: () => lanes.size,
    idle: async () => {
      const waiting = new AbortController();
      const done = Promise.allSettled(lanes.values());
      const over = patience?.(waiting.signal);
      await Promise.race(over === undefined ? [done] : [done, over]).finally(() => waiting.abort());
    },
  };
}
