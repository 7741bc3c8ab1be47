import type { Refusal } from "../contract/refusal.ts";

/** At most `most` pieces of work run at a time. At most `mostWaiting` others wait, and start in the order they came. */
export class Slots {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number, mostWaiting: number) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
  }

  get isIdle(): boolean {
    return this.#running === 0;
  }

  async run<T>(work: () => Promise<T>, full: (waiting: number, most: number) => Refusal): Promise<T> {
    if (this.#running < this.#most) this.#running++;
    else {
      if (this.#waiting.length >= this.#mostWaiting) throw full(this.#waiting.length, this.#mostWaiting);
      // Work that ends passes its slot to the next, so `#running` stays the same.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
