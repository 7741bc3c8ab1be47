import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { arch, cpus, platform, totalmem } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ScratchDaemon, Scratch } from "./scratch.ts";
import { version } from "./version.ts";

/** The speed of an installation over HTTP. Each figure is beside the least that the same job takes on this machine. */
export interface Speed {
  readonly what: string;
  readonly unit: "/s" | "ms" | "MB";
  readonly value: number;
  /** A loop that does the minimum for the same job, measured in turns with it. */
  readonly raw: { readonly what: string; readonly value: number };
  /** The speed compared with the loop. For memory: how many times as much is used. */
  readonly ratio: number;
}

export interface MeasuredMachine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
}

export const machineHere = (): MeasuredMachine => ({
  cpu: cpus()[0]?.model.trim() || arch(),
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  system: platform(),
  node: process.versions.node,
});

const clients = 16;
const listed = 1000;
const rounds = 3;

export async function measureSpeed(
  scratch: Scratch,
  seconds: number,
  say: (line: string) => void,
): Promise<{ version: string; store: string; machine: MeasuredMachine; figures: Speed[] }> {
  const slice = (seconds * 1000) / rounds;
  const starts: number[] = [];
  const bare: number[] = [];
  const memory: number[] = [];
  const bareMemory: number[] = [];
  say("Starting it three times.");
  for (let round = 0; round < rounds; round++) {
    await scratch.stop();
    starts.push(await scratch.start());
    memory.push(megabytesOf(scratch.running().pid));
    const node = await bareNode();
    bare.push(node.milliseconds);
    bareMemory.push(node.megabytes);
  }
  const running = scratch.running();
  const caller = openCaller(running.url, running.token, clients);
  const raw =
    scratch.databaseUrl === undefined ? rawSqlite(scratch.home) : await rawPostgres(scratch.databaseUrl);
  try {
    const work = measuredWork(running, caller);
    say(`Creating ${listed} outcomes.`);
    await inParallel(clients, listed, work.createItem);
    await raw.fill(listed);
    const measured = (name: string, many: number, run: (n: number) => Promise<unknown>, base: Base) => ({
      name,
      base,
      times: [] as number[],
      slice: () => perSecond(many, slice, run),
    });
    const commits: Base = {
      what: "commits of one row",
      times: [],
      slice: () => perSecond(1, slice, raw.commit),
    };
    const selects: Base = { what: "select + JSON", times: [], slice: () => perSecond(1, slice, raw.list) };
    const kinds = [
      measured("create an outcome, 1 client", 1, work.createItem, commits),
      measured(`create an outcome, ${clients} clients`, clients, work.createItem, commits),
      measured(`send a message, ${clients} clients`, clients, work.message, commits),
      measured(`hire an agent and approve it, ${clients} clients`, clients, work.hire, commits),
      measured(
        `list ${listed.toLocaleString("en")} outcomes, ${clients} clients`,
        clients,
        work.list,
        selects,
      ),
    ];
    for (const { slice: warm } of kinds) await warm();
    for (let round = 1; round <= rounds; round++) {
      say(`Round ${round} of ${rounds}.`);
      for (const each of [commits, selects, ...kinds]) each.times.push(await each.slice());
    }
    const node = "a Node that only listens";
    return {
      version,
      store: scratch.store,
      machine: machineHere(),
      figures: [
        ...kinds.map(({ name, times, base }) => speedOf(name, "/s", times, base.what, base.times)),
        speedOf("start", "ms", starts, node, bare),
        speedOf("memory after the start", "MB", memory, node, bareMemory),
      ],
    };
  } finally {
    caller.close();
    await raw.close();
  }
}

function speedOf(
  what: string,
  unit: Speed["unit"],
  values: readonly number[],
  rawWhat: string,
  rawValues: readonly number[],
): Speed {
  const [value, raw] = [median(values), median(rawValues)];
  return {
    what,
    unit,
    value,
    raw: { what: rawWhat, value: raw },
    ratio: unit === "ms" ? raw / value : value / raw,
  };
}

interface Base {
  readonly what: string;
  readonly times: number[];
  readonly slice: () => Promise<number>;
}

/** The same jobs that bench/compare gives to other systems. `n` differs in each call. */
export interface WorkOverHttp {
  readonly createItem: (n: number) => Promise<unknown>;
  readonly message: (n: number) => Promise<unknown>;
  readonly hire: (n: number) => Promise<unknown>;
  readonly list: () => Promise<unknown>;
}

export function measuredWork(
  { companyId, rootAgentId, outcomeId }: ScratchDaemon,
  { send }: HttpCaller,
): WorkOverHttp {
  const company = `/api/companies/${companyId}`;
  return {
    createItem: (n) =>
      send("POST", `${company}/outcomes`, {
        title: `Outcome ${n}`,
        parents: [outcomeId],
        description: "What should be achieved, in a sentence or two of ordinary length.",
      }),
    message: (n) =>
      send("POST", `${company}/messages`, { to: rootAgentId, body: `Please look at number ${n} today.` }),
    hire: async (n) => {
      const hired = await send("POST", `${company}/agent-hires`, {
        name: `Hire ${process.pid} ${n}`,
        role: "Worker",
        mandate: "To work.",
      });
      await send("POST", `/api/approvals/${String(Object(Object(hired)["approval"])["id"])}/approve`, {});
    },
    list: () => send("GET", `${company}/outcomes?limit=${listed}`),
  };
}

