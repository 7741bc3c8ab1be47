import { createScheduler, type Scheduler } from "../runtime/scheduler.ts";
import type { Store } from "../store/store.ts";
import { demandCaused, type Interruption, Life } from "./life.ts";
import { faultyStore, type Traffic } from "./faulty-store.ts";
import { Machine } from "./machine.ts";

/**
 * A node: the real scheduler on a simulated machine.
 *
 *   down ──start──▶ up ──stop, crash──▶ down        up ──pause──▶ paused ──continue──▶ up, or crash ──▶ down
 *
 * A pause or crash can hit the middle of a tick. A paused tick continues later, a crashed one never.
 */
export type Turn =
  /** The node had nothing left to do. `next` is the time of its next tick. */
  | { readonly kind: "done"; readonly next: number | null }
  | { readonly kind: "failed" | "crashed" | "paused" };

export interface SimulatedNodeParts {
  readonly name: string;
  readonly id: string;
  readonly store: Store;
  readonly traffic: Traffic;
  /** Whether the scheduler sweeps. A sweep finds work that no event announced. */
  readonly sweeps: boolean;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly newSecret: () => string;
}

export class SimulatedNode {
  readonly name: string;
  readonly id: string;
  readonly machine = new Machine();
  /** Until this time the node may have lost track of agents because of an error. Its sweep finds them again. */
  forgetfulUntil = 0;
  /** When the node last completed a tick, and the time before that. Each of them renewed its leases. */
  wellAt = -Infinity;
  wellBefore = -Infinity;
  /** The first bug it reported. */
  bug: unknown;
  readonly #parts: SimulatedNodeParts;
  #life: Life | null = null;
  #scheduler: Scheduler | null = null;
  #underWay: Promise<Turn> | null = null;

  constructor(parts: SimulatedNodeParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.id = parts.id;
  }

  get state(): "down" | "up" | "paused" {
    if (this.#life === null || !this.#life.alive) return "down";
    return this.#life.frozen ? "paused" : "up";
  }

  get running(): number {
    return this.state === "down" ? 0 : (this.#scheduler?.running() ?? 0);
  }

  /** Whether this is the node's present life. */
  isCurrent(life: Life): boolean {
    return this.#life === life && life.alive;
  }

  start(plan: Interruption | null): Promise<Turn> {
    const { store, traffic, newId, newSecret, sweeps } = this.#parts;
    const life = new Life((dead) => this.machine.closeGates(dead));
    const scheduler = createScheduler({
      store: faultyStore(store, traffic, (kind) => life.guard(kind)),
      nodeId: this.id,
      runner: this.machine.runnerFor(life),
      newId,
      newSecret,
      ...(sweeps ? {} : { sweepEvery: Number.MAX_SAFE_INTEGER }),
      at: (step) => life.step(step),
      reportBug: (error, about) => this.#failed(error, about),
    });
    this.#life = life;
    this.#scheduler = scheduler;
    this.forgetfulUntil = 0;
    life.plan(plan);
    // The scheduler starts at once, so register for the interruption first.
    const interrupted = life.interrupted();
    return this.#await(
      scheduler.start().then(() => null),
      interrupted,
    );
  }

  tick(): Promise<Turn> {
    if (this.#scheduler === null || this.#life === null) throw new Error(`node ${this.name} is down`);
    const interrupted = this.#life.interrupted();
    return this.#await(this.#scheduler.tick(), interrupted);
  }

  /** Plans an interruption. Null cancels it. */
  doom(plan: Interruption | null): void {
    this.#life?.plan(plan);
  }

  pause(): void {
    this.#life?.freeze();
  }

  async goOn(): Promise<Turn> {
    if (this.#life === null) throw new Error(`node ${this.name} is down`);
    const interrupted = this.#life.interrupted();
    this.#life.thaw();
    return this.#underWay === null ? { kind: "done", next: null } : this.#settle(this.#underWay, interrupted);
  }

  crash(): void {
    this.#life?.crash();
    this.#underWay = null;
  }

  /** Stops the scheduler in an orderly way. */
  async stop(): Promise<void> {
    if (this.#life === null || this.#scheduler === null) return;
    this.doom(null);
    this.#life.seesExitsAtOnce = true;
    for (const process of this.machine.unnoticed()) this.machine.tell(process);
    await this.#scheduler.stop();
  }

  /** Takes the node down, after stop() and once the store is quiet. */
  putDown(): void {
    this.#life?.crash();
  }

  #await(work: Promise<number | null>, interrupted: Promise<"crashed" | "paused">): Promise<Turn> {
    const began = this.#parts.clock();
    const turn = work.then(
      (next): Turn => {
        // The tick renewed the leases at its beginning, which may be long ago.
        if (this.wellAt < began) this.wellBefore = this.wellAt;
        this.wellAt = began;
        return { kind: "done", next };
      },
      (error: unknown): Turn => {
        this.#failed(error, "tick");
        return { kind: "failed" };
      },
    );
    return this.#settle(turn, interrupted);
  }

  async #settle(turn: Promise<Turn>, interrupted: Promise<"crashed" | "paused">): Promise<Turn> {
    this.#underWay = turn;
    const result = await Promise.race([turn, interrupted.then((kind): Turn => ({ kind }))]);
    if (result.kind !== "paused") this.#underWay = null;
    return result;
  }

  #failed(error: unknown, about: string): void {
    this.forgetfulUntil = this.#parts.clock() + 30_000;
    try {
      demandCaused(error, about);
    } catch (bug) {
      this.bug ??= bug;
    }
  }
}
