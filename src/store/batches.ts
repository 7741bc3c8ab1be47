import { isLost } from "./connections.ts";
import type { Link } from "./link.ts";

/**
 * Group commit on PostgreSQL. The lock of a company is held until a commit is durable, so commits of single writes would wait
 * for each other's fsync. Writes that wait for the same lock therefore share one transaction. A write is in one of these states:
 *
 *   looking ──lock()──▶ waiting in its lane ──▶ running in its savepoint ──▶ ended ──batch commits──▶ answered
 *
 * - Before it takes a lock, a write only reads, outside any transaction. What it announces before (Tx.ahead) is read while it waits,
 *   together with what others of the batch read.
 * - The writes of a batch run one after another. Each sees the changes of those before it.
 * - A write that throws is rolled back to its savepoint. No write is answered before the commit.
 * - If a batch fails, each of its writes runs again, alone. But if the connection is lost, nothing is known about the commit.
 * - A lane has one batch at a time, so a company whose lock is held elsewhere takes one connection.
 * - A write that changes rows without a lock is a batch by itself.
 */
export interface Job {
  /** It runs again because its batch failed. */
  readonly isAlone: boolean;
  /** Sends what it has announced. Its turn is the one with this number. */
  announce(link: Link, number: number): void;
  /** Its turn has come: from now on its statements go over this link. */
  enter(link: Link): void;
  /** There was no connection or lock for it. */
  refuse(error: unknown): void;
  /** Whether its work succeeded. */
  readonly ended: Promise<boolean>;
  /** Its batch has committed, or failed. */
  settle(failure: unknown): void;
}

/** Stands for an error of another write. The store runs the write again. */
export class BatchFailed extends Error {}

const mostInBatch = 64;

export function createBatches(parts: {
  /** A link with a transaction that holds the lock. */
  open: (key: string | null) => Promise<Link>;
  /** Seals what the batch changed, just before the commit. */
  seal: (link: Link) => Promise<void>;
  committed: () => void;
}): (key: string | null, job: Job) => void {
  const lanes = new Map<string, Job[]>();

  async function drain(key: string, waiting: Job[]): Promise<void> {
    while (waiting.length > 0) await runBatch(key, waiting);
    lanes.delete(key);
  }

  async function runBatch(key: string | null, waiting: Job[]): Promise<void> {
    let link: Link;
    try {
      link = await parts.open(key);
    } catch (error) {
      for (const job of waiting.splice(0)) job.refuse(error);
      return;
    }
    const batch: Job[] = [];
    let failure: unknown;
    try {
      let hasChanges = false;
      let announced = 0;
      for (let job = waiting.shift(); job !== undefined; job = takeNext(batch, waiting)) {
        batch.push(job);
        link.known.turn(key, batch.length);
        for (const [index, next] of [job, ...followers(batch, waiting)].entries()) {
          const number = batch.length + index;
          if (number > announced) next.announce(link, number);
          announced = Math.max(announced, number);
        }
        if (await run(link, job, batch.length)) hasChanges = true;
        // What was read for those that wait may be undone as well.
        else announced = batch.length;
      }
      if (hasChanges) {
        await parts.seal(link);
        await link.commit();
      }
    } catch (error) {
      failure = error ?? new Error("the batch failed");
    }
    void link.close(failure);
    const reason =
      failure === undefined || batch.length === 1 || isLost(failure) ? failure : new BatchFailed();
    for (const job of batch) job.settle(reason);
    if (failure === undefined) parts.committed();
  }

  return (key, job) => {
    if (key === null) return void runBatch(null, [job]);
    const lane = lanes.get(key);
    if (lane !== undefined) return void lane.push(job);
    const waiting = [job];
    lanes.set(key, waiting);
    void drain(key, waiting);
  };
}

/** Those whose turn comes later in this batch. What they announce travels with the statements of the first. */
function followers(batch: readonly Job[], waiting: readonly Job[]): readonly Job[] {
  if (batch[0]?.isAlone === true) return [];
  const alone = waiting.findIndex(({ isAlone }) => isAlone);
  return waiting.slice(0, Math.min(mostInBatch - batch.length, alone === -1 ? waiting.length : alone));
}

function takeNext(batch: readonly Job[], waiting: Job[]): Job | undefined {
  const isOver = batch.length >= mostInBatch || batch[0]?.isAlone === true || waiting[0]?.isAlone === true;
  return isOver ? undefined : waiting.shift();
}

/**
 * Each savepoint has its own name. After a statement that failed unnoticed, a rollback to a name that was used before would undo
 * the work of an earlier write, which would still be answered as done.
 */
async function run(link: Link, job: Job, number: number): Promise<boolean> {
  const saved = [...link.pending];
  if (number > 1) link.keep(`job${number - 1}`);
  link.savepoint(`job${number}`);
  job.enter(link);
  if (await job.ended) return true;
  void link.pending.splice(0, link.pending.length, ...saved);
  await link.rollBackTo(`job${number}`);
  return false;
}
