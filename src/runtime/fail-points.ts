import { ledgerEnd, ledgerLock, listAfter } from "../events/ledger.ts";
import type { Store } from "../store/store.ts";

/**
 * A point at which the daemon kills itself. Tests use it to see what a crash leaves behind. `AGENCY_FAIL_AT` names it:
 *   <step>             a step of the scheduler, such as `spawned`
 *   before <event>     just before a transaction commits that recorded this event
 *   after <event>      just after the commit, before the caller gets its answer
 * Add `#3` to die only the third time.
 */
export interface FailPoint {
  at(step: string): Promise<void>;
  /** The same store, which dies at the commits that `AGENCY_FAIL_AT` names. */
  watch(store: Store): Store;
}

/** Undefined if no point is named. Then the store is not wrapped and nothing costs extra. */
export function failPoint(wanted: string | undefined, die: () => void): FailPoint | undefined {
  if (wanted === undefined || wanted === "") return undefined;
  const [name = "", times] = wanted.split("#");
  let left = Number(times ?? 1);
  const at = async (step: string): Promise<void> => {
    if (step !== name || --left > 0) return;
    die();
    // die() may take a moment to take effect. Nothing more may happen until then.
    await new Promise(() => undefined);
  };
  return {
    at,
    watch: (store) => ({
      ...store,
      write: async (work) => {
        let recorded: string[] = [];
        const result = await store.write(async (tx) => {
          // Other transactions append until this one has the ledger's lock, so the end is read after the lock.
          let before: number | undefined;
          const lock = async (key: string): Promise<void> => {
            await tx.lock(key);
            if (key === ledgerLock) before ??= (await tx.first(ledgerEnd, {}))?.seq ?? 0;
          };
          const answer = await work({ ...tx, lock });
          const events =
            before === undefined ? [] : await listAfter(tx, { companyId: null, after: before, limit: 1000 });
          recorded = events.map(({ operation }) => operation);
          for (const operation of recorded) await at(`before ${operation}`);
          return answer;
        });
        for (const operation of recorded) await at(`after ${operation}`);
        return result;
      },
    }),
  };
}
