import type { Dispatch } from "../../src/dispatch/dispatch.ts";
import type { authenticate } from "../../src/dispatch/identity.ts";
import type { Credential } from "./calling.ts";
import type { Turn } from "./turns.ts";

/** A world, as those who ask in it use it. */
export interface Built {
  readonly dispatch: Dispatch;
  readonly authenticate: (token: string | undefined) => ReturnType<typeof authenticate>;
  /** The same program without memory: it keeps no answer from before. */
  readonly forgetful: () => Dispatch;
  readonly watchers: Readonly<Record<string, Credential>>;
  /** Everyone with a credential, watchers included. */
  readonly callers: readonly Credential[];
  /** Ids of things that both worlds have, seen and unseen. */
  readonly named: readonly string[];
  /** Some of them by noun. */
  readonly nouns: Readonly<Record<string, readonly string[]>>;
  /** Ids of what a step makes. Some are of things that only one world has. */
  readonly guesses: readonly string[];
  readonly companyId: string;
  /** Before each call that is compared: the next id and the time are then the same in both. */
  readonly tick: () => void;
  /** Some deeds out of sight. */
  readonly goOn: () => Promise<void>;
  readonly turn: () => Turn;
}
