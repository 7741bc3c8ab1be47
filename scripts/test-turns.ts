// Decides which test file runs next, and when: a file starts as long as the files that run leave something of two cores idle.
import { setTimeout as sleep } from "node:timers/promises";
import { coresOf, type Lane, type Length, secondsOf } from "./test-plan.ts";

/** Two, and a fifth: files do not compute all at the same time. */
const cores = 2.4;

export class Turns {
  readonly #lanes: readonly Lane[];
  readonly #length: Length;
  readonly #running = new Map<string, number>();

  constructor(lanes: readonly Lane[], length: Length) {
    this.#lanes = lanes;
    this.#length = length;
  }

  /** Waits for a turn. Undefined: no file is left. */
  async next(): Promise<{ lane: Lane; file: string } | undefined> {
    for (;;) {
      const longest = ({ files }: Lane): number => secondsOf(files[0] ?? "", this.#length);
      const lane = this.#lanes
        .filter(({ files }) => files.length > 0)
        .toSorted((one, other) => longest(other) - longest(one))[0];
      if (lane === undefined) return undefined;
      const file = this.take(lane);
      if (file !== undefined) return { lane, file };
      // A process that has just ended a file asks for another before this one looks again. It has loaded the product already.
      await sleep(200);
    }
  }

  /** The longest file of a lane. Undefined: none is left, or the cores are busy. */
  take(lane: Lane): string | undefined {
    const inUse = this.#running.values().reduce((sum, cores) => sum + cores, 0);
    const file = inUse < cores ? lane.files.shift() : undefined;
    if (file !== undefined) this.#running.set(file, coresOf(file, this.#length));
    return file;
  }

  /** Gives no more turns. */
  close(): void {
    for (const { files } of this.#lanes) files.length = 0;
  }

  end(file: string): void {
    this.#running.delete(file);
  }
}
