import type { ClientRequest, IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { type Operation, takesBody } from "../contract/operation.ts";
import { invalid, Refusal, type RefusalCode, refusalCodes } from "../contract/refusal.ts";
import { Data } from "../contract/words.ts";

/** Calls any operation of the contract over HTTP, with its types. The command line and end-to-end tests use it. */
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
    const headers = {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...(options.as === undefined ? {} : { "x-agency-as": encodeURIComponent(options.as) }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
    };
    const { status, said } = await exchange(
      new URL(request.path, options.url),
      operation.http.method,
      headers,
      request.body,
    ).catch((error: unknown) => {
      throw new NoDaemon(`No daemon answers at ${options.url}. Start one: agency up`, { cause: error });
    });
    const isOk = status >= 200 && status < 300;
    if (isOk && operation.http.as === "text") return { text: said };
    if (!isOk) throw refusalIn(said, status);
    return JSON.parse(said);
  };
  return {
    callAny,
    call: async (operation, input, given) =>
      operation.output.parse(await callAny(operation, { ...input }, given)),
  };
}

/** Longer than any call can wait. */
const patience = 300_000;

/**
 * One request. `fetch` would take 20 MB of memory, which a daemon that asks itself once would never get back. Loading it would
 * also take longer than a call.
 */
async function exchange(
  url: URL,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): Promise<{ status: number; said: string }> {
  const { request } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  const content =
    body === undefined
      ? {}
      : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method, headers: { ...headers, ...content }, timeout: patience })
      .on("response", resolve)
      .on("error", reject)
      .on("timeout", function (this: ClientRequest) {
        this.destroy(new Error("no answer"));
      })
      .end(body);
  });
  return { status: response.statusCode ?? 0, said: await text(response) };
}

/** Fills in the path's parameters. The rest of the input becomes a JSON body, or a query string if the operation only reads. */
export function requestFor(
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
): { path: string; body: string | undefined } {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = operation.http.path.replace(/:(\w+)/g, (_, key: string) => {
    const value = rest.get(key);
    if (typeof value !== "string" && typeof value !== "number")
      throw invalid(`${key} is missing.`, `Give ${key}: ${operation.name} needs it.`);
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

function refusalIn(said: string, status: number): Error {
  const { data } = Refused.safeParse(jsonIn(said));
  if (data === undefined)
    return new Error(
      `The daemon answered with HTTP status ${status} and no explanation. Check the daemon's log.`,
    );
  const { code, message, hint, details } = data.error;
  return isCode(code) ? new Refusal(code, message, hint, details) : new Error(`${message} ${hint}`);
}

function jsonIn(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return undefined;
  }
}

function isCode(code: string): code is RefusalCode {
  return code in refusalCodes;
}
