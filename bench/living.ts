import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createReadStream, mkdtempSync, type ReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { sendMessage } from "../src/contract/mail.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { type Bench, type Entry, rounds, sizes, sliceMilliseconds } from "./bench.ts";
import { fillAgents, type Place } from "./fill.ts";
import {
  correspondents,
  cpuMilliseconds,
  type Daemon,
  type Home,
  openStore,
  prepareHome,
  residentMegabytes,
  startDaemon,
} from "./home.ts";
import { fillMessages, fillRestingAgents } from "./living-fill.ts";
import { type Correspondents, startLoad } from "./load.ts";
import { inTurns, percentile, ratePerSecond } from "./timing.ts";

/** Measures mail, the sessions that mail starts, and the daemon while nothing happens. */

/** Sends, reads and acknowledges messages over HTTP. Each message takes three durable writes. */
export const mail: Entry = {
  name: "mail",
  about: "messages sent, read and acknowledged over HTTP",
  run: async (bench) => {
    const load = startLoad();
    const stops: (() => Promise<void>)[] = [() => load.stop()];
    try {
      const raw = rawCommits(bench);
      stops.push(raw.close);
      const clients = 16;
      const subjects: { daemon: Daemon; home: Home<Place[]>; pairs: Correspondents[] }[] = [];
      for (const rows of sizes(bench, 100_000, 1000)) {
        bench.say(`filling a home with ${rows} messages`);
        const home = await prepareHome(bench, async ({ store, companyId, rootAgentId }) => {
          const agents = (await fillAgents(store, companyId, rootAgentId, 100, 6)).slice(1);
          const past = Array.from({ length: rows }, (_, index) => Date.now() - 1000 * (rows - index));
          await fillMessages(store, companyId, agents, past);
          return agents.filter(({ path }) => path.length === 3).slice(0, clients);
        });
        const daemon = await startDaemon(bench, home, { agents: true });
        stops.push(daemon.stop);
        subjects.push({ daemon, home, pairs: await correspondents(daemon, home.filled) });
      }
      const figures = [];
      for (const number of [1, clients]) {
        const slice = (subject: (typeof subjects)[number] | undefined) => async () => {
          if (subject === undefined) return Number.NaN;
          const { daemon, home, pairs } = subject;
          const { perSecond } = await load.run({
            url: daemon.url,
            token: "",
            clients: number,
            milliseconds: sliceMilliseconds(bench),
            requests: { kind: "mail", companyId: home.companyId, pairs },
          });
          return perSecond / 3;
        };
        for (const subject of subjects) await slice(subject)();
        const measured = await inTurns(rounds(bench), {
          small: slice(subjects[0]),
          large: slice(subjects[1]),
          raw: async () => (await ratePerSecond(sliceMilliseconds(bench), raw.insert)) / 3,
        });
        figures.push({
          name: `a message sent, read, acknowledged, ${number} client${number === 1 ? "" : "s"}`,
          unit: "/s" as const,
          rows: `${sizes(bench, 100_000, 1000)[1]} messages`,
          value: measured.large,
          small: measured.small,
          ...(bench.store === "sqlite" ? { baseline: { what: "three commits", value: measured.raw } } : {}),
          ...(number === clients ? { aim: { atLeast: 500 } } : {}),
        });
      }
      return figures;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

/** The CPU time of an idle daemon, and the time from a message to the process of the session it starts. */
export const wake: Entry = {
  name: "wake",
  about: "the CPU of an idle daemon, and the time from a message to the session's process",
  run: async (bench) => {
    const counts = sizes(bench, 1000, 40);
    const signals = new Signals(bench);
    const stops: (() => Promise<void>)[] = [async () => signals.close()];
    try {
      const subjects = [];
      for (const [number, agents] of counts.entries()) {
        const outcomes = agents * (bench.quick ? 10 : 100);
        bench.say(`filling a home with ${agents} agents and ${outcomes} outcomes`);
        const home = await prepareHome(bench, ({ store, ...at }) =>
          fillRestingAgents(store, at, { agents, outcomes }, (index) =>
            signals.command(`${number}-${index}`),
          ),
        );
        const daemon = await startDaemon(bench, home, { agents: true });
        stops.push(daemon.stop);
        await daemon.client.call(updateCompany, { companyId: home.companyId, maxSessions: 1000 });
        subjects.push({ daemon, home, prefix: `${number}-`, times: new Array<number>() });
      }
      const idle = await idlePercent(
        bench,
        subjects.map(({ daemon }) => daemon.pid),
      );

      const raw: number[] = [];
      const children: ChildProcess[] = [];
      stops.push(async () => children.forEach((child) => child.kill("SIGKILL")));
      const tries = Math.min(100, counts[0]);
      for (let index = 0; index < tries; index++) {
        for (const { daemon, home, prefix, times } of subjects) {
          // Spread over all agents, so few of them share a manager.
          const place = Math.floor((index * home.filled.length) / tries);
          const agent = home.filled[place];
          if (agent === undefined) continue;
          times.push(await signals.time(`${prefix}${place}`, () => send(daemon, home, agent)));
        }
        raw.push(
          await signals.time(`raw-${index}`, async () => {
            const [program, ...args] = signals.command(`raw-${index}`);
            children.push(spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true }));
          }),
        );
      }
      const [small, large] = subjects;
      const rows = `${counts[1]} agents, ${counts[1] * 100} outcomes`;
      return [
        ...counts.map((agents, index) => ({
          name: "CPU of an idle daemon",
          unit: "%" as const,
          rows: `${agents} agents, ${agents * 100} outcomes`,
          value: idle[index] ?? Number.NaN,
          aim: { atMost: 1 },
        })),
        ...([50, 99] as const).map((percent) => ({
          name: `message to process, p${percent}`,
          unit: "ms" as const,
          rows,
          value: percentile(large?.times ?? [], percent),
          small: percentile(small?.times ?? [], percent),
          baseline: { what: "spawn of that process", value: percentile(raw, percent) },
          ...(percent === 99 ? { aim: { atMost: 100 } } : {}),
        })),
      ];
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

/** Thousands of messages become due while many more wait for later days. */
export const deferred: Entry = {
  name: "deferred",
  about: "lateness of deferred messages",
  run: async (bench) => {
    const counts = sizes(bench, 1_000_000, 1000);
    const spread = bench.quick ? 200 : 20_000;
    const due = bench.quick ? 50 : 4000;
    const late = [];
    for (const messages of counts) {
      bench.say(`filling a home with ${messages} messages for later days`);
      const home = await prepareHome(bench, async ({ store, companyId, rootAgentId }) => {
        const agents = (await fillAgents(store, companyId, rootAgentId, bench.quick ? 50 : 1000, 6)).slice(1);
        const tomorrow = Date.now() + 86_400_000;
        await fillMessages(
          store,
          companyId,
          agents,
          lazily(messages, (index) => tomorrow + index * 1000),
        );
        return agents;
      });
      const start = Date.now() + (bench.quick ? 1500 : 4000);
      const store = await openStore(home.database, home.databaseUrl);
      await fillMessages(
        store,
        home.companyId,
        home.filled,
        lazily(due, (index) => start + Math.floor((index * spread) / due)),
      );
      await store.close();
      const daemon = await startDaemon(bench, home, { agents: true });
      let delivered: number[] = [];
      try {
        const tooLate = start + spread + 60_000;
        while (delivered.length < due && Date.now() < tooLate) {
          await sleep(Math.max(200, start + spread - Date.now()));
          delivered = await ask(
            home,
            "select delivered_at - deliver_at as late from messages where delivered_at is not null",
          );
        }
      } finally {
        await daemon.stop();
      }
      if (delivered.length !== due) throw new Error(`${delivered.length} of ${due} messages were delivered`);
      // The times are whole milliseconds, so a lateness of 0 counts as 1.
      late.push(delivered.map((time) => Math.max(time, 1)));
    }
    const [small = [], large = []] = late;
    return ([50, 99] as const).map((percent) => ({
      name: `lateness of a deferred message, p${percent}`,
      unit: "ms" as const,
      rows: `${due} due in ${spread / 1000} s, ${counts[1]} later`,
      value: percentile(large, percent),
      small: percentile(small, percent),
      ...(percent === 99 ? { aim: { atMost: 1000 } } : {}),
    }));
  },
};

/** Many live sessions at the same time. */
export const crowd: Entry = {
  name: "crowd",
  about: "200 sessions at the same time: their start, and the daemon's memory",
  run: async (bench) => {
    const count = bench.quick ? 5 : 200;
    const signals = new Signals(bench);
    const stops: (() => Promise<void>)[] = [async () => signals.close()];
    try {
      const home = await prepareHome(bench, ({ store, ...at }) =>
        fillRestingAgents(store, at, { agents: count, outcomes: count * 10 }, (index) =>
          signals.command(`${index}`),
        ),
      );
      const daemon = await startDaemon(bench, home, { agents: true });
      stops.push(daemon.stop);
      await daemon.client.call(updateCompany, { companyId: home.companyId, maxSessions: 1000 });
      const before = residentMegabytes(daemon.pid);
      const start = performance.now();
      const begun = home.filled.map((_, index) => signals.wait(`${index}`));
      for (const agent of home.filled) await send(daemon, home, agent);
      await Promise.all(begun);
      const took = performance.now() - start;
      const after = residentMegabytes(daemon.pid);

      const children: ChildProcess[] = [];
      stops.push(async () => children.forEach((child) => child.kill("SIGKILL")));
      const rawStart = performance.now();
      const raw = home.filled.map((_, index) => signals.wait(`raw-${index}`));
      for (const [index] of home.filled.entries()) {
        const [program, ...args] = signals.command(`raw-${index}`);
        children.push(spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true }));
      }
      await Promise.all(raw);
      const rawTook = performance.now() - rawStart;
      return [
        {
          name: `start of ${count} sessions`,
          unit: "ms" as const,
          value: took,
          baseline: { what: "spawns of their processes", value: rawTook },
        },
        {
          name: `memory with ${count} sessions`,
          unit: "MB" as const,
          value: after,
          baseline: { what: "with none", value: before },
        },
      ];
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

/**
 * Processes that report once that they run, and then sleep. They report through a named pipe.
 */
class Signals {
  readonly #pipe: string;
  readonly #stream: ReadStream;
  readonly #waiting = new Map<string, () => void>();

  constructor(bench: Bench) {
    this.#pipe = join(mkdtempSync(join(bench.folder, "signals-")), "pipe");
    execFileSync("mkfifo", [this.#pipe]);
    // Open for writing too, or reading would end when the first process closes the pipe.
    this.#stream = createReadStream(this.#pipe, { flags: "r+" });
    createInterface({ input: this.#stream }).on("line", (name) => {
      this.#waiting.get(name)?.();
      this.#waiting.delete(name);
    });
  }

  command(name: string): readonly [string, ...string[]] {
    return ["/bin/sh", "-c", 'echo "$2" > "$1"; exec sleep 3600', "sh", this.#pipe, name];
  }

  wait(name: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(name, resolve));
  }

  /** The time from before `cause` until the process runs, in milliseconds. */
  async time(name: string, cause: () => Promise<unknown>): Promise<number> {
    const start = performance.now();
    const ran = this.wait(name).then(() => performance.now() - start);
    await cause();
    return ran;
  }

  close(): void {
    // A pending read of the pipe would keep this process from exiting.
    this.#stream.destroy();
    writeFileSync(this.#pipe, "\n");
  }
}

function send(daemon: Daemon, home: Home<unknown>, agent: Place): Promise<unknown> {
  return daemon.client.call(sendMessage, {
    companyId: home.companyId,
    to: agent.id,
    body: "Look into this.",
  });
}

/** The share of a core that each process takes while no client calls it. */
export async function idlePercent(bench: Bench, pids: readonly number[]): Promise<number[]> {
  // Wait until the daemon has finished the work of its start.
  await sleep(bench.quick ? 100 : 5000);
  const milliseconds = bench.quick ? 300 : 30_000;
  const before = pids.map(cpuMilliseconds);
  const start = performance.now();
  await sleep(milliseconds);
  const passed = performance.now() - start;
  return pids.map((pid, index) => ((cpuMilliseconds(pid) - (before[index] ?? 0)) / passed) * 100);
}

function rawCommits(bench: Bench) {
  const db = new DatabaseSync(join(mkdtempSync(join(bench.folder, "raw-")), "raw.db"));
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000");
  db.exec("create table raw (id text, at integer, content blob)");
  const insert = db.prepare("insert into raw (id, at, content) values (?, ?, ?)");
  const content = Buffer.alloc(300, "x");
  return {
    insert: async (index: number) => insert.run(`id ${index}`, Date.now(), content),
    close: async () => db.close(),
  };
}

/** The only column of a query, read on a separate connection. */
async function ask(home: Home<unknown>, sql: string): Promise<number[]> {
  if (home.databaseUrl === undefined) {
    const db = new DatabaseSync(home.database, { readOnly: true });
    try {
      return db
        .prepare(sql)
        .all()
        .map(({ late }) => Number(late));
    } finally {
      db.close();
    }
  }
  const client = new pg.Client({ connectionString: home.databaseUrl });
  await client.connect();
  try {
    return (await client.query<{ late: string }>(sql)).rows.map(({ late }) => Number(late));
  } finally {
    await client.end();
  }
}

function* lazily(count: number, value: (index: number) => number): Iterable<number> {
  for (let index = 0; index < count; index++) yield value(index);
}
