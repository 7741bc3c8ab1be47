import type { Dispatch, DispatchRequest } from "../dispatch/dispatch.ts";

/**
 * Some answers take a person. An operation that says so (`waits`) is asked again whenever something has changed, until
 * there is an answer, the time is over or the caller is gone. Nothing is held meanwhile: each time is a call of its own,
 * with the caller's credential checked anew, and a daemon that is restarted in between loses nothing.
 */
export interface Patience {
  /** Called now and then while waiting, with the seconds that have passed and those there are. */
  readonly progress?: (passed: number, of: number) => Promise<void>;
  readonly gone?: AbortSignal;
}

export type PatientDispatch = (request: DispatchRequest, patience?: Patience) => Promise<unknown>;

const progressEvery = 10_000;

export function patient(
  dispatch: Dispatch,
  changed: () => Promise<void>,
  closing?: AbortSignal,
): PatientDispatch {
  return async (request, { progress, gone } = {}) => {
    let output = await dispatch(request);
    const { operation, token, input } = request;
    const { waits } = operation;
    if (waits === undefined) return output;
    const seconds = waits.seconds({ ...Object(input) });
    const begun = performance.now();
    let told = begun;
    for (let next = waits.again(output); next !== null; next = waits.again(output)) {
      const now = performance.now();
      if (now - begun >= seconds * 1000 || gone?.aborted === true || closing?.aborted === true) break;
      if (now - told >= progressEvery) {
        told = now;
        await progress?.(Math.round((now - begun) / 1000), seconds);
      }
      await changed();
      output = await dispatch({ operation: waits.by ?? operation, token, input: next });
    }
    return output;
  };
}
