import type { ReadTx, Store, Tx } from "../store/store.ts";
import { StoreFault } from "./broken.ts";

/**
 * A store that fails on demand. Before each call the guard decides what happens:
 *   go    the call succeeds
 *   fail  the call is rolled back and the caller gets an error
 *   lost  the call is committed, but the caller gets an error, because the acknowledgement was lost
 *   dead  the caller crashed before the call: nothing is written and the promise never settles
 *   last  the caller crashed after the call: it is committed and the promise never settles
 */
export type Fate = "go" | "fail" | "lost" | "dead" | "last";

export type Guard = (kind: "read" | "write") => Promise<Fate>;

/** Counts the calls of the store. The simulator waits until none is under way. */
export class Traffic {
  calls = 0;
  underWay = 0;
}

export function faultyStore(real: Store, traffic: Traffic, guard: Guard): Store {
  async function counted<T>(work: () => Promise<T>): Promise<T> {
    traffic.calls += 1;
    traffic.underWay += 1;
    try {
      return await work();
    } finally {
      traffic.underWay -= 1;
    }
  }

  async function call<T>(
    kind: "read" | "write",
    work: () => Promise<T>,
    undone: () => Promise<T>,
  ): Promise<T> {
    switch (await guard(kind)) {
      case "go":
        return counted(work);
      case "fail":
        return counted(undone);
      case "lost":
        await counted(work);
        throw new StoreFault("the acknowledgement was lost");
      case "last":
        await counted(work);
        return never();
      case "dead":
        return never();
    }
  }

  return {
    dialect: real.dialect,
    write: <T>(work: (tx: Tx) => Promise<T>) =>
      call(
        "write",
        () => real.write(work),
        () =>
          real.write(async (tx) => {
            await work(tx);
            throw new StoreFault("the store failed before the commit");
          }),
      ),
    read: <T>(work: (tx: ReadTx) => Promise<T>) =>
      call(
        "read",
        () => real.read(work),
        () => Promise.reject(new StoreFault("the store does not answer")),
      ),
    onCommit: (listener) => real.onCommit(listener),
    rest: () => real.rest(),
    close: () => Promise.resolve(),
  };
}

/** A promise that never settles. A crashed caller waits for it, so none of its code runs any more. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
