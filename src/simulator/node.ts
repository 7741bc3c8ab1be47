import { createScheduler, type Scheduler } from "../runtime/scheduler.ts";
import type { Store } from "../store/store.ts";
import { demandCaused, type Interruption, Life } from "./life.ts";
import { faultyStore, type Traffic } from "./faulty-store.ts";
import { Machine } from "./machine.ts";

/**
 * A node: the real scheduler on a simulated machine. It is
 *   down ──start──▶ up ──stop, crash──▶ down        up ──pause──▶ paused ──go on──▶ up, or crash ──▶ down
 * It can be paused or crash in the middle of a tick; what it was doing then goes on later, or never.
 */
export type Turn =
  /** It did all it had to do, and wants to be called then. */
  | { readonly kind: "done"; readonly next: number | null }
  | { readonly kind: "failed" | "crashed" | "paused" };

export interface SimulatedNodeParts {
  readonly name: string;
  readonly id: string;
  readonly store: Store;
  readonly traffic: Traffic;
  /** Whether the scheduler has its sweep, which finds what no event told of. */
  readonly sweeps: boolean;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly newSecret: () => string;
}

export class SimulatedNode {
  readonly name: string;
  readonly id: string;
  readonly machine = new Machine();
  /** Until then it may have forgotten whom to look at, because of an error; its sweep finds them. */
  forgetfulUntil = 0;
  /** When it last did all it had to do, and when before that: then its leases were good for a while. */
  wellAt = -Infinity;
  wellBefore = -Infinity;
  /** A bug it reported. */
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

  /** Is this one of the life it has now? */
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
    // The scheduler begins at once, so what it meets must be known before.
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

  /** What will happen to it; null: nothing any more. */
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

  /** In an orderly way. */
  async stop(): Promise<void> {
    if (this.#life === null || this.#scheduler === null) return;
    this.doom(null);
    this.#life.seesExitsAtOnce = true;
    for (const process of this.machine.unnoticed()) this.machine.tell(process);
    await this.#scheduler.stop();
  }

  /** After stop, when nothing goes on any more. */
  putDown(): void {
    this.#life?.crash();
  }

  #await(work: Promise<number | null>, interrupted: Promise<"crashed" | "paused">): Promise<Turn> {
    const began = this.#parts.clock();
    const turn = work.then(
      (next): Turn => {
        // It renewed them at the beginning, which may be long ago.
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
