import type { Settings } from "../contract/companies.ts";
import { type Actor, append, system } from "../events/ledger.ts";
import type { Store, Tx } from "../store/store.ts";
import { settingsOf } from "./company-settings.ts";
import type { Caller } from "./identity.ts";

/**
 * The two contexts in which code changes things. A domain rule takes `Writing`: that is enough to change rows and to record who
 * did it. A handler gets a `CallContext`, which also knows the caller and the company's settings. The scheduler and the daemon
 * have no caller; they build a `Writing` with bySystem().
 */
export interface Writing {
  /** If the operation only reads, writing through this transaction fails. */
  readonly tx: Tx;
  /** The company of the call. Empty for an operation of the installation. */
  readonly companyId: string;
  readonly actor: Actor;
  readonly newId: () => string;
  /** Appends an event to the ledger in this transaction. The event has the operation's name unless another is given. */
  readonly record: (
    subject: string | null,
    data: Readonly<Record<string, unknown>>,
    as?: string,
  ) => Promise<void>;
}

export interface CallContext extends Writing {
  readonly caller: Caller;
  readonly newSecret: () => string;
  readonly settings: () => Promise<Settings>;
  /** Tags of the versions that the caller already has. It asks only for others (not-modified.ts). */
  readonly has: readonly string[];
  /** Hides secrets in content that does not come with the input, such as a file of the workspace. */
  readonly hide: (text: string) => string;
}

/** The context of a change without a caller: a report of usage, a decision that is due, a limit that was reached. */
export function bySystem(tx: Tx, companyId: string, newId: () => string): Writing {
  return writing(tx, { companyId, newId, actor: system, operation: "system" });
}

/** A transaction of the scheduler in one company. Like every write there, it takes the company's lock first. */
export function writeIn<T>(
  store: Store,
  companyId: string,
  newId: () => string,
  work: (call: Writing) => Promise<T>,
): Promise<T> {
  return store.write(async (tx) => {
    await tx.lock(companyId);
    return work(bySystem(tx, companyId, newId));
  });
}

/** The context for a handler. Directives in an agent's final output, which come through no door, use it too. */
export function callContext(
  tx: Tx,
  of: Pick<CallContext, "caller" | "companyId" | "newId" | "newSecret"> & {
    readonly operation: string;
    readonly has?: readonly string[];
    readonly hideIn?: (companyId: string, text: string) => string;
  },
): CallContext {
  const { caller, companyId, newId, newSecret, operation } = of;
  return {
    ...writing(tx, { companyId, newId, actor: caller.actor, operation }),
    caller,
    newSecret,
    settings: () => settingsOf(tx, companyId),
    has: of.has ?? [],
    hide: (text) => of.hideIn?.(companyId, text) ?? text,
  };
}

function writing(
  tx: Tx,
  of: Pick<Writing, "companyId" | "actor" | "newId"> & { readonly operation: string },
): Writing {
  const { companyId, actor, newId } = of;
  const record: Writing["record"] = async (subject, data, operation = of.operation) => {
    append(tx, { companyId, actor, operation, subject, data });
  };
  return { tx, companyId, actor, newId, record };
}
