import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { createClient, type Client } from "../src/client/client.ts";
import { createCompany, updateCompany } from "../src/contract/companies.ts";
import { createKey } from "../src/contract/agents.ts";
import type { Operation } from "../src/contract/operation.ts";
import { admitBoard, createCore } from "../src/daemon/core.ts";
import { auditKey, boardToken, openHome } from "../src/daemon/home.ts";
import { newId, newSecret } from "../src/daemon/ids.ts";
import { openPostgres } from "../src/store/postgres.ts";
import { openSqlite } from "../src/store/sqlite.ts";
import type { Store } from "../src/store/store.ts";
import type { Bench } from "./bench.ts";
import { lookAtRows, moveContentOut, type Place } from "./fill.ts";
import type { Correspondents } from "./load.ts";

/** Creates a home with a company and fills it through the store, before a daemon runs on it. */
export interface Home<T> {
  readonly path: string;
  readonly database: string;
  readonly databaseUrl: string | undefined;
  readonly boardToken: string;
  readonly companyId: string;
  readonly rootAgentId: string;
  readonly filled: T;
}

export interface Filling {
  readonly store: Store;
  readonly companyId: string;
  readonly rootAgentId: string;
}

export async function prepareHome<T>(bench: Bench, fill: (filling: Filling) => Promise<T>): Promise<Home<T>> {
  const home = openHome(mkdtempSync(join(bench.folder, "home-")));
  const token = boardToken(home, newSecret);
  const databaseUrl = bench.store === "postgres" ? await bench.newDatabase() : undefined;
  const store = await openStore(home.database, databaseUrl);
  let made;
  try {
    await admitBoard(store, token, newId);
    const { dispatch } = createCore({ store, newId, newSecret });
    const company = createCompany.output.parse(
      await dispatch({ operation: createCompany, token, input: { name: "Bench" } }),
    );
    // Here one agent owns the outcomes of many, so lift its limit.
    const input = { companyId: company.id, maxOpenOutcomes: 1_000_000 };
    await dispatch({ operation: updateCompany, token, input });
    const filled = await fill({ store, companyId: company.id, rootAgentId: company.rootAgentId });
    await lookAtRows(store);
    made = { companyId: company.id, rootAgentId: company.rootAgentId, filled };
  } finally {
    await store.close();
  }
  if (databaseUrl === undefined) moveContentOut(home.database, home.knowledge);
  return { path: home.path, database: home.database, databaseUrl, boardToken: token, ...made };
}

/** Opens the core on a home in this process, without HTTP and MCP. */
export async function openCore(home: Home<unknown>) {
  const store = await openStore(home.database, home.databaseUrl);
  const { dispatch } = createCore({ store, newId, newSecret });
  return {
    call: (operation: Operation, input: unknown, token: string) => dispatch({ operation, token, input }),
    close: () => store.close(),
  };
}

/** Uses the audit key that the daemon will find in the home, next to the database. */
export function openStore(database: string, url: string | undefined): Promise<Store> | Store {
  const key = auditKey(openHome(dirname(database)), undefined, newSecret);
  return url === undefined
    ? openSqlite({ path: database, clock: Date.now, key })
    : openPostgres({ url, key });
}

export interface Daemon {
  readonly url: string;
  readonly pid: number;
  readonly client: Client;
  /** The time from the start of the process to the first healthy answer. */
  readonly startMilliseconds: number;
  readonly agentKey: (agentId: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** An idle daemon returns memory after 2 to 4 seconds (src/cli/idle-memory.ts). */
export const untilIdle = 6000;

/** Each of these agents and its manager, who writes to it. */
export async function correspondents(
  { agentKey }: Daemon,
  agents: readonly Place[],
): Promise<Correspondents[]> {
  const pairs: Correspondents[] = [];
  for (const { id, path } of agents)
    pairs.push({
      senderToken: await agentKey(path.at(-2) ?? ""),
      receiverToken: await agentKey(id),
      receiverId: id,
    });
  return pairs;
}

/** Starts the daemon in another process, as `agency up` does. */
export async function startDaemon(
  bench: Bench,
  home: Home<unknown>,
  options: { agents?: boolean; nodeOptions?: string } = {},
): Promise<Daemon> {
  const start = performance.now();
  // Usually without sessions, because the work of the agents would distort the figures.
  const agents = options.agents === true ? [] : ["--no-agents"];
  const args = ["up", ...agents, "--port", "0", "--home", home.path, "--json"];
  const child = spawn(process.execPath, [bench.cli, ...args], {
    // Sessions report through a pipe outside their workspace, which a sandbox would hide.
    env: {
      ...process.env,
      // One credential stands for many callers here, so its limits are lifted.
      AGENCY_LIMITS: JSON.stringify({
        callsAtOnce: 1000,
        boardCallsPerSecond: 1_000_000,
        agentCallsPerSecond: 1_000_000,
      }),
      DATABASE_URL: home.databaseUrl,
      ...(options.nodeOptions === undefined ? {} : { NODE_OPTIONS: options.nodeOptions }),
      AGENCY_SANDBOX: "off",
      AGENCY_ALLOW_UNSANDBOXED: "1",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const said = once(createInterface({ input: child.stdout }), "line");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  try {
    const url = await untilHealthy(home.path, () => child.exitCode !== null);
    const startMilliseconds = performance.now() - start;
    await said;
    const client = createClient({ url, token: home.boardToken });
    return {
      url,
      pid: child.pid ?? 0,
      client,
      startMilliseconds,
      agentKey: async (id) => (await client.call(createKey, { id })).key,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits until the daemon has moved content out of its database, or the next slice would pay for it. */
export async function atRest(home: Home<unknown>): Promise<void> {
  if (home.databaseUrl !== undefined) return;
  const db = new DatabaseSync(home.database, { readOnly: true, timeout: 5000 });
  try {
    const left = db.prepare("select 1 from blobs limit 1");
    for (let waited = 0; waited < 300 && left.get() !== undefined; waited++) await sleep(100);
  } finally {
    db.close();
  }
}

/** The memory of the process in MB. */
export function residentMegabytes(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kilobytes = existsSync(status)
    ? /VmRSS:\s+(\d+)/.exec(readFileSync(status, "utf8"))?.[1]
    : execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" });
  return Number(kilobytes ?? Number.NaN) / 1024;
}

/** The CPU time of the process so far, in milliseconds. */
export function cpuMilliseconds(pid: number): number {
  const stat = `/proc/${pid}/stat`;
  if (existsSync(stat)) {
    const fields = readFileSync(stat, "utf8").split(") ")[1]?.split(" ") ?? [];
    // User and system time, in hundredths of a second on every Linux.
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }
  const time = execFileSync("ps", ["-o", "time=", "-p", String(pid)], { encoding: "utf8" }).trim();
  return time.split(":").reduce((sum, part) => sum * 60 + Number(part), 0) * 1000;
}

/** Waits for the file in which the daemon writes its address, then polls its health. */
async function untilHealthy(home: string, hasEnded: () => boolean): Promise<string> {
  for (;;) {
    if (hasEnded()) throw new Error("the daemon ended before it answered");
    try {
      const announced: unknown = JSON.parse(readFileSync(join(home, "daemon.json"), "utf8"));
      const { url } = z.object({ url: z.string() }).parse(announced);
      if ((await fetch(`${url}/api/health`)).status === 200) return url;
    } catch {
      // The daemon does not listen yet.
    }
    await sleep(2);
  }
}
