import type { Row } from "../store/schema.ts";
import type { Store } from "../store/store.ts";
import { listAfter } from "./ledger.ts";

/**
 * Calls `see` with every event of a company after a sequence number, in order and each once, until the signal aborts. A commit
 * wakes the follower. A wake-up can get lost, such as that of another node, so the follower also looks every 10 seconds.
 */
export async function follow(
  store: Store,
  options: {
    companyId: string;
    after: number;
    signal: AbortSignal;
    sleep: (milliseconds: number) => Promise<void>;
  },
  see: (row: Row<"events">) => Promise<void>,
): Promise<void> {
  let after = options.after;
  let wake: () => void = () => undefined;
  let pending = false;
  const nudge = (): void => {
    pending = true;
    wake();
  };
  const stop = store.onCommit(nudge);
  options.signal.addEventListener("abort", nudge);
  try {
    while (!options.signal.aborted) {
      pending = false;
      const rows = await store.read((tx) =>
        tx.all(listAfter, { companyId: options.companyId, after, limit: 500 }),
      );
      for (const row of rows) {
        if (options.signal.aborted) return;
        await see(row);
        after = row.seq;
      }
      if (rows.length > 0 || pending) continue;
      await Promise.race([
        new Promise<void>((resolve) => {
          wake = resolve;
        }),
        options.sleep(10_000),
      ]);
    }
  } finally {
    stop();
    options.signal.removeEventListener("abort", nudge);
  }
}
