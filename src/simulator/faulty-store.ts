import type { ReadTx, Store, Tx } from "../store/store.ts";
import { StoreFault } from "./broken.ts";

/**
 * A store as somebody sees it who is cut off, stopped or unlucky. Before each call the guard says how it goes:
 *   go    as it should
 *   fail  nothing of it is kept, and the caller is told so
 *   lost  it is kept, but the caller is told it failed: the acknowledgement was lost
 *   dead  nothing of it is kept, and the caller never hears again: it crashed before
 *   last  it is kept, and the caller never hears again: it crashed after
 */
export type Fate = "go" | "fail" | "lost" | "dead" | "last";

export type Guard = (kind: "read" | "write") => Promise<Fate>;

/** How much goes on in the store; the simulator waits until nothing does. */
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
    close: () => Promise.resolve(),
  };
}

/** Whoever waits for this waits for ever: it is no longer there. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
