import { isLost } from "./connections.ts";
import type { Link } from "./link.ts";
import { inMap } from "../contract/in-map.ts";

/**
 * Group commit on PostgreSQL. The lock of a company is held until a commit is durable, so commits of single writes would wait
 * for each other's fsync. Writes that wait for the same lock therefore share one transaction. A write is in one of these
 * states:
 *
 *   looking ──lock()──▶ waiting in its lane ──▶ reading ──▶ running ──▶ ended ──batch commits──▶ answered
 *                                                  └──its reads were outdated──▶ it runs again
 *
 * - Before it takes a lock, a write only reads, outside any transaction.
 * - Once the batch has begun, all its writes read at the same time: their statements travel together. Changes are made one
 *   write after another. Before its turn, a write may find that another one has changed what it read (known.ts). It
 *   then runs again, and reads in its turn as well.
 * - So each write sees the changes of those before it, as if they had run one after another.
 * - If a write throws after it has changed something, all writes of the batch run again. No write is answered before the commit.
 * - If a batch fails, each of its writes runs again, alone. But after a lost connection, nothing is known about the commit.
 * - Companies whose writes arrive at the same time share a batch, because a commit costs the same however much it contains. A shared
 *   batch takes only companies whose lock is free at that moment. The others wait for their locks in separate batches, a few at a time.
 * - While a batch commits, the next one works. It begins once it has as many writes as the committing one, or once that one has
 *   ended. So the daemon and the database work at the same time, each for about half of the writes. A slow commit is not waited for.
 * - If a write throws late or takes long, its company is kept apart for a while: its batches contain no other company, and its
 *   writes have savepoints.
 * - A lane has one batch at a time, so a company whose lock is held elsewhere takes one connection.
 * - A write that changes rows without a lock is a batch by itself.
 */
export interface Job {
  /** True if the write runs again because its batch failed. */
  readonly isAlone: boolean;
  /** Called when the batch has begun: the write may read over this link. `number` is the number of its turn. */
  start(link: Link, number: number): void;
  /** Whether another write has changed what this one has read. */
  isStale(): boolean;
  /** Called when the write's turn has come: from now on its statements use this link. */
  enter(link: Link): void;
  /** Resolves when the work has ended, with whether it succeeded. */
  readonly ended: Promise<boolean>;
  /** Whether the work succeeded, if it ended before its turn. */
  endedAs(): boolean | undefined;
  /** The write gets no turn: there was no connection or lock for it, or it runs again. */
  refuse(error: unknown): void;
  /** Called when its batch has committed or failed. */
  settle(failure: unknown): void;
}

/** Thrown in place of an error of another write. The store runs the write again. */
export class BatchFailed extends Error {}
/** The write runs again, and reads only in its turn. */
export class Stale extends Error {}
/** Another write could be undone only together with this one, which runs again. */
export class Undone extends Error {}

const mostInBatch = 64;
/**
 * The most shared batches to wait for before the next begins, and the longest wait in milliseconds. The wait is shorter if a
 * batch waits for a lock that is held elsewhere.
 */
const mostAtOnce = 2;
const longest = 50;
const longestWait = 5;
/**
 * How many companies wait for their locks at once, each on a separate connection, and after how many milliseconds the others
 * are tried again.
 */
const mostHeld = 4;
const again = 20;
/** After a lock was held elsewhere, this many batches read only once they have their locks. */
const batchesWary = 100;
/** For how many writes a company is kept apart, and after how many milliseconds in its turn a write causes that. */
const writesApart = 100;
const slow = 200;

/**
 * The lane of the installation is kept apart: its writes may wait for the lock of the ledger, and must not hold up companies.
 */
const installation = "installation";

interface Lane {
  readonly key: string | null;
  readonly waiting: Job[];
  /** Set while the lane's batch accepts more writes. */
  admit?: (() => void) | undefined;
  isInBatch: boolean;
}

/** A batch shared by companies. */
interface Shared {
  /** Called when its writes have run. */
  readonly over: () => void;
  /** The number of its writes. */
  size: number;
  /** Called when it begins and ends to wait for its lock. */
  readonly waits: (isWaiting: boolean) => void;
}

