import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { inParallel, machineHere, type MeasuredMachine, median, perSecond } from "../../src/daemon/speed.ts";
import { createDatabase, startPostgres } from "../../src/testing/postgres.ts";
import { type Driver, sizeOf, type System } from "./system.ts";

/** The figures of a system: a median, and the lowest and highest of the rounds. */
export interface Span {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** The rounds with a refused or unanswered call. */
  readonly failed: number;
}

export interface Compared {
  readonly at: string;
  readonly machine: MeasuredMachine & { readonly postgres: string };
  readonly rounds: number;
  readonly seconds: number;
  readonly rows: number;
  readonly clients: number;
  /** Commits of one row in a second, by a loop without any of the systems. */
  readonly raw: { readonly sqlite: Span; readonly postgres: Span };
  readonly systems: readonly {
    readonly name: string;
    readonly version: string;
    readonly database: string;
    readonly figures: ReadonlyMap<Figured, Span>;
  }[];
}

type Job = "create" | "message" | "hire" | "list";
export type Figured = Job | `${Job}One` | "restart" | "memory" | "size";

/** In the order of the page. Rates are per second. */
export const figured: readonly (readonly [Figured, string])[] = [
  ["createOne", "create a work item, 1 client"],
  ["create", "create a work item, 16 clients"],
  ["messageOne", "send a message, 1 client"],
  ["message", "send a message, 16 clients"],
  ["hireOne", "hire and approve, 1 client"],
  ["hire", "hire and approve, 16 clients"],
  ["listOne", "list 1,000 work items, 1 client"],
  ["list", "list 1,000 work items, 16 clients"],
  ["restart", "restart with 1,000 work items"],
  ["memory", "memory at rest"],
  ["size", "size of the installation"],
];

export interface Comparison {
  readonly drivers: readonly Driver[];
  readonly rounds: number;
  readonly seconds: number;
  /** Work items in each list. */
  readonly rows?: number;
  /** How long a system rests before its memory is read. */
  readonly restSeconds?: number;
  readonly say: (line: string) => void;
}

const clients = 16;

interface Subject {
  readonly driver: Driver;
  readonly version: string;
  readonly system: System;
  readonly times: ReadonlyMap<Figured, number[]>;
  /** Adds a figure. NaN means that the measurement failed. */
  readonly note: (key: Figured, value: number) => void;
}

