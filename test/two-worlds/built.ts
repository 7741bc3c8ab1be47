import type { Dispatch } from "../../src/dispatch/dispatch.ts";
import type { authenticate } from "../../src/dispatch/identity.ts";
import type { Credential } from "./calling.ts";
import type { Turn } from "./turns.ts";

/** A world, for the callers in it. */
export interface Built {
  readonly dispatch: Dispatch;
  readonly authenticate: (token: string | undefined) => ReturnType<typeof authenticate>;
  /** The same program without memory: it keeps no earlier answer. */
  readonly forgetful: () => Dispatch;
  readonly watchers: Readonly<Record<string, Credential>>;
  /** Everyone with a credential, watchers included. */
  readonly callers: readonly Credential[];
  /** Ids of things in both worlds, visible and hidden. */
  readonly named: readonly string[];
  /** Some of these ids by noun. */
  readonly nouns: Readonly<Record<string, readonly string[]>>;
  /** Ids of things that steps create. Some things exist in only one world. */
  readonly guesses: readonly string[];
  readonly companyId: string;
  /** Called before each compared call. The next id and the time are then the same in both worlds. */
  readonly tick: () => void;
  /** Does some deeds out of sight. */
  readonly goOn: () => Promise<void>;
  readonly turn: () => Turn;
}
