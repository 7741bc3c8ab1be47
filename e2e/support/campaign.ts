// Kills a daemon under load again and again, and checks after each restart that it kept its promises.
import { allowed } from "../../src/testing/allowed.ts";
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { viewCompany } from "../../src/contract/companies.ts";
import { createAgent } from "../../src/contract/hiring.ts";
import { createKey } from "../../src/contract/agents.ts";
import type { Arena } from "./arena.ts";
import { check, checkRecent } from "./checker.ts";
import { History } from "./history.ts";
import type { Random } from "./random.ts";
import type { Tables } from "./tables.ts";
import { type Pair, Writer } from "./writers.ts";

/**
 * When a daemon is killed: while it starts (perhaps again and again), under load, or in the quiet after it, while SQLite's
 * content is being moved to files.
 */
export type Moment = "starting" | "load" | "moving";

export interface CampaignOptions {
  readonly arena: Arena;
  readonly random: Random;
  readonly kills: number;
  readonly moments: readonly Moment[];
  /** The range of writes that a daemon acknowledges before it is killed. A count, because machines differ in speed. */
  readonly writes: readonly [number, number];
  /** Everything is checked after this many kills, and at the end. */
  readonly checkEvery: number;
  readonly openTables: () => Promise<Tables>;
}

export interface Campaign {
  readonly history: History;
  readonly kills: ReadonlyMap<Moment, number>;
  /** Kills during the move of content into files. */
  readonly whileMoving: number;
  readonly problems: readonly string[];
}

export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const { arena, random } = options;
  const history = new History();
  const kills = new Map<Moment, number>();
  let whileMoving = 0;
  let checkedAttempts = 0;
  const problems = new Set<string>();
  // Before any data exists: kills the first start before it is ready.
  let killed = 0;
  const count = (moment: Moment): void => {
    kills.set(moment, (kills.get(moment) ?? 0) + 1);
    killed += 1;
  };
  for (; killed < Math.min(5, options.kills / 10); count("starting"))
    await arena.killWhileStarting(random.between(20, 400));

  await arena.start();
  const load = await startLoad(arena, random, history);
  const checkAll = async (): Promise<void> => {
    await arena.quiet();
    const tables = await options.openTables();
    try {
      for (const problem of await check(arena.daemon, arena.options, tables, history)) problems.add(problem);
    } finally {
      await tables.close();
    }
    arena.resume();
  };

  let round = 0;
  let checkedAt = killed;
  while (killed < options.kills && problems.size === 0) {
    // Uses each moment once, then random ones.
    const moment = options.moments[round++] ?? random.pick(options.moments);
    await acknowledges(history, random.between(...options.writes));
    await sleep(random.between(0, 15));
    if (moment === "moving" && (await contentMoves(arena, random))) whileMoving += 1;
    await arena.kill();
    count(moment === "starting" ? "load" : moment);
    if (moment === "starting")
      for (let more = random.between(1, 3); more > 0 && killed < options.kills; more--, count("starting"))
        await arena.killWhileStarting(random.between(0, 400));

    await arena.start({ open: false });
    // An answered write enters the history a moment later. The last writes of the previous round are therefore checked again.
    const recent = history.files.slice(Math.max(0, checkedAttempts - 20));
    checkedAttempts = history.files.length;
    for (const problem of await checkRecent(arena.daemon, recent)) problems.add(problem);
    arena.resume();
    if (killed - checkedAt >= options.checkEvery) {
      await checkAll();
      checkedAt = killed;
    }
  }
  await load.stop();
  await checkAll();
  return { history, kills, whileMoving, problems: [...problems] };
}

export interface Load {
  /** Stops the clients after their running calls have been answered. */
  stop(): Promise<void>;
}

/** Ten clients: eight agents with a key each, each with its own files and outcomes, and the board twice. */
export async function startLoad(arena: Arena, random: Random, history: History): Promise<Load> {
  const { board, companyId, token } = arena.daemon;
  const company = await board.call(viewCompany, { companyId });
  const clients = [];
  for (const number of [0, 1, 2, 3, 4, 5, 6, 7]) {
    const agent = await board.call(createAgent, { companyId, name: `Writer ${number}`, role: "writer" });
    const { key } = await board.call(createKey, { id: agent.id });
    clients.push({ name: `a${number}`, token: key, parentId: agent.mandateId });
  }
  for (const number of [0, 1]) clients.push({ name: `b${number}`, token, parentId: company.rootOutcomeId });

  const shared: Pair[] = [];
  const parts = { arena, history, companyId, shared, pause: 10 };
  // The board makes the shared files. If an agent made one, only that agent could write it.
  const author = new Writer({ ...parts, name: "s", token, parentId: company.rootOutcomeId, random });
  for (let number = 0; number < 3; number++) {
    const file = await author.createFile();
    if (file !== undefined) shared.push(file);
  }
  const stopping = new AbortController();
  const running = clients.map((client) =>
    new Writer({
      ...parts,
      ...client,
      shared: client.token === token ? shared : [],
      random: random.fork(),
    }).run(stopping.signal),
  );
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** Waits until this many more writes were acknowledged. */
export async function acknowledges(history: History, writes: number): Promise<void> {
  const enough = history.acknowledged + writes;
  const giveUpAt = performance.now() + allowed(120_000);
  while (history.acknowledged < enough) {
    if (performance.now() > giveUpAt)
      throw new Error(`fewer than ${writes} writes were acknowledged in 2 minutes`);
    await sleep(1);
  }
}

/** Pauses the writers until content appears as files, and a little longer. Returns false when none appeared. */
async function contentMoves(arena: Arena, random: Random): Promise<boolean> {
  const folder = join(arena.options.home, "knowledge");
  await arena.quiet();
  const before = statSync(folder).mtimeMs;
  const giveUpAt = performance.now() + allowed(1500);
  while (statSync(folder).mtimeMs === before) {
    if (performance.now() > giveUpAt) return false;
    await sleep(1);
  }
  await sleep(random.between(0, 40));
  return true;
}
