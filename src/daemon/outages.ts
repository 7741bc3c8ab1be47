import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../contract/refusal.ts";
import { anyCompany } from "../dispatch/company-settings.ts";
import { isDiskFull } from "../store/disk.ts";
import { databaseAway } from "../store/texts.ts";
import type { Store } from "../store/store.ts";
import { databaseIsAway, databaseIsBack } from "./texts.ts";

/** If the database is silent for longer than this, it counts as not answering. */
const patience = 2500;
const lookEvery = 1000;

/** Whether a company exists. Refuses if the database does not answer in time, long before the store gives up a query. */
export async function askInTime(store: Store): Promise<boolean> {
  const answer = store.read(anyCompany);
  answer.catch(() => undefined);
  const inTime = new AbortController();
  const pause = (milliseconds: number) =>
    sleep(milliseconds, undefined, { ref: false, signal: inTime.signal }).catch(() => undefined);
  // On a very busy machine, a timer may fire before an answer is read that arrived long ago. So there are two timers.
  const late = pause(patience)
    .then(() => pause(100))
    .then(() => Promise.reject(databaseAway()));
  return Promise.race([answer, late]).finally(() => inTime.abort());
}

export interface Outages {
  /**
   * Returns false if the error has another reason. Otherwise the outage is logged: once when the database goes, and once when
   * it is back.
   */
  tellOf(error: unknown, about: string): boolean;
  /** Called when the daemon stops. If the database is silent, the store closes, and nothing waits for it any longer. */
  hurry(): void;
  stop(): void;
}

export function keepOutages(store: Store, log: (line: Record<string, unknown>) => void): Outages {
  const stopping = new AbortController();
  const pause = () => sleep(lookEvery, undefined, { ref: false, signal: stopping.signal });
  const answers = () =>
    askInTime(store).then(
      () => true,
      () => false,
    );
  let isLooking = false;

  async function look(about: string): Promise<void> {
    const from = performance.now();
    // One company may be blocked while the database answers.
    if (await answers()) return log({ level: "warn", about, says: databaseAway().message });
    log({ level: "error", about: "database", says: databaseIsAway });
    do await pause();
    while (!(await answers()));
    const seconds = Math.round((performance.now() - from) / 1000);
    log({ level: "info", about: "database", says: databaseIsBack, seconds });
  }

  return {
    tellOf: (error, about) => {
      if (!(error instanceof Refusal) || error.code !== "unavailable" || isDiskFull(error)) return false;
      if (isLooking || stopping.signal.aborted) return true;
      isLooking = true;
      void look(about)
        .catch(() => undefined)
        .finally(() => (isLooking = false));
      return true;
    },
    hurry: () => {
      // SQLite is never silent.
      if (store.dialect === "sqlite") return;
      void (async () => {
        while (await answers()) await pause();
        await store.close();
      })().catch(() => undefined);
    },
    stop: () => stopping.abort(),
  };
}
