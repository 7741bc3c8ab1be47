import type { Store } from "../store/store.ts";

/**
 * A point at which the daemon kills itself. Tests use it to see what a crash leaves behind. `AGENCY_FAIL_AT` names it:
 *   <step>             a step of the scheduler, such as `spawned`
 *   before <event>     just before a transaction commits that recorded this event
 *   after <event>      just after the commit, before the caller gets its answer
 * With `#3` at the end, the daemon dies only the third time.
 */
export interface FailPoint {
  at(step: string): Promise<void>;
  /** Wraps the store. The wrapped store dies at the commits that `AGENCY_FAIL_AT` names. */
  watch(store: Store): Store;
}

/** Undefined if no point is named. Then the store is not wrapped, and nothing costs extra. */
export function failPoint(wanted: string | undefined, die: () => void): FailPoint | undefined {
  if (wanted === undefined || wanted === "") return undefined;
  const [name = "", times] = wanted.split("#");
  let left = Number(times ?? 1);
  const at = async (step: string): Promise<void> => {
    if (step !== name || --left > 0) return;
    die();
    // die() may take a moment to take effect. Nothing may happen until then.
    await new Promise(() => undefined);
  };
  return {
    at,
    watch: (store) => ({
      ...store,
      write: async (work) => {
        let recorded: string[] = [];
        const result = await store.write(async (tx) => {
          recorded = [];
          const answer = await work({
            ...tx,
            append: (event) => {
              recorded.push(event.operation);
              tx.append(event);
            },
            attempt: async (part) => {
              const { length } = recorded;
              return tx.attempt(part).catch((error: unknown) => {
                recorded.length = length;
                throw error;
              });
            },
          });
          for (const operation of recorded) await at(`before ${operation}`);
          return answer;
        });
        for (const operation of recorded) await at(`after ${operation}`);
        return result;
      },
    }),
  };
}
