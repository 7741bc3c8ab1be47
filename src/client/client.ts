import { z } from "zod";
import { type Operation, takesBody } from "../contract/operation.ts";
import { Refusal, refusalCodes, type RefusalCode } from "../contract/refusal.ts";
import { Data } from "../contract/words.ts";

/** Calls any operation of the contract over HTTP, with its types. Used by the command line and by end-to-end tests. */
export interface Client {
  call<I extends z.ZodObject, O extends z.ZodType>(
    operation: Operation<I, O>,
    input: z.input<I>,
    options?: { readonly key?: string },
  ): Promise<z.infer<O>>;
  /** For a caller that knows the operation only at run time. */
  callAny(
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    options?: { readonly key?: string },
  ): Promise<unknown>;
}

/** No daemon answers at the address. */
export class NoDaemon extends Error {
  override readonly name = "NoDaemon";
}

export function createClient(options: {
  readonly url: string;
  readonly token: string | undefined;
  /** The position from which a person acts. */
  readonly as?: string | undefined;
}): Client {
  const callAny: Client["callAny"] = async (operation, input, { key } = {}) => {
    const request = requestFor(operation, input);
    let response: Response;
    try {
      response = await fetch(new URL(request.path, options.url), {
        method: operation.http.method,
        headers: {
          ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
          ...(request.body === undefined ? {} : { "content-type": "application/json" }),
          ...(options.as === undefined ? {} : { "x-agency-as": encodeURIComponent(options.as) }),
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        ...(request.body === undefined ? {} : { body: request.body }),
      });
    } catch (error) {
      throw new NoDaemon(`No daemon answers at ${options.url}. Start one: agency up`, {
        cause: error,
      });
    }
    if (response.ok && operation.http.as === "text") return { text: await response.text() };
    const body: unknown = await response.json();
    if (!response.ok) throw refusalIn(body, response.status);
    return body;
  };
  return {
    callAny,
    call: async (operation, input, given) =>
      operation.output.parse(await callAny(operation, { ...input }, given)),
  };
}

/** Fills the path's parameters. The rest of the input becomes a JSON body, or a query string if the operation only reads. */
export function requestFor(
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
): { path: string; body: string | undefined } {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = operation.http.path.replace(/:(\w+)/g, (_, key: string) => {
    const value = rest.get(key);
    if (typeof value !== "string" && typeof value !== "number")
      throw new Refusal("invalid", `${key} is missing.`, `Give ${key}: ${operation.name} needs it.`);
    rest.delete(key);
    return encodeURIComponent(String(value));
  });
  if (takesBody(operation))
    return { path, body: rest.size === 0 ? undefined : JSON.stringify(Object.fromEntries(rest)) };
  const search = new URLSearchParams(
    [...rest].map(([key, value]): [string, string] => [key, String(value)]),
  ).toString();
  return { path: search === "" ? path : `${path}?${search}`, body: undefined };
}

const Refused = z.object({
  error: z.object({ code: z.string(), message: z.string(), hint: z.string(), details: Data.optional() }),
});

function refusalIn(body: unknown, status: number): Error {
  const { data } = Refused.safeParse(body);
  if (data === undefined)
    return new Error(
      `The daemon answered with HTTP status ${status} and no explanation. Check the daemon's log.`,
    );
  const { code, message, hint, details } = data.error;
  return isCode(code) ? new Refusal(code, message, hint, details) : new Error(`${message} ${hint}`);
}

function isCode(code: string): code is RefusalCode {
  return code in refusalCodes;
}
