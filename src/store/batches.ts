import { isLost } from "./connections.ts";
import type { Link } from "./link.ts";
import { inMap } from "../contract/in-map.ts";

/**
 * Group commit on PostgreSQL. The lock of a company is held until a commit is durable, so commits of single writes would wait
 * for each other's fsync. Writes that wait for the same lock therefore share one transaction. A write is in one of these states:
 *
 *   looking ──lock()──▶ waiting in its lane ──▶ reading ──▶ running ──▶ ended ──batch commits──▶ answered
 *                                                  └──what it read was changed──▶ it runs again
 *
 * - Before it takes a lock, a write only reads, outside any transaction.
 * - Once the batch has begun, all its writes read at the same time: their statements travel together. Changes are made one
 *   write after another. A write that waits for its turn to change something may find then that another has changed what it read
 *   (known.ts). It runs again, and now reads in its turn as well.
 * - So each write sees the changes of those before it, as if they had run one after another.
 * - A write that throws after it has changed something takes the batch with it: all run again. No write is answered before the commit.
 * - If a batch fails, each of its writes runs again, alone. But if the connection is lost, nothing is known about the commit.
 * - Companies whose writes come at the same time share a batch, because each commit costs the same, however much it holds. Only a
 *   company whose lock is free at that moment is in it. The others wait for their locks in batches of their own, a few at a time.
 * - While a batch commits, the next one works. It begins once it has as many writes as the one that commits, or that has ended. So the
 *   daemon and the database work at the same time, each for about half of the writes. A commit that takes long is not waited for.
 * - A company one of whose writes threw so late, or took long, is kept apart for a while: its batches are its own, and its writes have
 *   savepoints.
 * - A lane has one batch at a time, so a company whose lock is held elsewhere takes one connection.
 * - A write that changes rows without a lock is a batch by itself.
 */
export interface Job {
  /** It runs again because its batch failed. */
  readonly isAlone: boolean;
  /** The batch has begun: it may read over this link. Its turn is the one with this number. */
  start(link: Link, number: number): void;
  /** Whether another write has changed what it has read. */
  isStale(): boolean;
  /** Its turn has come: from now on its statements go over this link. */
  enter(link: Link): void;
  /** Whether its work succeeded. */
  readonly ended: Promise<boolean>;
  /** The same, if it ended before its turn. */
  endedAs(): boolean | undefined;
  /** It has no turn: there was no connection or lock for it, or it runs again. */
  refuse(error: unknown): void;
  /** Its batch has committed, or failed. */
  settle(failure: unknown): void;
}

/** Stands for an error of another write. The store runs the write again. */
export class BatchFailed extends Error {}
/** The write runs again, and reads nothing before its turn. */
export class Stale extends Error {}
/** Another write could only be undone together with this one. It runs again. */
export class Undone extends Error {}

const mostInBatch = 64;
/**
 * How many shared batches are waited for before the next begins, and for how long, in milliseconds. Less if one waits for a lock that is
 * held elsewhere.
 */
const mostAtOnce = 2;
const longest = 50;
const longestWait = 5;
/** How many companies wait for their locks at once, each on its own connection, and after which time the others are tried again. */
const mostHeld = 4;
const again = 20;
/** How many writes of a company are kept apart, and after which time in its turn a write makes that happen, in milliseconds. */
const writesApart = 100;
const slow = 200;

/** Its writes may wait for the lock of the ledger, so they hold up no company. */
const installation = "installation";

interface Lane {
  readonly key: string | null;
  readonly waiting: Job[];
  /** While its batch takes more writes. */
  admit?: (() => void) | undefined;
  isInBatch: boolean;
}

/** A batch of any companies. */
interface Shared {
  /** Its writes have run. */
  readonly over: () => void;
  /** How many they are. */
  size: number;
  /** It waits for its lock. */
  waits: boolean;
}

export function createBatches(parts: {
  /** A link with a transaction. */
  open: () => Promise<Link>;
  /** The locks that it has got: those that are free, or all of them if it waits. */
  lock: (link: Link, keys: readonly string[], waits: boolean) => Promise<readonly string[]>;
  /** Seals what the batch changed, just before the commit. */
  seal: (link: Link) => Promise<void>;
  committed: () => void;
}): (key: string | null, job: Job) => void {
  const lanes = new Map<string, Lane>();
  /** Those that have writes and no batch. */
  const ready = new Set<Lane>();
  /** The companies that are kept apart, and for how many writes. */
  const apart = new Map<string | null, number>();
  /** The shared batch whose writes run, and the one that commits. */
  let working: Shared | undefined;
  let committing: Shared | undefined;
  let places = mostAtOnce;
  let held = 0;

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
    const patience = setTimeout(() => own.waits && giveUp(), longestWait);
    const own: Shared = (working = { over, size: 0, waits: false });
    void runBatch(take([...ready].slice(0, mostInBatch)), own).finally(giveUp);
  }

  /** Its lock is held elsewhere. */
  function wait(lane: Lane): void {
    if (held < mostHeld) void runBatch([lane]);
    else setTimeout(() => leave([lane]), again).unref();
  }

  /** `shared`: it takes other companies as well. */
  async function runBatch(own: Lane[], shared?: Shared): Promise<void> {
    let link: Link;
    try {
      link = await parts.open();
    } catch (error) {
      for (const { waiting } of own) for (const job of waiting.splice(0)) job.refuse(error);
      return leave(own);
    }
    // Those that have become ready while the connection was awaited.
    if (shared !== undefined && shared === working) own.push(...take([...ready].slice(0, mostInBatch)));
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
      // One of each company in turn, or a company with many writes would take all places.
      for (let left = some; left.length > 0;) left = left.filter(admitNext);
    };
    const close = (): void => {
      for (const lane of own) lane.admit = undefined;
      shared?.over();
    };
    const companies = new Set<string>();
    /** Those whose locks are held elsewhere leave the batch. */
    const lockedOf = (some: readonly Lane[], got: ReadonlySet<string>): Lane[] => {
      const missed = some.filter(({ key }) => key !== null && !got.has(key));
      own = own.filter((lane) => !missed.includes(lane));
      for (const lane of missed) wait(lane);
      for (const key of got) companies.add(key);
      return some.filter((lane) => !missed.includes(lane));
    };
    const keys = own.flatMap(({ key }) => key ?? []);
    const waits = own.length === 1 && held < mostHeld;
    const isHeld = waits && keys.length > 0;
    if (isHeld) held += 1;
    if (shared !== undefined) shared.waits = isHeld;
    const hasWaited = (): void => {
      if (isHeld) held -= 1;
      if (shared !== undefined) shared.waits = false;
    };
    try {
      const locked = keys.length === 0 ? keys : parts.lock(link, keys, waits);
      // What they read travels together with the lock.
      if (waits) open(own);
      const got = new Set(await Promise.resolve(locked).finally(hasWaited));
      const first = lockedOf(own, got);
      if (!waits) open(first);
    } catch (error) {
      close();
      void link.close(error);
      for (const { job } of queue) job.refuse(error);
      for (const { waiting } of own) for (const job of waiting.splice(0)) job.refuse(error);
      return leave(own);
    }
    let failure: unknown;
    let hasChanges = false;
    /** The last savepoint. */
    let saved: string | undefined;
    /**
     * Each savepoint has its own name. After a statement that failed unnoticed, a rollback to a name that was used before would undo
     * the work of an earlier write, which would still be answered as done.
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
          // It only reads and records.
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
    // Those that threw have seen nothing that others changed.
    if (failure instanceof Undone && !hasChanges) failure = undefined;
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
