import type { z } from "zod";
import type { Need, Operation } from "../contract/operation.ts";
import type { CallContext } from "./context.ts";
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
  readonly needs: "board" | "member" | readonly Need[];
  /** `conceal` takes secrets out of the input before the handler sees it. */
  readonly run: (call: CallContext, conceal: (input: unknown) => Promise<unknown>) => Promise<unknown>;
}

export interface Call<I> extends CallContext {
  readonly input: I;
}

export function guarded<I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  run: (call: Call<z.infer<I>>) => Promise<z.infer<O>>,
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
        run: async (context, conceal) => {
          const concealed = await conceal(input);
          if (concealed === input) return run({ ...context, input });
          const again = operation.input.safeParse(concealed);
          if (!again.success) throw secretInside();
          return run({ ...context, input: again.data });
        },
      };
    },
  };
}
