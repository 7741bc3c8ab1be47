import { inMap } from "../contract/in-map.ts";

/**
 * The calls of each spender whose answers have ended and whose usage is not booked yet. A program that has heard an answer may call
 * again at once. That call waits here: until the booking, the budget holds the most that the answer could have cost, so the call
 * could be refused although there is enough left.
 */
export class Bookings {
  readonly #running = new Map<string, Set<Promise<void>>>();

  async ended(spenderId: string): Promise<void> {
    const running = this.#running.get(spenderId);
    if (running !== undefined) await Promise.all(running);
  }

  /** Runs a booking. */
  async run(spenderId: string, book: () => Promise<void>): Promise<void> {
    const all = inMap(this.#running, spenderId, () => new Set<Promise<void>>());
    const { promise, resolve } = Promise.withResolvers<void>();
    all.add(promise);
    try {
      await book();
    } finally {
      all.delete(promise);
      if (all.size === 0) this.#running.delete(spenderId);
      resolve();
    }
  }
}
