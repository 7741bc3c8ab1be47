// The attempts of clients of a repeatedly killed daemon, and the answers. The store is compared with this. An attempt is `open`
// until it is answered. `acknowledged`: its effect must exist exactly once. `refused`: its effect must not exist. An attempt
// stays `open` if the daemon died before it answered and the client did not ask again. Its effect may exist or not, but
// completely and at most once.

export type Verdict = "open" | "acknowledged" | "refused";

/** One version of one knowledge file. No two attempts write the same bytes, so a hash names its attempt. */
export interface FileAttempt {
  /** Part of the content. For a creation, also part of the description. */
  readonly label: string;
  /** Null for a creation: the daemon chooses the id. */
  readonly fileId: string | null;
  /** The version on which it is based; 0 for a creation. */
  readonly base: number;
  readonly hash: string;
  readonly size: number;
  verdict: Verdict;
  saved: { readonly id: string; readonly version: number; readonly hash: string } | undefined;
}

export interface OutcomeState {
  readonly title: string;
  readonly description: string;
  readonly status: string;
  readonly rationale: string | null;
}

export const outcomeActions = ["create", "update", "complete", "close", "reopen"] as const;
export type OutcomeAction = (typeof outcomeActions)[number];

/** One change of one outcome. Each outcome has one client that changes it, so its attempts have an order. */
export interface OutcomeAttempt {
  readonly action: OutcomeAction;
  /** The label of the creation. It stays in the acceptance criteria, which no client changes. */
  readonly label: string;
  readonly outcomeId: string | null;
  readonly change: Partial<OutcomeState>;
  verdict: Verdict;
  id: string | undefined;
}

export class History {
  readonly files: FileAttempt[] = [];
  readonly outcomes: OutcomeAttempt[] = [];
  /** Observations that must not happen, such as a repeated key with another answer. */
  readonly problems: string[] = [];
  /** Writes whose answer confirmed them. */
  acknowledged = 0;
  /** Calls without an answer, and those of them that were repeated with their key. */
  lost = 0;
  repeated = 0;
  /** Keys of acknowledged calls that were sent again after a restart and answered as the first time. */
  answeredAgain = 0;
}
