import { type Job, Stale } from "./batches.ts";
import { type Pending, sealing } from "./chain.ts";
import type { EarlyReader } from "./known.ts";
import type { Link } from "./link.ts";
import {
  announceOn,
  type Asking,
  canBeEarly,
  keepingOf,
  knownOf,
  lockOf,
  rowsOf,
  txBy,
  type LinkWay,
} from "./postgres-tx.ts";
import type { Mac, Tx } from "./store.ts";

/**
 * early: the write reads as soon as its batch has begun. in turn: it reads only in its turn, because its early reads were
 * changed. alone: its batch failed.
 */
export type Pace = "early" | "in turn" | "alone";

const hasEnded = "the write has ended";

interface Writes {
  readonly now: () => Promise<number>;
  readonly mac: Mac;
  readonly batch: (key: string | null, job: Job) => void;
  /** Reads outside a transaction. */
  readonly look: (ask: (link: Link) => Promise<unknown[]>) => Promise<unknown[]>;
}

/** Runs a write. Until it takes a lock, it runs outside any transaction; then it becomes a job of a batch (batches.ts). */
export async function writeInBatch<T>(
  { now, mac, batch, look }: Writes,
  work: (tx: Tx) => Promise<T>,
  pace: Pace,
): Promise<T> {
  const time = await now();
  const answer = Promise.withResolvers<T>();
  const ended = Promise.withResolvers<boolean>();
  const turn = Promise.withResolvers<Link>();
  turn.promise.catch(() => undefined);
  let endedAs: boolean | undefined;
  let settle: () => void = () => undefined;
  /** Fails the calls that wait for its turn. */
  let abandon = (error: unknown): void => turn.reject(error);
  /** The reason if it gets no turn. */
  let refusal: { readonly error: unknown } | undefined;
  let joining: Promise<void> | undefined;
  let link: Link | undefined;
  /** The link over which it may read before its turn. */
  let early: { readonly link: Link; readonly reader: EarlyReader } | undefined;
  /** The number of calls that wait for its turn. Later ones wait behind them. */
  let queued = 0;
  /** Events that it recorded before its turn. */
  const recorded: Pending = [];
  const announced: Asking[] = [];

  const join = (key: string | null): Promise<void> =>
    (joining ??= new Promise<void>((resolve, reject) => {
      abandon = (error) => {
        turn.reject(error);
        reject(error);
      };
      let reader: EarlyReader | undefined;
      batch(key, {
        isAlone: pace === "alone",
        start: (on, number) => {
          reader = { number, isStale: false };
          for (const asked of announced) announceOn(on, asked, reader, pace === "alone");
          if (pace !== "early") return;
          early = { link: on, reader };
          resolve();
        },
        isStale: () => early?.reader.isStale === true,
        enter: (given) => {
          link = given;
          given.pending.push(...recorded.splice(0));
          turn.resolve(given);
          resolve();
        },
        ended: ended.promise,
        endedAs: () => endedAs,
        refuse: (error) => {
          refusal = { error };
          abandon(error);
          if (endedAs !== undefined) answer.reject(error);
        },
        settle: (failure) => (failure === undefined ? settle() : answer.reject(failure)),
      });
    }));
  const late = (): Promise<never> => Promise.reject(new Error(hasEnded));
  const go = <R>(use: (link: Link) => Promise<R>): Promise<R> => {
    // This call was not waited for. The batch may already have committed, or undone its work.
    if (endedAs !== undefined) return late();
    if (link !== undefined && queued === 0) return use(link);
    if (joining === undefined) join(null).catch(() => undefined);
    queued += 1;
    return turn.promise.then((given) => {
      queued -= 1;
      return endedAs === false ? late() : use(given);
    });
  };
  const read = (asked: Asking): Promise<unknown[]> => {
    if (joining === undefined) return look((looking) => rowsOf(looking, asked));
    // The link may belong to another transaction by now.
    if (refusal !== undefined) return Promise.reject(refusal.error);
    if (link !== undefined || queued > 0) return go((given) => knownOf(given, asked));
    if (early === undefined) return joining.then(() => read(asked));
    if (early.reader.isStale) return Promise.reject(new Stale());
    if (!canBeEarly(asked.prepared)) return go((given) => knownOf(given, asked));
    return knownOf(early.link, asked, early.reader);
  };
  const way: LinkWay = {
    go,
    read,
    ahead: (asked) => {
      if (joining === undefined) return void announced.push(asked);
      if (refusal !== undefined) return;
      if (keepingOf(asked.prepared) !== "shared") return;
      // If it fails, so does the transaction.
      if (early === undefined || link !== undefined || queued > 0) read(asked).catch(() => undefined);
      else announceOn(early.link, asked, early.reader, false);
    },
    lock: (key) => (joining === undefined ? join(key) : go(async (given) => given.send(lockOf(key)))),
    get pending() {
      return link?.pending ?? recorded;
    },
    get heads() {
      return link?.heads;
    },
    turn: () => (joining === undefined || link !== undefined ? undefined : go(async () => undefined)),
  };
  const end = (isGood: boolean, settled: () => void): void => {
    endedAs = isGood;
    settle = settled;
    ended.resolve(isGood);
    // It gets no turn any more.
    if (!isGood && link === undefined) abandon(new Error(hasEnded));
    if (refusal !== undefined) answer.reject(refusal.error);
    else if (joining === undefined) settled();
  };
  sealing(txBy(way, time, mac), work)
    .then(async (result) => {
      // The write recorded something without taking a lock.
      if (joining === undefined && recorded.length > 0) await join(null);
      if (queued > 0) await turn.promise;
      return result;
    })
    .then(
      (result) => end(true, () => answer.resolve(result)),
      (error: unknown) => end(false, () => answer.reject(error)),
    );
  return answer.promise;
}
