import { ledgerEnd, ledgerLock, listAfter } from "../events/ledger.ts";
import type { Store } from "../store/store.ts";

/**
 * A place where the daemon kills itself, for tests of what it leaves behind. `AGENCY_FAIL_AT` names it:
 *   <step>             a step of the scheduler, such as `spawned`
 *   before <event>     a transaction that put this event on record is about to commit
 *   after <event>      it has committed, and nobody was told yet
 * followed by `#3` when only the third time counts.
 */
export interface FailPoint {
  at(step: string): Promise<void>;
  /** The same store, watched for the commits that are to fail. */
  watch(store: Store): Store;
}

/** Undefined when none is wanted: then nothing is watched, and nothing costs. */
export function failPoint(wanted: string | undefined, die: () => void): FailPoint | undefined {
  if (wanted === undefined || wanted === "") return undefined;
  const [name = "", times] = wanted.split("#");
  let left = Number(times ?? 1);
  const at = async (step: string): Promise<void> => {
    if (step !== name || --left > 0) return;
    die();
    // Whoever dies does nothing more, not even in the moment until it takes effect.
    await new Promise(() => undefined);
  };
  return {
    at,
    watch: (store) => ({
      ...store,
      write: async (work) => {
        let recorded: string[] = [];
        const result = await store.write(async (tx) => {
          // The end of the ledger is ours only from the lock on: on PostgreSQL others append until then.
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
