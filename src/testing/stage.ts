import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newId, newSecret } from "../daemon/ids.ts";
import { seenSoFar } from "../events/ledger.ts";
import type { NodeParts } from "../runtime/node-parts.ts";
import { createScheduler, type Scheduler } from "../runtime/scheduler.ts";
import type { Query } from "../store/query.ts";
import type { Store } from "../store/store.ts";
import { createOrganization, openTestStore, type Organization, type StoreKind } from "./organization.ts";
import { type ScriptedRunner, scriptedRunner } from "./scripted-runner.ts";

/**
 * An organization with its scheduler. The store is real, processes are scripts, and the clock stands still until the test
 * advances it. The program reads the time only from its transactions, so replacing their clock controls all of its time.
 */
export interface Stage {
  readonly org: Organization;
  readonly store: Store;
  readonly runner: ScriptedRunner;
  readonly scheduler: Scheduler;
  readonly now: () => number;
  readonly advance: (milliseconds: number) => void;
  /** Another node with its own runner on the same store. A name used before means the restarted node. */
  node(name: string, parts?: Partial<NodeParts>): StageNode;
  /** Stops the node as kill -9 does. The processes it started may live on. */
  crash(node: Pick<StageNode, "scheduler">): void;
  /** Lets the schedulers work until the ledger stops growing and every process has ended or waits for the test. */
  rest(): Promise<void>;
  /** Stops everything. Fails if a session was not played as planned, unless the play itself failed. */
  close(play?: "failed"): Promise<void>;
}

export interface StageNode {
  readonly scheduler: Scheduler;
  readonly runner: ScriptedRunner;
}

const beginning = Date.UTC(2030, 0, 1, 12);

export async function openStage(kind: StoreKind): Promise<Stage> {
  const opened = await openTestStore(kind);
  let time = beginning;
  const store = withClock(opened.store, () => time);
  const org = await createOrganization(store);
  const nodes = new Set<StageNode>();
  const runners: ScriptedRunner[] = [];
  const bugs: unknown[] = [];
  const node: Stage["node"] = (name, parts = {}) => {
    const runner = scriptedRunner(org.core.dispatch);
    const reportBug = (error: unknown): void => void bugs.push(error);
    const locking = lockingFirst(store);
    const scheduler = createScheduler({
      store: locking,
      nodeId: name,
      runner,
      newId,
      newSecret,
      reportBug,
      ...parts,
    });
    runners.push(runner);
    const made = { scheduler, runner };
    nodes.add(made);
    return made;
  };
  const first = node("node-1");

  const rest = async (): Promise<void> => {
    for (let before = -1, after = await seqOf(store); before !== after; after = await seqOf(store)) {
      before = after;
      for (const { scheduler, runner } of nodes) {
        await scheduler.tick();
        await quiet(scheduler, runner, bugs);
      }
    }
  };

  return {
    org,
    store,
    ...first,
    now: () => time,
    advance: (milliseconds) => void (time += milliseconds),
    node,
    crash: (lost) => {
      for (const known of nodes) if (known.scheduler === lost.scheduler) nodes.delete(known);
    },
    rest,
    close: async (play) => {
      try {
        for (const { scheduler } of nodes) await scheduler.stop();
        if (play === "failed") return;
        for (const runner of runners) runner.verify();
        if (bugs.length > 0) throw bugs[0];
      } finally {
        await opened.close();
      }
    },
  };
}

/** Opens a stage, starts its scheduler, plays, and closes the stage. */
export async function onStage(kind: StoreKind, play: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await openStage(kind);
  try {
    await stage.scheduler.start();
    await play(stage);
  } catch (error) {
    await stage.close("failed");
    throw error;
  }
  await stage.close();
}

/** Declares tests. Each of them gets a new stage. */
export const stagedOn =
  (kind: StoreKind) =>
  (name: string, play: (stage: Stage, t: TestContext) => Promise<void>): void =>
    void test(name, (t) => onStage(kind, (stage) => play(stage, t)));

/** The same store with this clock. */
export function withClock(store: Store, clock: () => number): Store {
  return {
    ...store,
    read: (work) => store.read((tx) => work({ ...tx, now: clock() })),
    write: (work) => store.write((tx) => work({ ...tx, now: clock() })),
  };
}

/**
 * The same store. It fails a write that records something in a company, or changes a row that the ledger seals, before it has taken a
 * lock: writes with a lock could move the head of the company's chain each time before this one, until it is given up.
 */
function lockingFirst(store: Store): Store {
  return {
    ...store,
    write: (work, on) =>
      store.write(async (tx) => {
        let isLocked = false;
        const demand = (changes: boolean): void => {
          if (changes && !isLocked)
            throw new Error("a write changed something of a company without its lock");
        };
        const seals = (q: Query<never, unknown>): boolean => q.on(tx.dialect).seals !== undefined;
        return work({
          ...tx,
          lock: (key) => {
            isLocked = true;
            return tx.lock(key);
          },
          run: async (q, params) => {
            demand(seals(q));
            return tx.run(q, params);
          },
          count: async (q, params) => {
            demand(seals(q));
            return tx.count(q, params);
          },
          append: (event) => {
            demand(event.company_id !== "");
            tx.append(event);
          },
        });
      }, on),
  };
}

/** Waits until every process waits for the test or has ended and was handled by the scheduler. A bug may be why one is not. */
async function quiet(scheduler: Scheduler, runner: ScriptedRunner, bugs: readonly unknown[]): Promise<void> {
  for (const started = performance.now(); ; await sleep(1)) {
    if (bugs.length > 0) throw bugs[0];
    if (runner.alive() === runner.held() && scheduler.running() <= runner.held()) return;
    if (performance.now() - started > 120_000)
      throw new Error("a scripted session did not end within 2 minutes");
  }
}

async function seqOf(store: Store): Promise<number> {
  const seen = await store.read(seenSoFar);
  return [...seen.values()].reduce((sum, seq) => sum + seq, 0);
}
