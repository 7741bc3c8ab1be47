import { setTimeout as sleep } from "node:timers/promises";
import { allowed } from "../../src/testing/allowed.ts";

/** Repeats `look` until it finds something. When the time is over, it says what never came. */
export async function soon<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const longest = Math.min(allowed(30_000), 240_000);
  for (const start = performance.now(); ; await sleep(20)) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() - start > longest) throw new Error(`${what} never came`);
  }
}
