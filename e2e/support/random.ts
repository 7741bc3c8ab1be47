/**
 * Repeatable random numbers: the same seed gives the same sequence. A repeated run has the same plan of kills and contents,
 * but its processes may still race differently.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 up to, but not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  between(least: number, most: number): number {
    return Math.floor(least + this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    const chosen = from[Math.floor(this.next() * from.length)];
    if (chosen === undefined) throw new RangeError("nothing to pick from");
    return chosen;
  }

  bytes(size: number): Buffer {
    const bytes = Buffer.alloc(size);
    for (let index = 0; index < size; index += 4) {
      const width = Math.min(4, size - index);
      bytes.writeUIntBE(Math.floor(this.next() * 256 ** width), index, width);
    }
    return bytes;
  }

  fork(): Random {
    return new Random(Math.floor(this.next() * 0x1_0000_0000));
  }
}
