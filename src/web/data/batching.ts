import { type HttpAnswer, noAnswer, Refused, send, sendTogether } from "./calling.ts";
import type { PageOperation } from "./operations.ts";

/**
 * Reads that components ask for at the same moment leave in one request. Each read is answered as soon as its line arrives, and
 * can be refused separately.
 */
export function read<I, O>(
  operation: PageOperation<I, O>,
  input: I,
  signal: AbortSignal,
): Promise<HttpAnswer<O>> {
  if (operation.batched !== true) return send(operation, input, { signal });
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer<O>>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  waiting.push({
    name: operation.name,
    input,
    signal,
    alone: () => send(operation, input, { signal }).then(resolve, reject),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the answer to this operation, as in calling.ts
    answered: (answer) => resolve(answer as HttpAnswer<O>),
    reject,
  });
  if (waiting.length === 1) setTimeout(flush);
  return promise;
}

interface Waiting {
  readonly name: string;
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly alone: () => Promise<void>;
  readonly answered: (answer: HttpAnswer<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

let waiting: Waiting[] = [];
/** The most calls that the daemon takes in one request. */
const mostCalls = 20;

function flush(): void {
  const wanted = waiting.filter(({ signal }) => !signal.aborted);
  waiting = [];
  for (let from = 0; from < wanted.length; from += mostCalls) {
    const calls = wanted.slice(from, from + mostCalls);
    const [only, ...more] = calls;
    if (only !== undefined && more.length === 0) void only.alone();
    else void together(calls);
  }
}

async function together(calls: readonly Waiting[]): Promise<void> {
  const gone = new AbortController();
  for (const { signal } of calls)
    signal.addEventListener("abort", () => {
      if (calls.every((call) => call.signal.aborted)) gone.abort();
    });
  let failure: unknown;
  try {
    await sendTogether(calls, gone.signal, (at, answer) => {
      if (answer instanceof Refused) calls[at]?.reject(answer);
      else calls[at]?.answered(answer);
    });
  } catch (error) {
    failure = error;
  }
  // Calls that already have an answer ignore this.
  for (const call of calls) call.reject(noAnswer(failure));
}
