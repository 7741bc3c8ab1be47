import { jsonBody } from "./body.ts";
import { fieldsOf } from "./unknown-value.ts";
import { decodedText } from "./feed.ts";
import { forgetPageKey, pageKey } from "./page-key.ts";
import type { PageOperation } from "./operations.ts";

/** A refusal by the server: what happened, and what to do next. Pages show both unchanged. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: string;
  readonly hint: string;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, said: { code: string; message: string; hint: string; details?: unknown }) {
    super(said.message);
    this.code = said.code;
    this.hint = said.hint;
    this.status = status;
    this.details = fieldsOf(said.details);
  }
}

/** No answer arrived: the daemon stopped, or the connection is lost. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

export interface HttpAnswer<O> {
  readonly output: O;
  /** The number of the last ledger entry that the answer reflects. Only reads have one. */
  readonly seq: number | undefined;
}

/** The position from which a member acts. A board person and a viewer have none. */
let actingAs: string | undefined;
export function actAs(position: string | undefined): void {
  actingAs = position;
}

/** The company whose events this page follows. Its answers carry the numbers of these events. */
let followed: string | undefined;
export function numberBy(company: string): void {
  followed = company;
}

export async function send<I, O>(
  operation: PageOperation<I, O>,
  input: I,
  options: { readonly key?: string; readonly signal?: AbortSignal | undefined } = {},
): Promise<HttpAnswer<O>> {
  const { path, body } = requestOf(operation, fieldsOf(input));
  const response = await request(operation.method, path, { ...options, body });
  const seq = response.headers.get("x-agency-seq");
  if (response.ok)
    return {
      output: parsed<O>(operation.text ? { text: await response.text() } : await response.json()),
      seq: seq === null ? undefined : Number(seq),
    };
  throw refusalOf(operation.name, response.status, await response.json().catch(() => undefined));
}

interface BatchedCall {
  readonly name: string;
  readonly input: unknown;
}

/** Several reads in one request. `tell` gets each answer when it arrives, with its position among the calls. */
export async function sendTogether(
  calls: readonly BatchedCall[],
  signal: AbortSignal,
  tell: (at: number, answer: HttpAnswer<unknown> | Refused) => void,
): Promise<void> {
  const body = JSON.stringify({
    calls: calls.map(({ name, input }) => ({ operation: name, input })),
  });
  const response = await request("POST", "/api/batch", { body, signal });
  if (!response.ok || response.body === null) {
    const said: unknown = await response.json().catch(() => undefined);
    for (const [at, { name }] of calls.entries()) tell(at, refusalOf(name, response.status, said));
    return;
  }
  let rest = "";
  for await (const chunk of decodedText(response.body)) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { at, status, seq, ...said } = parsed<BatchedAnswer>(JSON.parse(line));
      const name = calls[at]?.name ?? "";
      tell(at, status === 200 ? { output: said.output, seq } : refusalOf(name, status, said));
    }
  }
}

interface BatchedAnswer {
  readonly at: number;
  readonly status: number;
  readonly seq: number | undefined;
  readonly output?: unknown;
}

export const noAnswer = (cause?: unknown): Unreachable =>
  new Unreachable("Agency does not answer.", { cause });

async function request(
  method: string,
  path: string,
  options: {
    readonly body: string | undefined;
    readonly key?: string;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Response> {
  const { body, key, signal } = options;
  try {
    return await fetch(path, {
      method,
      headers: {
        "x-agency-page": pageKey() ?? "",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(actingAs !== undefined && { "x-agency-as": encodeURIComponent(actingAs) }),
        ...(followed !== undefined && { "x-agency-company": followed }),
        ...(key !== undefined && { "idempotency-key": key }),
      },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw noAnswer(error);
  }
}

export async function call<I, O>(operation: PageOperation<I, O>, input: I, key?: string): Promise<O> {
  return (await send(operation, input, key === undefined ? {} : { key })).output;
}

/** The daemon checks its answers against the contract before it sends them, so the page trusts their shape. */
function parsed<O>(body: unknown): O {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one parser of answers
  return body as O;
}

function requestOf(
  { path, body }: PageOperation<never>,
  input: Record<string, unknown>,
): { path: string; body: string | undefined } {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    const value = rest.get(name);
    rest.delete(name);
    return encodeURIComponent(String(value));
  });
  if (body === true) return { path: filled, body: jsonBody(Object.fromEntries(rest), notANumber) };
  const search = new URLSearchParams([...rest].map(([name, value]) => [name, String(value)])).toString();
  return { path: search === "" ? filled : `${filled}?${search}`, body: undefined };
}

const notANumber = (name: string): Refused =>
  new Refused(0, {
    code: "invalid",
    message: `\`${name}\` is not a number.`,
    hint: "Enter a number such as 12.50.",
  });

function refusalOf(operation: string, status: number, body: unknown): Refused {
  const { error } = fieldsOf(body);
  const fields = fieldsOf(error);
  const text = (name: string): string => {
    const value = fields[name];
    return typeof value === "string" ? value : "";
  };
  const refused = new Refused(status, {
    code: text("code") || "internal",
    message: text("message") || `The daemon answered with status ${status} and no explanation.`,
    hint: text("hint"),
    details: fields["details"],
  });
  if (refused.code === "unauthenticated" && operation !== "person.sign_in") forgetPageKey();
  return refused;
}
