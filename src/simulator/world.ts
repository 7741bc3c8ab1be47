import { setImmediate as nextTurn } from "node:timers/promises";
import type { z } from "zod";
import { Message } from "../contract/mail.ts";
import type { Operation } from "../contract/operation.ts";
import { Refusal } from "../contract/refusal.ts";
import { createCore, type Core } from "../daemon/core.ts";
import { openSqlite } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { Broken, StoreFault } from "./broken.ts";
import { Chance, idsFrom } from "./chance.ts";
import { faultyStore, Traffic, type Fate } from "./faulty-store.ts";
import type { Who } from "./ledger-rules.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import type { Process } from "./machine.ts";
import { SimulatedNode } from "./node.ts";
import { Trace } from "./trace.ts";

/** A call on the network. It can arrive late or twice. */
export interface Attempt {
  readonly who: Who;
  readonly operation: Operation;
  readonly input: unknown;
  readonly key: string | undefined;
}

export type AnswerOf<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** The store failed. The caller can't know whether the call took effect. */
  | { readonly kind: "lost" };

/** An earlier call and its answer. */
export interface Made {
  readonly attempt: Attempt;
  readonly answer: AnswerOf<unknown>;
}

export interface SimulatedCompany {
  readonly id: string;
  readonly rootAgentId: string;
  readonly rootOutcomeId: string;
}

const linesKept = 30;
const beginning = Date.UTC(2030, 0, 1);

export class World {
  readonly seed: number;
  /** Whether the run has no faults. */
  readonly calm: boolean;
  readonly chance: Chance;
  /** About how many outcomes are open at a time. If they are few, agents wait for each other. */
  readonly mostLive: number;
  /** The percentage of sessions that only do their work. With a high percentage, agents are idle until they are woken. */
  readonly diligence: number;
  readonly trace = new Trace(linesKept);
  readonly watch: LedgerWatch;
  readonly store: Store;
  readonly nodes: readonly SimulatedNode[];
  readonly newId: () => string;
  readonly newSecret: () => string;
  /** The first person of the installation, who always governs. */
  board: Who;
  /** The sign-ins and links of people, including invalid ones. */
  readonly people: Who[] = [];
  now = beginning;
  /** Whether calls may be late, fail or arrive twice. */
  faults = true;
  /** Calls that have not arrived yet, or will arrive a second time. */
  readonly delayed: Made[] = [];
  /** Keys of agents, including agents that have left. */
  readonly keys: Who[] = [];
  /** The company that the agents belong to. */
  company: SimulatedCompany = { id: "", rootAgentId: "", rootOutcomeId: "" };
  /** Objects of another company, which these agents must not see. */
  foreign = { companyId: "", agentId: "", outcomeId: "", fileId: "" };
  /** Messages that were accepted from their sender. */
  readonly taken: string[] = [];
  /** How often each kind of action happened. */
  readonly counts = new Map<string, number>();
  readonly #traffic = new Traffic();
  readonly #core: Core;
  #nextCall: Fate = "go";
  #calls = 0;

  constructor(seed: number, calm = false) {
    this.seed = seed;
    this.calm = calm;
    this.faults = !calm;
    this.chance = new Chance(seed, "steps");
    const { newId, newSecret } = idsFrom(seed, () => this.now);
    this.newId = newId;
    this.newSecret = newSecret;
    this.store = openSqlite({ path: ":memory:", clock: () => this.now });
    this.watch = new LedgerWatch(this.store, this.trace);
    this.#core = createCore({
      store: faultyStore(this.store, this.#traffic, async (kind) => this.#verdict(kind)),
      newId,
      newSecret,
    });
    this.board = { label: "the board", token: newSecret(), agentId: null, sessionId: null };
    this.mostLive = this.chance.pick([10, 20, 40]) ?? 40;
    this.diligence = this.chance.pick([30, 30, 75]) ?? 30;
    const count = this.chance.flip(0.5) ? 2 : 3;
    this.nodes = ["A", "B", "C"].slice(0, count).map(
      (name) =>
        new SimulatedNode({
          name,
          id: `node-${name}`,
          store: this.store,
          traffic: this.#traffic,
          sweeps: !calm,
          clock: () => this.now,
          newId,
          newSecret,
        }),
    );
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  say(text: string): void {
    const time = new Date(this.now - beginning).toISOString().slice(8, 23).replace("T", " ");
    this.trace.line(`${time} ${text}`);
  }

  processes(): Process[] {
    return this.nodes.flatMap(({ machine }) => machine.alive());
  }

  newKey(): string {
    this.#calls += 1;
    return `call-${this.#calls}`;
  }

  /** Waits until no store call is under way. */
  async quiet(): Promise<void> {
    let before;
    do {
      before = this.#traffic.calls;
      await nextTurn();
      await nextTurn();
    } while (this.#traffic.calls !== before || this.#traffic.underWay > 0);
    for (const { bug } of this.nodes) if (bug !== undefined) throw bug;
  }

  /** Sets the fate of the next call. */
  prepareCall(verdict: Fate): void {
    this.#nextCall = verdict;
  }

  async ask<I extends z.ZodObject, O extends z.ZodType>(
    who: Who,
    operation: Operation<I, O>,
    input: z.input<I>,
    key?: string,
  ): Promise<AnswerOf<z.infer<O>>> {
    const answer = await this.attempt({ who, operation, input, key });
    return answer.kind === "ok" ? { kind: "ok", value: operation.output.parse(answer.value) } : answer;
  }

  /** Asks without a line in the trace. The simulator uses it for its own questions and demands an answer. */
  async askQuietly<I extends z.ZodObject, O extends z.ZodType>(
    who: Who,
    operation: Operation<I, O>,
    input: z.input<I>,
  ): Promise<z.infer<O>> {
    const answer = await this.#call({ who, operation, input, key: undefined });
    if (answer.kind === "ok") return operation.output.parse(answer.value);
    throw new Broken(
      `${operation.name} is answered`,
      answer.kind === "refused" ? `${answer.refusal.code}: ${answer.refusal.message}` : answer.kind,
    );
  }

  async attempt(attempt: Attempt): Promise<AnswerOf<unknown>> {
    const { who, operation, input, key } = attempt;
    const answer = await this.#call(attempt);
    this.say(
      `${who.label} ${operation.name} ${this.#shown(input)}${key === undefined ? "" : ` (${key})`} → ${
        answer.kind === "refused"
          ? `${answer.refusal.code}: ${this.#shown(answer.refusal.message)}`
          : answer.kind
      }`,
    );
    this.count(`${operation.name} ${answer.kind}`);
    if (answer.kind === "ok" && operation.output === Message) this.taken.push(Message.parse(answer.value).id);
    return answer;
  }

  async #call({ who, operation, input, key }: Attempt): Promise<AnswerOf<unknown>> {
    try {
      const { token, as } = who;
      const value = await this.#core.dispatch({ operation, token, as, input, key });
      return { kind: "ok", value };
    } catch (error) {
      if (error instanceof Refusal) return { kind: "refused", refusal: error };
      if (error instanceof StoreFault) return { kind: "lost" };
      throw new Broken(
        "an operation answers or refuses, and never throws anything else",
        `${operation.name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    }
  }

  #verdict(kind: "read" | "write"): Fate {
    if (kind === "read") return "go";
    const verdict = this.#nextCall;
    this.#nextCall = "go";
    return verdict;
  }

  #shown(value: unknown): string {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return text
      .slice(0, 400)
      .replace(uuid, (id) => this.trace.name("thing", id))
      .slice(0, 240);
  }
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
