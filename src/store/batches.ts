import { isLost } from "./connections.ts";
import type { Link } from "./link.ts";

/**
 * Group commit on PostgreSQL. The lock of a company is held until a commit is durable, so commits of single writes would wait
 * for each other's fsync. Writes that wait for the same lock therefore share one transaction. A write is in one of these states:
 *
 *   looking ──lock()──▶ waiting in its lane ──▶ reading ──▶ running in its savepoint ──▶ ended ──batch commits──▶ answered
 *                                                  └──what it read was changed──▶ it runs again
 *
 * - Before it takes a lock, a write only reads, outside any transaction.
 * - Once the batch has begun, all its writes read at the same time: their statements travel together. Changes are made one
 *   write after another. A write that waits for its turn to change something may find then that another has changed what it read
 *   (known.ts). It runs again, and now reads in its turn as well.
 * - So each write sees the changes of those before it, as if they had run one after another.
 * - A write that throws is rolled back to its savepoint. No write is answered before the commit.
 * - If a batch fails, each of its writes runs again, alone. But if the connection is lost, nothing is known about the commit.
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

const mostInBatch = 64;

interface Lane {
  readonly waiting: Job[];
  /** Those that may join the batch start to read. */
  admit(): void;
}

export function createBatches(parts: {
  /** A link with a transaction, and when it has the lock. */
  open: (key: string | null) => Promise<{ link: Link; opened: Promise<unknown> | undefined }>;
  /** Seals what the batch changed, just before the commit. */
  seal: (link: Link, key: string | null) => Promise<void>;
  committed: () => void;
}): (key: string | null, job: Job) => void {
  const lanes = new Map<string, Lane>();

  async function drain(key: string, lane: Lane): Promise<void> {
    while (lane.waiting.length > 0) await runBatch(key, lane);
    lanes.delete(key);
  }

  async function runBatch(key: string | null, lane: Lane): Promise<void> {
    const { waiting } = lane;
    let link: Link;
    let opened: Promise<unknown> | undefined;
    try {
      ({ link, opened } = await parts.open(key));
    } catch (error) {
      for (const job of waiting.splice(0)) job.refuse(error);
      return;
    }
    const batch: Job[] = [];
    let turn = 0;
    let started = 0;
    let first: Job | undefined;
    lane.admit = (): void => {
      // The turn that has come, and those that follow.
      const numbered = turn + waiting.length;
      while (started < Math.min(numbered, first?.isAlone === true ? 1 : mostInBatch)) {
        const next = waiting[started - turn];
        if (next === undefined || (started > 0 && next.isAlone)) break;
        first ??= next;
        started += 1;
        next.start(link, started);
      }
    };
    lane.admit();
    let failure: unknown;
    try {
      await opened;
    } catch (error) {
      lane.admit = idle;
      void link.close(error);
      for (const job of waiting.splice(0)) job.refuse(error);
      return;
    }
    try {
      let hasChanges = false;
      /** The last turn with a savepoint. */
      let saved = 0;
      while (turn < started) {
        const job = waiting.shift();
        if (job === undefined) break;
        turn += 1;
        link.known.turn(key, turn);
        if (job.isStale()) {
          job.refuse(new Stale());
          continue;
        }
        batch.push(job);
        const isGood = job.endedAs();
        if (isGood === undefined) {
          if (await run(link, job, turn, saved)) hasChanges = true;
          saved = turn;
        } else if (isGood) {
          // It only reads and records.
          job.enter(link);
          hasChanges = true;
        }
      }
      lane.admit = idle;
      if (hasChanges) {
        await parts.seal(link, key);
        await link.commit();
      }
    } catch (error) {
      lane.admit = idle;
      failure = error ?? new Error("the batch failed");
      for (const job of waiting.splice(0, started - turn)) job.refuse(new Stale());
    }
    void link.close(failure);
    const isOwn = batch.length === 1 && !link.isSpoilt();
    const reason = failure === undefined || isOwn || isLost(failure) ? failure : new BatchFailed();
    for (const job of batch) job.settle(reason);
    if (failure === undefined) parts.committed();
  }

  return (key, job) => {
    if (key === null) return void runBatch(null, { waiting: [job], admit: idle });
    const lane = lanes.get(key);
    if (lane !== undefined) {
      lane.waiting.push(job);
      return lane.admit();
    }
    const made: Lane = { waiting: [job], admit: idle };
    lanes.set(key, made);
    void drain(key, made);
  };
}

const idle = (): void => undefined;

/**
 * Each savepoint has its own name. After a statement that failed unnoticed, a rollback to a name that was used before would undo
 * the work of an earlier write, which would still be answered as done.
 */
async function run(link: Link, job: Job, number: number, before: number): Promise<boolean> {
  const saved = [...link.pending];
  if (before > 0) link.keep(`job${before}`);
  link.savepoint(`job${number}`);
  job.enter(link);
  if (await job.ended) return true;
  void link.pending.splice(0, link.pending.length, ...saved);
  if (link.isSpoilt()) throw new Error("a write that waited for its turn failed");
  await link.rollBackTo(`job${number}`);
  return false;
}
