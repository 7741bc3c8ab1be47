import type { z } from "zod";
import { Settings } from "../contract/organization.ts";
import type { Operation } from "../contract/operation.ts";
import type { Actor } from "../events/ledger.ts";
import type { Tx } from "../store/store.ts";
import type { Caller } from "./identity.ts";

/**
 * guarded() is the only way to make an operation callable. What it makes can be run by the dispatcher alone, which
 * identifies the caller, finds the company, and checks the operation's needs in the same transaction (dispatch.ts).
 */
export interface Guarded {
  readonly operation: Operation;
  readonly run: (call: Call<never>) => Promise<unknown>;
}

export interface Call<I> {
  /** On an operation that only reads, writing through this fails. */
  readonly tx: Tx;
  readonly caller: Caller;
  readonly actor: Actor;
  /** The company everything in this call happens in. Empty for an operation of the installation. */
  readonly companyId: string;
  readonly input: I;
  readonly newId: () => string;
  readonly newSecret: () => string;
  readonly settings: () => Promise<Settings>;
  /** Appends to the ledger in this transaction; the operation's own name unless another is given. */
  readonly record: (
    subject: string | null,
    data: Readonly<Record<string, unknown>>,
    as?: string,
  ) => Promise<void>;
}

export function guarded<I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  run: (call: Call<z.infer<I>>) => Promise<z.infer<O>>,
): Guarded {
  return { operation: operation as unknown as Operation, run: run as Guarded["run"] };
}

export const defaultSettings: Settings = { maxFileBytes: 10 * 1024 * 1024 };

/** Settings are stored as far as they were set; the rest is the default of the running version. */
export function parseSettings(stored: string): Settings {
  const set: unknown = JSON.parse(stored);
  return Settings.parse({ ...defaultSettings, ...(typeof set === "object" ? set : {}) });
}