export function createBatches(parts: {
  /** Opens a link with a transaction. */
  open: () => Promise<Link>;
  /** Takes locks and returns the keys of those it got: all of them if it waits, otherwise the free ones. */
  lock: (
    link: Link,
    keys: readonly string[],
    how: { waits: boolean; trusts: boolean },
  ) => Promise<readonly string[]>;
  /** Seals what the batch changed, just before the commit. */
  seal: (link: Link) => Promise<void>;
  committed: () => void;
}): (key: string | null, job: Job) => void {
  const lanes = new Map<string, Lane>();
  /** Lanes with writes and without a batch. */
  const ready = new Set<Lane>();
  /** The companies that are kept apart, with the number of writes left. */
  const apart = new Map<string | null, number>();
  /** The shared batch whose writes run, and the one that commits. */
  let working: Shared | undefined;
  let committing: Shared | undefined;
  let places = mostAtOnce;
  let held = 0;
  let wary = 0;

  const take = (some: readonly Lane[]): Lane[] =>
    some.map((lane) => {
      ready.delete(lane);
      lane.isInBatch = true;
      return lane;
    });
  const leave = (left: readonly Lane[]): void => {
    for (const lane of left) {
      lane.isInBatch = false;
      if (lane.waiting.length > 0) ready.add(lane);
      else if (lane.key !== null) lanes.delete(lane.key);
    }
    begin();
  };
  function begin(): void {
    for (const lane of ready)
      if (lane.waiting[0]?.isAlone === true || lane.key === installation || apart.has(lane.key))
        void runBatch(take([lane]));
    if (ready.size === 0 || working !== undefined || places === 0) return;
    const waiting = [...ready].reduce((sum, lane) => sum + lane.waiting.length, 0);
    if (committing !== undefined && waiting < committing.size) return;
    places -= 1;
    let hasPlace = true;
    const over = (): void => {
      if (working !== own) return;
      [committing, working] = [own, undefined];
      begin();
    };
    const giveUp = (): void => {
      if (hasPlace) places += 1;
      hasPlace = false;
      clearTimeout(timer);
      clearTimeout(patience);
      over();
      if (committing === own) committing = undefined;
      begin();
    };
    const timer = setTimeout(giveUp, longest);
    let patience: NodeJS.Timeout | undefined;
    const waits = (isWaiting: boolean): void => {
      clearTimeout(patience);
      if (isWaiting && hasPlace) patience = setTimeout(giveUp, longestWait);
    };
    const own: Shared = (working = { over, size: 0, waits });
    void runBatch(take([...ready].slice(0, mostInBatch)), own).finally(giveUp);
  }

  /** Waits for a lane's lock, which is held elsewhere. Its place is taken at once: many lanes may come together. */
  function wait(lane: Lane): void {
    if (held === mostHeld) return void setTimeout(() => leave([lane]), again).unref();
    held += 1;
    void runBatch([lane], undefined, true);
  }

  /** With `shared`, the batch takes other companies as well. With `isHeld`, it has a place among those that wait for a lock. */
  async function runBatch(own: Lane[], shared?: Shared, isHeld = false): Promise<void> {
    const hasWaited = (): void => {
      if (isHeld) held -= 1;
      isHeld = false;
      shared?.waits(false);
    };
    let link: Link;
    try {
      link = await parts.open();
    } catch (error) {
      hasWaited();
      for (const { waiting } of own) for (const job of waiting.splice(0)) job.refuse(error);
      return leave(own);
    }
    // Lanes that became ready while the connection was opened.
    // More than have a place would come back behind the first ones, each time.
    if (shared !== undefined && shared === working)
      own.push(...take([...ready].slice(0, mostInBatch - own.length)));
    const queue: { readonly job: Job; readonly lane: Lane }[] = [];
    const batch: Job[] = [];
    let turn = 0;
    const admitNext = (lane: Lane): boolean => {
      const [job] = lane.waiting;
      if (job === undefined || queue.length === mostInBatch) return false;
      if (queue.length > 0 && (job.isAlone || queue[0]?.job.isAlone === true)) return false;
      lane.waiting.shift();
      queue.push({ job, lane });
      if (shared !== undefined) shared.size = queue.length;
      job.start(link, queue.length);
      return true;
    };
    const open = (some: readonly Lane[]): void => {
      for (const lane of some) lane.admit = () => void admitNext(lane);
      // One write of each company in turn: otherwise a company with many writes would take all places.
      for (let left = some; left.length > 0;) left = left.filter(admitNext);
    };
    const close = (): void => {
      for (const lane of own) lane.admit = undefined;
      shared?.over();
    };
    const companies = new Set<string>();
    /** Lanes whose locks are held elsewhere leave the batch. */
    const leaveUnlocked = (got: ReadonlySet<string>): void => {
      const missed = own.filter(({ key }) => key !== null && !got.has(key));
      own = own.filter((lane) => !missed.includes(lane));
      for (const lane of missed) {
        lane.admit = undefined;
        wait(lane);
      }
      for (const { job, lane } of queue) if (missed.includes(lane)) job.refuse(new Stale());
      if (missed.length > 0) wary = batchesWary;
      for (const key of got) companies.add(key);
    };
    const keys = own.flatMap(({ key }) => key ?? []);
    const waits = own.length === 1 && (isHeld || held < mostHeld);
    if (waits && keys.length > 0 && !isHeld) {
      isHeld = true;
      held += 1;
    }
    shared?.waits(isHeld);
    const trusts = !waits && wary === 0;
    if (!waits && wary > 0) wary -= 1;
    try {
      const locked = keys.length === 0 ? keys : parts.lock(link, keys, { waits, trusts });
      // The early reads travel together with the lock.
      if (waits || trusts) open(own);
      leaveUnlocked(new Set(await Promise.resolve(locked).finally(hasWaited)));
      if (!waits && !trusts) open(own);
    } catch (error) {
      close();
      void link.close(error);
      for (const { job } of queue) job.refuse(error);
      for (const { waiting } of own) for (const job of waiting.splice(0)) job.refuse(error);
      return leave(own);
    }
    let failure: unknown;
    let hasChanges = false;
    /** The newest savepoint. */
    let saved: string | undefined;
    /**
     * Each savepoint has a unique name. After a statement that failed unnoticed, a rollback to a reused name would undo the
     * work of an earlier write, which would still be answered as done.
     */
    const run = async (job: Job, { key }: Lane): Promise<boolean> => {
      const pending = [...link.pending];
      const left = apart.get(key) ?? 0;
      const savepoint = left > 0 ? `job${turn}` : undefined;
      if (savepoint !== undefined) {
        if (left === 1) apart.delete(key);
        else apart.set(key, left - 1);
        if (saved !== undefined) link.keep(saved);
        link.savepoint((saved = savepoint));
      }
      const from = performance.now();
      job.enter(link);
      const isGood = await job.ended;
      if (performance.now() - from > slow) apart.set(key, writesApart);
      if (isGood) return true;
      void link.pending.splice(0, link.pending.length, ...pending);
      if (link.isSpoilt()) throw new Error("a write that waited for its turn failed");
      if (savepoint !== undefined) await link.rollBackTo(savepoint);
      else if (link.known.hasChanges() || link.hasFailed()) {
        if (hasChanges || turn < queue.length) apart.set(key, writesApart);
        throw new Undone();
      }
      return false;
    };
    try {
      for (;;) {
        const next = queue[turn];
        if (next === undefined) break;
        const { job, lane } = next;
        turn += 1;
        if (!own.includes(lane)) continue;
        link.known.turn(companies, turn);
        if (job.isStale()) {
          job.refuse(new Stale());
          continue;
        }
        batch.push(job);
        const isGood = job.endedAs();
        if (isGood === undefined) {
          if (await run(job, lane)) hasChanges = true;
        } else if (isGood) {
          // The write only reads and records.
          job.enter(link);
          hasChanges = true;
        }
      }
      close();
      if (hasChanges) {
        await parts.seal(link);
        await link.commit();
      }
    } catch (error) {
      close();
      failure = error ?? new Error("the batch failed");
      const reason = failure instanceof Undone ? failure : new Stale();
      for (const { job } of queue.slice(turn)) job.refuse(reason);
    }
    void link.close(failure);
    // Writes that threw have seen no changes of others. But the error of a statement may be that of an earlier one.
    if (failure instanceof Undone && !hasChanges && (batch.length === 1 || !link.hasFailed()))
      failure = undefined;
    const isOwn = (batch.length === 1 && !link.isSpoilt()) || failure instanceof Undone;
    const reason = failure === undefined || isOwn || isLost(failure) ? failure : new BatchFailed();
    for (const job of batch) job.settle(reason);
    leave(own);
    if (failure === undefined && hasChanges) parts.committed();
  }

  return (key, job) => {
    if (key === null) return void runBatch([{ key, waiting: [job], isInBatch: true }]);
    const lane = inMap(lanes, key, (): Lane => ({ key, waiting: [], isInBatch: false }));
    lane.waiting.push(job);
    if (lane.isInBatch) return lane.admit?.();
    ready.add(lane);
    begin();
  };
}
