// Decides which test file runs next, and when: a file starts as long as a core is idle. How much a file computes is measured while it
// runs. A table of what each computed before was soon wrong, and left a third of two cores idle.
import { availableParallelism, cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Lane, type Length, secondsOf } from "./test-plan.ts";

/** How much of a core must be idle for another file to start. */
const idle = 0.1;
/** A file that started less than this ago counts as one core: what it computes is not seen yet. In milliseconds. */
const fresh = 2000;
/** As many always run, also where other programs use the cores. */
const fewest = 2;

export class Turns {
  readonly #lanes: readonly Lane[];
  readonly #length: Length;
  readonly #coresInUse: () => number;
  readonly #cores: number;
  /** When each file that runs started. */
  readonly #running = new Map<string, number>();

  constructor(
    lanes: readonly Lane[],
    length: Length,
    { coresInUse = watchCores(), cores = availableParallelism() } = {},
  ) {
    this.#lanes = lanes;
    this.#length = length;
    this.#coresInUse = coresInUse;
    this.#cores = cores;
  }

  /** Waits for a turn. Undefined if no file is left. */
  async next(): Promise<{ lane: Lane; file: string } | undefined> {
    for (;;) {
      const longest = ({ files }: Lane): number => secondsOf(files[0] ?? "", this.#length);
      const lane = this.#lanes
        .filter(({ files }) => files.length > 0)
        .toSorted((one, other) => longest(other) - longest(one))[0];
      if (lane === undefined) return undefined;
      const file = this.take(lane);
      if (file !== undefined) return { lane, file };
      await sleep(200);
    }
  }

  /** The longest file of a lane. Undefined if no file is left, or if the cores are busy. */
  take(lane: Lane): string | undefined {
    return this.#hasRoom() ? this.#start(lane) : undefined;
  }

  /**
   * The next file for a process that has just ended one, and has loaded the product already. Its file takes the place of the other
   * one, unless too many run: the cores were busy until now.
   */
  follow(lane: Lane): string | undefined {
    return this.#running.size < this.#cores * 2 ? this.#start(lane) : this.take(lane);
  }

  #start(lane: Lane): string | undefined {
    const file = lane.files.shift();
    if (file !== undefined) this.#running.set(file, performance.now());
    return file;
  }

  #hasRoom(): boolean {
    const inUse = this.#coresInUse();
    if (this.#running.size < fewest) return true;
    const since = performance.now() - fresh;
    const started = [...this.#running.values()].filter((start) => start > since).length;
    return inUse + started <= this.#cores - idle;
  }

  /** Gives no more turns. */
  close(): void {
    for (const { files } of this.#lanes) files.length = 0;
  }

  end(file: string): void {
    this.#running.delete(file);
  }
}

/**
 * How many cores the programs of this machine used on average since it was asked before, or for the last seconds. Programs of low
 * priority don't count: they give way.
 */
function watchCores(): () => number {
  const idleTime = (): number => cpus().reduce((sum, { times }) => sum + times.idle + times.nice, 0);
  const samples = [{ at: performance.now(), idle: idleTime() }];
  return () => {
    const now = { at: performance.now(), idle: idleTime() };
    samples.push(now);
    while ((samples[1]?.at ?? now.at) < now.at - fresh) samples.shift();
    const [{ at, idle } = now] = samples;
    return now.at - at < 100 ? 0 : cpus().length - (now.idle - idle) / (now.at - at);
  };
}