/** Sends requests over connections that stay open, and refuses answers other than 2xx. */
export interface HttpCaller {
  readonly send: (method: "GET" | "POST" | "PATCH", path: string, body?: unknown) => Promise<unknown>;
  readonly close: () => void;
}

export function openCaller(url: string, token: string | undefined, connections: number): HttpCaller {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    close: () => agent.destroy(),
    send: (method, path, body) =>
      new Promise((resolve, reject) => {
        const given = body === undefined ? undefined : JSON.stringify(body);
        const headers = {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(given !== undefined && {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(given),
          }),
        };
        const sent = request(new URL(path, url), { agent, method, headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            const status = response.statusCode ?? 0;
            if (status < 200 || status >= 300)
              return reject(new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`));
            // The list is long, so only its text is read: parsing it would measure this process.
            resolve(method === "GET" ? text : text === "" ? undefined : JSON.parse(text));
          });
        });
        sent.setTimeout(patience, () => sent.destroy(new Error(`${method} ${path} was not answered`)));
        sent.on("error", reject);
        sent.end(given);
      }),
  };
}

/** Longer than any call of a working system. */
const patience = 20_000;

let serial = 0;

/** Each client begins its next call when the last one was answered. */
export async function perSecond(
  many: number,
  milliseconds: number,
  run: (n: number) => Promise<unknown>,
): Promise<number> {
  const from = performance.now();
  let done = 0;
  const client = async (): Promise<void> => {
    while (performance.now() - from < milliseconds) {
      await run(serial++);
      done++;
    }
  };
  await Promise.all(Array.from({ length: many }, client));
  return (done / (performance.now() - from)) * 1000;
}

export async function inParallel(
  many: number,
  times: number,
  run: (n: number) => Promise<unknown>,
): Promise<void> {
  let left = times;
  const client = async (): Promise<void> => {
    while (left-- > 0) await run(serial++);
  };
  await Promise.all(Array.from({ length: many }, client));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const payload = "x".repeat(1000);
const columns = "(id, hash, at, content) values";
const rowOf = (n: number) => [`id ${n}`, "0".repeat(64), Date.now(), payload] as const;

function rawSqlite(folder: string) {
  const db = new DatabaseSync(join(folder, "raw.db"));
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000");
  db.exec("create table raw (id text, hash text, at integer, content text)");
  const insert = db.prepare(`insert into raw ${columns} (?, ?, ?, ?)`);
  const select = db.prepare("select * from raw limit ?");
  return {
    commit: async (n: number) => insert.run(...rowOf(n)),
    list: async () => JSON.stringify(select.all(listed)),
    fill: async (rows: number) => {
      for (let n = 0; n < rows; n++) insert.run(...rowOf(n));
    },
    close: async () => db.close(),
  };
}

async function rawPostgres(url: string) {
  const { default: pg } = await import("pg");
  const { alive } = await import("../store/connections.ts");
  const client = new pg.Client({ connectionString: url, ...alive });
  await client.connect();
  await client.query("create table raw (id text, hash text, at bigint, content text)");
  const commit = (n: number) =>
    client.query({
      name: "insert",
      text: `insert into raw ${columns} ($1, $2, $3, $4)`,
      values: [...rowOf(n)],
    });
  return {
    commit,
    list: async () =>
      JSON.stringify((await client.query({ name: "list", text: `select * from raw limit ${listed}` })).rows),
    fill: async (rows: number) => {
      for (let n = 0; n < rows; n++) await commit(n);
    },
    close: () => client.end(),
  };
}

/** The time until a bare Node answers that only listens, and its memory. */
export async function bareNode(): Promise<{ milliseconds: number; megabytes: number }> {
  const from = performance.now();
  const program = `
    process.stdin.on("close", () => process.exit()).resume();
    require("node:http").createServer((_, response) => response.end("{}")).listen(0, "127.0.0.1", function () {
      console.log(this.address().port);
    });`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  try {
    const [port]: unknown[] = await once(child.stdout, "data");
    await (await fetch(`http://127.0.0.1:${String(port).trim()}/`)).text();
    return { milliseconds: performance.now() - from, megabytes: megabytesOf(child.pid ?? 0) };
  } finally {
    child.kill();
    await ended;
  }
}

/** The memory of a process and its descendants. If the system reports it, memory that several of them share counts once. */
export function megabytesOf(pid: number): number {
  const rows = existsSync("/proc/self/stat") ? fromProc() : fromPs();
  const tree = new Set([pid]);
  for (let before = 0; before !== tree.size;) {
    before = tree.size;
    for (const { pid: child, parent } of rows) if (tree.has(parent)) tree.add(child);
  }
  return rows.filter((row) => tree.has(row.pid)).reduce((sum, row) => sum + row.kilobytes(), 0) / 1024;
}

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly kilobytes: () => number;
}

function fromProc(): ProcessRow[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const stat = readOr(`/proc/${name}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    const kilobytes = (): number =>
      Number(
        /^Pss:\s+(\d+)/m.exec(readOr(`/proc/${name}/smaps_rollup`))?.[1] ??
          /VmRSS:\s+(\d+)/.exec(readOr(`/proc/${name}/status`))?.[1] ??
          0,
      );
    return [{ pid: Number(name), parent, kilobytes }];
  });
}

function fromPs(): ProcessRow[] {
  return execFileSync("ps", ["-axo", "pid=,ppid=,rss="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0, rss = 0]) => ({ pid, parent, kilobytes: () => rss }));
}

/** A process may end while it is being read. */
function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
