// Kills the daemon of a working organization of actors again and again, and checks after each restart that the daemon kept
// its promises. At the end the kills stop, and all work comes to rest.
import { allowed } from "../../src/testing/allowed.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { listSessions } from "../../src/contract/sessions.ts";
import { calmDown, employActors, readNotes } from "./agents.ts";
import type { Arena } from "./arena.ts";
import { Board } from "./living-board.ts";
import { checkLiving, checkRefused, type LivingCheck } from "./living-checker.ts";
import { checkInvariants } from "./invariants.ts";
import { gone, sessionProcesses } from "./processes.ts";
import type { Random } from "./random.ts";
import { openTables } from "./tables.ts";

export interface LivingOptions {
  readonly arena: Arena;
  readonly random: Random;
  /** Where actors take notes. */
  readonly folder: string;
  /** In a sandbox, actors can't take notes. */
  readonly takesNotes: boolean;
  readonly kills: number;
  /** Everything is checked after this many kills, and at the end. */
  readonly checkEvery: number;
}

export interface LivingCampaign {
  readonly problems: readonly string[];
  /** Describes the campaign for the reader of the test's log. */
  readonly says: string;
  readonly killedWithSessions: number;
  readonly orphans: number;
  readonly accepted: number;
}

const orphanMilliseconds = 5000;

export async function runLiving(options: LivingOptions): Promise<LivingCampaign> {
  const { arena, random, folder } = options;
  const { home } = arena.options;
  const problems = new Set<string>();
  const daemon = await arena.start();
  const staff = await employActors(daemon, folder, { wild: true, managers: 2, maxSessions: 4 });
  const { token, companyId } = daemon;
  const board = new Board({ arena, staff, token, companyId, random: random.fork() });
  const stopping = new AbortController();
  const running = board.run(stopping.signal);
  const note = (found: readonly string[]): void => found.forEach((problem) => problems.add(problem));

  const check = async (moment: "busy" | "at rest"): Promise<Awaited<ReturnType<typeof checkLiving>>> => {
    const tables = await openTables(arena.options);
    try {
      const recall: LivingCheck["recall"] = () => {
        const { attempts, acknowledged } = readNotes(folder);
        return { attempts: [...board.attempts, ...attempts], acknowledged, whole: options.takesNotes };
      };
      const { daemon, options: how } = arena;
      const sight = await checkLiving({ daemon, options: how, tables, recall, moment });
      note(sight.problems);
      return sight;
    } finally {
      await tables.close();
    }
  };

  let killedWithSessions = 0;
  let orphans = 0;
  let slowest = 0;
  await board.giveGoals();
  let checkedAt = 0;
  for (let killed = 1; killed <= options.kills && problems.size === 0; killed++) {
    await someActivity(arena, random);
    // A process that ends between the look and the kill isn't an orphan, and does no harm here.
    const before = new Set(sessionProcesses(home).map(({ pid }) => pid));
    const known = readNotes(folder).sessions;
    const log = arena.daemon.log();
    if (log !== "") problems.add(`the daemon complained: ${log.slice(0, 1000)}`);
    await arena.kill();
    if (before.size > 0) killedWithSessions += 1;
    orphans += sessionProcesses(home).filter(({ pid }) => before.has(pid)).length;
    for (; killed < options.kills && random.chance(0.2); killed++)
      await arena.killWhileStarting(random.between(50, 500));

    const dead = new Set(known.map(({ id }) => id));
    await arena.start({ open: false });
    const old = (): ReturnType<typeof sessionProcesses> =>
      sessionProcesses(home).filter(({ pid, sessionId }) => before.has(pid) || dead.has(sessionId));
    slowest = Math.max(slowest, await gone(old, orphanMilliseconds, `kill ${killed}`));
    await ended(arena, dead);
    const tokens = known.slice(-5).map(({ token: old }) => old);
    note(await checkRefused(arena.daemon.url, tokens));
    note(await checkInvariants(arena.daemon));
    if (killed - checkedAt >= options.checkEvery) {
      checkedAt = killed;
      await check("busy");
    }
    arena.resume();
    await board.helpOut();
  }
  stopping.abort();
  await running;
  calmDown(folder);
  const rested = problems.size > 0 ? 0 : await comeToRest(arena, board);
  const { accepted, started } = await check("at rest");
  await gone(() => sessionProcesses(home), orphanMilliseconds, "at rest");
  note(board.unexpected);
  const notes = readNotes(folder);
  return {
    problems: [...problems],
    killedWithSessions,
    orphans,
    accepted,
    says:
      `${options.kills} kills, ${killedWithSessions} of them with live sessions (${orphans} processes outlived the daemon, ` +
      `gone ${Math.round(slowest)} ms after the next was ready); ${started} sessions, ${accepted} of their writes accepted, ` +
      `${notes.ghosts} tried by processes without a daemon, ${notes.haunted} of those reached one; ${board.stops} stopped by ` +
      `the board; at rest ${(rested / 1000).toFixed(1)} s after the last kill`,
  };
}

/**
 * Waits until these sessions have ended. A daemon that starts ends the sessions of its last run. If the database still keeps a
 * company's lock for the killed daemon, it does not wait for that company.
 */
async function ended(arena: Arena, ids: ReadonlySet<string>): Promise<void> {
  const { board, companyId } = arena.daemon;
  for (const until = performance.now() + allowed(10_000); performance.now() < until; await sleep(50)) {
    const { sessions } = await board.call(listSessions, { companyId, live: true });
    if (!sessions.some(({ id }) => ids.has(id))) return;
  }
}

/** Waits until some sessions have begun, or a while has passed: machines differ in speed. */
async function someActivity(arena: Arena, random: Random): Promise<void> {
  const { board, companyId } = arena.daemon;
  const wanted = random.between(0, 3);
  const until = performance.now() + allowed(2000);
  const { sessions } = await board.call(listSessions, { companyId, limit: 1 });
  const last = sessions[0]?.id ?? "";
  for (let begun = 0; begun < wanted && performance.now() < until; await sleep(20)) {
    const page = (await board.call(listSessions, { companyId, limit: 50 })).sessions;
    begun = page.filter(({ id }) => id > last).length;
  }
  await sleep(random.between(0, 300));
}

/** Waits until only standing outcomes are open and no message is under way. The board helps when only the board can. */
export async function comeToRest(arena: Arena, board: Board): Promise<number> {
  const start = performance.now();
  const { board: client, companyId } = arena.daemon;
  const tables = await openTables(arena.options);
  try {
    for (let calm = 0; calm < 3; await sleep(300)) {
      if (performance.now() - start > allowed(120_000)) return performance.now() - start;
      await board.helpOut();
      const { sessions } = await client.call(listSessions, { companyId, live: true });
      const open = await board.openWork();
      const soon = await tables.ask(
        `select id from messages where delivered_at is null and failure is null and deliver_at < ${Date.now() + 10_000}`,
      );
      calm = sessions.length === 0 && open === 0 && soon.length === 0 ? calm + 1 : 0;
    }
  } finally {
    await tables.close();
  }
  return performance.now() - start;
}
