import { Broken, StoreFault } from "./broken.ts";
import { never, type Fate } from "./faulty-store.ts";

/**
 * One life of a node, from its start to a crash or stop.
 *
 *   alive ──freeze──▶ frozen ──thaw──▶ alive        alive or frozen ──crash──▶ dead
 *
 * Every step and every write of the scheduler passes through here, so a plan can freeze or crash the node at any of them.
 * Code of a dead life never continues: its promises don't settle.
 */
export interface Interruption {
  /**
   * fail, lost: the write fails, as in faulty-store.ts. crash, pause: before the write or at the step. crash after: once
   * the write is committed.
   */
  readonly what: "crash" | "crash after" | "pause" | "fail" | "lost";
  /** The name of a step, or the number of a write, counted from the plan. */
  readonly where: string | number;
}

export class Life {
  alive = true;
  /** Set during an orderly stop, when the simulator has no later step to report exits. */
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

  /** Sets the interruption that happens at the given place, or clears it. */
  plan(interruption: Interruption | null): void {
    this.#plan = interruption;
    this.#writes = 0;
  }

  /** Resolves at the next crash or pause. */
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

  /** The scheduler has reached a named step. */
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

/** Throws unless the simulator itself caused the error. */
export function demandCaused(error: unknown, about: string): void {
  if (error instanceof StoreFault) return;
  if (error instanceof Error && error.name === "SpawnFault") return;
  throw new Broken(
    "the scheduler throws no unexpected error",
    `${about}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
  );
}
