import type { z } from "zod";
import type { Need, Operation } from "../contract/operation.ts";
import type { ReadTx } from "../store/store.ts";
import type { CallContext } from "./context.ts";
import type { KnownHome } from "./homes.ts";
import { secretInside } from "./texts.ts";

/**
 * guarded() is the only way to make an operation callable. Only the dispatcher can run the result, after it has identified
 * the caller, found the company and checked the operation's needs in the same transaction (dispatch.ts).
 */
export interface Guarded {
  readonly operation: Operation;
  /** Parses an input from outside. The result can only be run with that input. */
  readonly accept: (raw: unknown) => Accepted | z.ZodError;
}

export interface Accepted {
  readonly input: Readonly<Record<string, unknown>>;
  readonly needs: Exclude<Operation["needs"], (input: never) => unknown> | readonly Need[];
  /** Announces to the store what the call will read, for its probable caller. */
  readonly ahead?: (tx: ReadTx, home: KnownHome) => void;
  /** `conceal` takes secrets out of the input before the handler sees it. */
  readonly run: (call: CallContext, conceal: (input: unknown) => Promise<unknown>) => Promise<unknown>;
}

/**
 * Thrown by the first pass of an operation whose work no transaction may wait for, such as a fetch of a repository. The
 * transaction is rolled back and the work runs. Then the operation runs again from the beginning, with all checks, in a second
 * transaction. If a right ended meanwhile, the second pass is refused. `work` returns the function for the second pass and the
 * one that follows it.
 */
export class Outside {
  readonly work: () => Promise<{ run: Accepted["run"]; end: (isCommitted: boolean) => Promise<void> }>;
  constructor(work: Outside["work"]) {
    this.work = work;
  }
}

export interface Call<I> extends CallContext {
  readonly input: I;
}

export function guarded<I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  run: (call: Call<z.infer<I>>) => Promise<z.infer<O>>,
  ahead?: (tx: ReadTx, input: z.infer<I>, home: KnownHome) => void,
): Guarded {
  return accepting(operation, (input) => concealing(operation, input, run), ahead);
}

/**
 * An operation in three steps: look, work outside of any transaction, and finish in a second transaction. Effects that can't be
 * rolled back come after the commit: `committed` must not fail. If the operation fails, `dropped` removes what `work` made.
 */
export function guardedOutside<I extends z.ZodObject, O extends z.ZodType, F, D>(
  operation: Operation<I, O>,
  steps: {
    readonly look: (call: Call<z.infer<I>>) => Promise<F>;
    readonly work: (found: F) => Promise<D>;
    readonly finish: (call: Call<z.infer<I>>, done: D, found: F) => Promise<z.infer<O>>;
    readonly committed?: (done: D, found: F) => Promise<void>;
    readonly dropped?: (done: D, found: F) => Promise<void>;
  },
): Guarded {
  return accepting(operation, (input) =>
    concealing(operation, input, async (call) => {
      const found = await steps.look(call);
      throw new Outside(async () => {
        const done = await steps.work(found);
        // Stays false if the second pass answers a repeated key and never runs `finish`.
        let isFinished = false;
        return {
          run: concealing(operation, input, async (again) => {
            const answer = await steps.finish(again, done, found);
            isFinished = true;
            return answer;
          }),
          end: async (isCommitted) => {
            if (isCommitted && isFinished) await steps.committed?.(done, found);
            else await steps.dropped?.(done, found);
          },
        };
      });
    }),
  );
}

function accepting<I extends z.ZodObject>(
  operation: Operation<I>,
  runWith: (input: z.infer<I>) => Accepted["run"],
  ahead?: (tx: ReadTx, input: z.infer<I>, home: KnownHome) => void,
): Guarded {
  return {
    operation,
    accept: (raw) => {
      const parsed = operation.input.safeParse(raw, { reportInput: true });
      if (!parsed.success) return parsed.error;
      const input = parsed.data;
      const { needs } = operation;
      return {
        input,
        needs: typeof needs === "function" ? needs(input) : needs,
        run: runWith(input),
        ...(ahead && { ahead: (tx, home) => ahead(tx, input, home) }),
      };
    },
  };
}

function concealing<I extends z.ZodObject>(
  operation: Operation<I>,
  input: z.infer<I>,
  run: (call: Call<z.infer<I>>) => Promise<unknown>,
): Accepted["run"] {
  return async (context, conceal) => {
    const concealed = await conceal(input);
    if (concealed === input) return run({ ...context, input });
    const again = operation.input.safeParse(concealed);
    if (!again.success) throw secretInside(again.error.issues[0]?.path.join(".") ?? "input");
    return run({ ...context, input: again.data });
  };
}