export async function compare(plan: Comparison): Promise<Compared> {
  const { drivers, rounds, seconds, rows = 1000, restSeconds = 15, say } = plan;
  const folder = mkdtempSync(join(tmpdir(), "agency-compare-"));
  const server = await startPostgres();
  const subjects: Subject[] = [];
  const raw = { sqlite: [] as number[], postgres: [] as number[] };
  try {
    for (const [number, driver] of drivers.entries()) {
      const own = join(folder, String(number));
      mkdirSync(own);
      say(`Installing ${driver.name} (${driver.database}).`);
      const installed = await driver.install(own);
      const { url } = driver.database === "SQLite" ? { url: undefined } : await createDatabase(server.url);
      const system = await driver.open(installed, own, url);
      const times = new Map(figured.map(([key]): [Figured, number[]] => [key, []]));
      const note = (key: Figured, value: number): void => void times.get(key)?.push(value);
      subjects.push({ driver, version: driver.version(installed), system, times, note });
      note("size", sizeOf(installed) / 2 ** 20);
    }
    for (const { driver, system } of subjects) {
      say(`Filling ${driver.name} (${driver.database}) with ${rows} work items.`);
      await system.start();
      const { createItem, list, close } = await system.work(clients);
      await inParallel(clients, rows, createItem);
      const found = lengthIn(await list());
      close();
      if (found < rows) throw new Error(`${driver.name} lists ${found} work items instead of ${rows}.`);
      await system.stop();
    }
    const rawCommits = await rawLoops(folder, server.url);
    try {
      for (let round = 1; round <= rounds; round++) {
        say(`Round ${round} of ${rounds}.`);
        await inTurn(subjects, round, seconds, restSeconds, say);
        raw.sqlite.push(await perSecond(1, seconds * 1000, rawCommits.sqlite));
        raw.postgres.push(await perSecond(1, seconds * 1000, rawCommits.postgres));
      }
      return {
        at: new Date().toISOString().slice(0, 10),
        machine: { ...machineHere(), postgres: rawCommits.version },
        rounds,
        seconds,
        rows,
        clients,
        raw: { sqlite: spanOf(raw.sqlite), postgres: spanOf(raw.postgres) },
        systems: subjects.map(({ driver: { name, database }, version, times }) => ({
          name,
          database,
          version,
          figures: new Map([...times].map(([key, values]) => [key, spanOf(values)])),
        })),
      };
    } finally {
      await rawCommits.close();
    }
  } finally {
    for (const { system } of subjects) await system.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Each round begins with another system. Only one system runs at a time, so none works in the background of another. */
async function inTurn(
  subjects: readonly Subject[],
  round: number,
  seconds: number,
  rest: number,
  say: (line: string) => void,
): Promise<void> {
  const first = round % subjects.length;
  for (const { driver, system, note } of [...subjects.slice(first), ...subjects.slice(0, first)]) {
    note("restart", await system.start());
    try {
      await sleep(rest * 1000);
      note("memory", system.megabytes());
      for (const job of ["create", "message", "hire", "list"] as const)
        for (const [key, many] of [
          [`${job}One`, 1],
          [job, clients],
        ] as const)
          try {
            note(key, await rateOf(system, job, many, seconds));
          } catch (error) {
            note(key, Number.NaN);
            say(
              `${driver.name} (${driver.database}), ${key}: ${error instanceof Error ? error.message : String(error)}`,
            );
            // A system that hangs may hold up the next one.
            await system.stop();
            await system.start();
          }
    } finally {
      await system.stop();
    }
  }
}

async function rateOf(system: System, job: Job, many: number, seconds: number): Promise<number> {
  const work = await system.work(many);
  try {
    const run = { create: work.createItem, message: work.message, hire: work.hire, list: work.list }[job];
    // The first calls include compiling code.
    await perSecond(many, seconds * 250, run);
    return await perSecond(many, seconds * 1000, run);
  } finally {
    work.close();
  }
}

function spanOf(values: readonly number[]): Span {
  const good = values.filter((value) => !Number.isNaN(value));
  return {
    median: median(good),
    least: Math.min(...good),
    most: Math.max(...good),
    failed: values.length - good.length,
  };
}

/** The number of items in an answer: a list, or an object that has one. */
function lengthIn(text: unknown): number {
  const answer: unknown = JSON.parse(String(text));
  const lists = Array.isArray(answer) ? [answer] : Object.values(Object(answer)).filter(Array.isArray);
  return Math.max(0, ...lists.map((list: unknown[]) => list.length));
}

async function rawLoops(folder: string, serverUrl: string) {
  const db = new DatabaseSync(join(folder, "raw.db"));
  db.exec("pragma journal_mode = wal; pragma synchronous = full; create table raw (id text, content text)");
  const insert = db.prepare("insert into raw values (?, ?)");
  const client = new pg.Client({ connectionString: (await createDatabase(serverUrl)).url });
  await client.connect();
  await client.query("create table raw (id text, content text)");
  const { rows } = await client.query<{ server_version: string }>("show server_version");
  const content = "x".repeat(1000);
  return {
    version: rows[0]?.server_version ?? "",
    sqlite: async (n: number) => insert.run(`id ${n}`, content),
    postgres: (n: number) =>
      client.query({ name: "raw", text: "insert into raw values ($1, $2)", values: [`id ${n}`, content] }),
    close: async () => {
      db.close();
      await client.end();
    },
  };
}
