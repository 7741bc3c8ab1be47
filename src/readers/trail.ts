import type { AttentionKind } from "../contract/attention.ts";
import type { OutcomeState } from "../contract/outcomes.ts";
import type { why } from "../contract/why.ts";
import type { Output } from "../contract/operation.ts";
import type { Reference } from "../contract/words.ts";

/** How an outcome or agent stands: moving or not, and why, link by link. */
export type TrailStep = Output<typeof why>["path"][number];

export interface Trail {
  readonly state: OutcomeState;
  readonly step: TrailStep;
  /** What the step waits for. The whole trail is this list: a chain of thousands of outcomes shares its links. */
  readonly next?: Trail;
  readonly says: string;
  /** What `says` names, apart from the steps. */
  readonly names?: readonly Reference[];
  /** The time that a scheduled trail waits for. */
  readonly until?: number;
  /** The last outcome on the trail. */
  readonly leaf?: string;
  /** What a person can decide or fix. Every trail that is stuck or waits for the board has one. */
  readonly cause?: Cause;
}

/** An item of the attention list. `on` is the id of the thing, or what else tells the causes of this kind apart. */
export interface Cause {
  readonly kind: AttentionKind;
  readonly about: "outcome" | "agent" | "approval" | "budget" | "sandbox" | "brain" | "secret";
  readonly on: string;
}

/** The trail of an agent. */
export type AgentTrail = Trail & { readonly busy: boolean; readonly isPerson: boolean };
