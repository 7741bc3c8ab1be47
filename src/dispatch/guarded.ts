import type { z } from "zod";
import type { Settings } from "../contract/companies.ts";
import type { Need, Operation } from "../contract/operation.ts";
import type { Actor } from "../events/ledger.ts";
import type { Tx } from "../store/store.ts";
import type { Caller } from "./identity.ts";

/**
 * guarded() is the only way to make an operation callable. What it makes can be run by the dispatcher alone, which
 * identifies the caller, finds the company, and checks the operation's needs in the same transaction (dispatch.ts).
 */
export interface Guarded {
  readonly operation: Operation;
  /** Checks an input from outside; what comes back is bound to it. */
  readonly accept: (raw: unknown) => Accepted | z.ZodError;
}

export interface Accepted {
  readonly input: Readonly<Record<string, unknown>>;
  readonly needs: "board" | "member" | readonly Need[];
  readonly run: (call: Surroundings) => Promise<unknown>;
}

export interface Call<I> extends Surroundings {
  readonly input: I;
}

export interface Surroundings {
  /** On an operation that only reads, writing through this fails. */
  readonly tx: Tx;
  readonly caller: Caller;
  readonly actor: Actor;
  /** The company everything in this call happens in. Empty for an operation of the installation. */
  readonly companyId: string;
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
  return {
    operation,
    accept: (raw) => {
      const parsed = operation.input.safeParse(raw);
      if (!parsed.success) return parsed.error;
      const input = parsed.data;
      const { needs } = operation;
      return {
        input,
        needs: typeof needs === "function" ? needs(input) : needs,
        run: (surroundings) => run({ ...surroundings, input }),
      };
    },
  };
}
