import { JsonObject } from "../contract/words.ts";
import type { Dispatch, DispatchRequest } from "../dispatch/dispatch.ts";

/**
 * Some answers need a person's decision. An operation that declares `waits` is called again whenever something has changed,
 * until there is an answer, the time is over or the caller has hung up. No transaction stays open meanwhile: each attempt is a
 * separate call that checks the caller's credential again. A restart of the daemon loses nothing.
 */
export interface Patience {
  /** Called every few seconds while waiting, with the seconds passed and the maximum. */
  readonly progress?: (passed: number, of: number) => Promise<void>;
}

export type PatientDispatch = (request: DispatchRequest, patience?: Patience) => Promise<unknown>;

const progressEvery = 10_000;

/** `mayWait` counts a waiting call until the returned function is called. A call that can't wait is answered at once. */
export function patient(
  dispatch: Dispatch,
  changed: () => Promise<void>,
  closing?: AbortSignal,
  mayWait: (token: string | undefined) => (() => unknown) | undefined = () => () => undefined,
): PatientDispatch {
  return async (request, { progress } = {}) => {
    let output = await dispatch(request);
    const { operation, token, as, input, gone, trace } = request;
    const { waits } = operation;
    if (waits === undefined || waits.again(output) === null) return output;
    const stopWaiting = mayWait(token);
    if (stopWaiting === undefined) return output;
    const seconds = waits.seconds(JsonObject.parse(input));
    const begun = performance.now();
    let told = begun;
    try {
      for (let next = waits.again(output); next !== null; next = waits.again(output)) {
        const now = performance.now();
        if (now - begun >= seconds * 1000 || gone?.aborted === true || closing?.aborted === true) break;
        if (now - told >= progressEvery) {
          told = now;
          await progress?.(Math.round((now - begun) / 1000), seconds);
        }
        await changed();
        output = await dispatch({ operation: waits.by ?? operation, token, as, input: next, trace });
      }
      return output;
    } finally {
      stopWaiting();
    }
  };
}
