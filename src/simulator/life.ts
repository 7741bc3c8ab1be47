import { Broken, StoreFault } from "./broken.ts";
import { never, type Fate } from "./faulty-store.ts";

/**
 * One life of a node, from start to crash or stop. Whatever its scheduler does passes through here, so that it can be
 * stopped for a while, or for good, at any step and at any write. Nothing of a life that ended ever goes on: what it waits
 * for does not come.
 */
export interface Interruption {
  /** fail, lost: the store's doing. crash, pause: before the write or at the step. crash after: the write was kept. */
  readonly what: "crash" | "crash after" | "pause" | "fail" | "lost";
  /** A step by its name, or a write by its number from now. */
  readonly where: string | number;
}

export class Life {
  alive = true;
  /** While it stops in an orderly way there is nobody to tell it later. */
  seesExitsAtOnce = false;
  readonly #whenDead: (life: Life) => void;
  #plan: Interruption | null = null;
  #writes = 0;
  #thaw: PromiseWithResolvers<void> | null = null;
  #interrupted = Promise.withResolvers<"crashed" | "paused">();

  constructor(whenDead: (life: Life) => void) {
    this.#whenDead = whenDead;
  }

  get frozen(): boolean {
    return this.#thaw !== null;
  }

  /** This will happen to it when it gets there. */
  plan(interruption: Interruption | null): void {
    this.#plan = interruption;
    this.#writes = 0;
  }

  /** A promise of the next crash or pause. */
  interrupted(): Promise<"crashed" | "paused"> {
    this.#interrupted = Promise.withResolvers();
    return this.#interrupted.promise;
  }

  crash(): void {
    this.alive = false;
    this.#whenDead(this);
    this.#interrupted.resolve("crashed");
  }

  freeze(): void {
    this.#thaw ??= Promise.withResolvers();
    this.#interrupted.resolve("paused");
  }

  thaw(): void {
    const thaw = this.#thaw;
    this.#thaw = null;
    thaw?.resolve();
  }

  /** A named step of the scheduler. */
  async step(name: string): Promise<void> {
    await this.#pass();
    if (this.#plan?.where !== name) return;
    const { what } = this.#plan;
    this.#plan = null;
    if (what === "pause") this.freeze();
    else this.crash();
    await this.#pass();
  }

  async guard(kind: "read" | "write"): Promise<Fate> {
    await this.#pass();
    if (kind === "read") return "go";
    this.#writes += 1;
    if (this.#plan?.where !== this.#writes) return "go";
    const { what } = this.#plan;
    this.#plan = null;
    switch (what) {
      case "fail":
      case "lost":
        return what;
      case "pause":
        this.freeze();
        await this.#pass();
        return "go";
      case "crash":
        this.crash();
        return "dead";
      case "crash after":
        this.crash();
        return "last";
    }
  }

  async #pass(): Promise<void> {
    while (this.#thaw !== null) await this.#thaw.promise;
    if (!this.alive) await never();
  }
}

/** Errors the simulator caused are no bugs. */
export function demandCaused(error: unknown, about: string): void {
  if (error instanceof StoreFault) return;
  if (error instanceof Error && error.name === "SpawnFault") return;
  throw new Broken(
    "the scheduler does not break",
    `${about}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
  );
}
