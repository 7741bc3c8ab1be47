import { hash } from "node:crypto";

/**
 * A random generator (sfc32) that repeats itself for the same seed. Every decision of the simulator must come from here.
 * Ids and secrets use a separate stream, so a change of the program that takes one more id does not change the decisions.
 */
export class Chance {
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 1;

  constructor(seed: number, stream: string) {
    const start = hash("sha256", `${stream} ${seed}`, "buffer");
    this.#a = start.readUInt32LE(0);
    this.#b = start.readUInt32LE(4);
    this.#c = start.readUInt32LE(8);
    for (let round = 0; round < 12; round++) this.bits();
  }

  /** Returns 32 random bits. */
  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }

  /** Returns a whole number from 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor((this.bits() / 2 ** 32) * below);
  }

  between(low: number, high: number): number {
    return low + this.int(high - low + 1);
  }

  flip(probability: number): boolean {
    return this.bits() / 2 ** 32 < probability;
  }

  /** Picks an element, or undefined from an empty list. */
  pick<T>(list: readonly T[]): T | undefined {
    return list[this.int(list.length)];
  }

  /** Picks one of the choices, each with a probability in proportion to its weight. */
  weighted<T>(choices: readonly Weighted<T>[]): T {
    const whole = choices.reduce((sum, [weight]) => sum + weight, 0);
    let left = (this.bits() / 2 ** 32) * whole;
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    const last = choices.at(-1);
    if (last === undefined) throw new Error("there is nothing to choose from");
    return last[1];
  }
}

export type Weighted<T> = readonly [weight: number, choice: T];

/** Makes ids in the daemon's format (UUIDs that begin with the time) and secrets, both from the seed. */
export function idsFrom(seed: number, clock: () => number): { newId: () => string; newSecret: () => string } {
  const chance = new Chance(seed, "ids");
  const hex = (): string => chance.bits().toString(16).padStart(8, "0");
  return {
    newId: () => {
      const time = clock().toString(16).padStart(12, "0");
      const [one, two, three] = [hex(), hex(), hex()];
      return `${time.slice(0, 8)}-${time.slice(8)}-7${one.slice(0, 3)}-8${one.slice(3, 6)}-${two}${three.slice(0, 4)}`;
    },
    newSecret: () => `${hex()}${hex()}${hex()}${hex()}`,
  };
}
