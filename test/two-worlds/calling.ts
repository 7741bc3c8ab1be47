import type { z } from "zod";
import type { Operation } from "../../src/contract/operation.ts";

export type Caller = <I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  input: z.input<I>,
) => Promise<z.infer<O>>;

/** `as` is the position from which a person acts. */
export type Credential = { readonly token: string; readonly as?: string };
