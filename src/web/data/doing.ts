import { useState } from "react";
import { Refused, send, Unreachable } from "./calling.ts";
import { liveNow } from "./live.ts";
import type { PageOperation } from "./operations.ts";
import { refreshAll } from "./reading.ts";

export interface Doing<I, O> {
  /** Resolves with the output, or with undefined after a refusal. */
  readonly run: (input: I) => Promise<O | undefined>;
  readonly isBusy: boolean;
  readonly refused: Refused | undefined;
  readonly forget: () => void;
}

/**
 * Calls an operation that changes something. A call without an answer is repeated with the same key, so it takes effect once.
 * While the connection is lost nothing is sent, also not from a form that was open before: what it shows may be out of date.
 */
export function useDo<I, O>(operation: PageOperation<I, O>): Doing<I, O> {
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused>();
  return {
    isBusy,
    refused,
    forget: () => setRefused(undefined),
    run: async (input) => {
      if (liveNow().state === "lost") {
        setRefused(notWhileLost());
        return undefined;
      }
      setBusy(true);
      setRefused(undefined);
      try {
        const output = await sendOnce(operation, input);
        void refreshAll();
        return output;
      } catch (error) {
        setRefused(asRefused(error));
        // Another person may have been faster.
        void refreshAll();
        return undefined;
      } finally {
        setBusy(false);
      }
    },
  };
}

export async function sendOnce<I, O>(operation: PageOperation<I, O>, input: I): Promise<O> {
  const key = newKey();
  for (let attempt = 1; ; attempt++) {
    try {
      return (await send(operation, input, { key })).output;
    } catch (error) {
      if (!(error instanceof Unreachable) || attempt === 3) throw error;
      await new Promise((resolve) => setTimeout(resolve, 400 * attempt));
    }
  }
}

export function asRefused(error: unknown): Refused {
  if (error instanceof Refused) return error;
  return new Refused(0, {
    code: "unreachable",
    message: "Agency does not answer. Nothing that you entered is lost.",
    hint: "Check that the daemon runs, then try again.",
  });
}

const notWhileLost = (): Refused =>
  new Refused(0, {
    code: "unreachable",
    message: "There is no connection, so nothing was sent. What you entered is kept.",
    hint: "You can decide again when the connection is back.",
  });

/** A random key. Also works if the page is not in a secure context, where crypto.randomUUID is missing. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}
