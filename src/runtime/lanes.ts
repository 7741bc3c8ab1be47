/**
 * The scheduler's work by company, one piece at a time in each. A piece is awaited only as long as the scheduler's patience
 * lasts: a company whose lock is held elsewhere must not hold up the others.
 *
 *   free ──work──▶ busy ──done in time──▶ free        busy ──patience is over──▶ unattended ──done──▶ free
 */
export interface Lanes {
  readonly run: InCompany;
  readonly busy: () => number;
  /** Resolves when no work is under way, or patience is over. */
  idle(): Promise<void>;
}

/** False if earlier work of the company is under way. Then nothing was done, and the caller tries again later. */
export type InCompany = (companyId: string, work: () => Promise<unknown>) => Promise<boolean>;

/** `patience` resolves when waiting takes too long, or is aborted. Without it, all work is awaited. */
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
