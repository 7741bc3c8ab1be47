import { useSyncExternalStore } from "react";
import { ops } from "virtual:operations";
import { call } from "./calling.ts";
import type { Answer } from "./operations.ts";

type Problem = Answer<typeof ops.verifyLedger>["problems"][number];

/** The result of the last verification of the ledger in this browser. Every page shows a problem until it is gone. */
export interface Verification {
  readonly at: number;
  readonly checked: number;
  readonly problems: readonly Problem[];
}

let found: Verification | undefined;
const watchers = new Set<() => void>();

export const useVerification = (): Verification | undefined =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => found,
  );

/** Computes every hash again, part by part. */
export async function verifyAll(onPart: (checked: number) => void = () => undefined): Promise<Verification> {
  let cursor: string | undefined;
  let checked = 0;
  const problems: Problem[] = [];
  do {
    const part = await call(ops.verifyLedger, cursor === undefined ? {} : { cursor });
    checked += part.checked;
    problems.push(...part.problems);
    cursor = part.nextCursor ?? undefined;
    onPart(checked);
  } while (cursor !== undefined);
  found = { at: Date.now(), checked, problems };
  for (const watcher of watchers) watcher();
  return found;
}

const every = 30 * 60_000;

/**
 * Verifies twice an hour while the page is visible, first some seconds after it was opened. Returns a function that ends this.
 */
export function keepVerifying(): () => void {
  const look = (): void => {
    if (document.hidden || Date.now() - (found?.at ?? 0) < every) return;
    void verifyAll().catch(() => undefined);
  };
  const first = setTimeout(look, 20_000);
  const timer = setInterval(look, 60_000);
  return () => {
    clearTimeout(first);
    clearInterval(timer);
  };
}
