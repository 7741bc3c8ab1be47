import type { AttentionKind } from "../contract/attention.ts";
import type { OutcomeState } from "../contract/outcomes.ts";
import type { why } from "../contract/why.ts";
import type { Output } from "../contract/operation.ts";
import type { Reference } from "../contract/words.ts";

/** The state of an outcome or agent: whether it moves, and why, link by link. */
export type TrailStep = Output<typeof why>["path"][number];

export interface Trail {
  readonly state: OutcomeState;
  readonly step: TrailStep;
  /** The thing that this step waits for. The whole trail is this list: a chain of thousands of outcomes shares its links. */
  readonly next?: Trail;
  readonly says: string;
  /** The things that `says` names, apart from the steps. */
  readonly names?: readonly Reference[];
  /** The time that a scheduled trail waits for. */
  readonly until?: number;
  /** The last outcome on the trail. */
  readonly leaf?: string;
  /** The thing that a person can decide or fix. Every trail that is stuck or waits for the board has one. */
  readonly cause?: Cause;
}

/** An item of the attention list. `on` is an id, or another value that tells the causes of this kind apart. */
export interface Cause {
  readonly kind: AttentionKind;
  readonly about: "outcome" | "agent" | "approval" | "budget" | "sandbox" | "brain" | "secret";
  readonly on: string;
  /** The closed outcome that the stuck one depends on. */
  readonly closed?: string;
}

/** The trail of an agent. */
export type AgentTrail = Trail & { readonly busy: boolean; readonly isPerson: boolean };
