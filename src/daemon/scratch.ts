import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../client/client.ts";
import { listCompanies, updateCompany, viewCompany } from "../contract/companies.ts";
import { listOutcomes } from "../contract/outcomes.ts";
import { type DatabaseSources, lastingUrlIn } from "./home.ts";
import { didNotAnswer, mayNotCreateDatabase } from "./texts.ts";

/**
 * A temporary installation: a home on the same disk as the given one or, if that one uses PostgreSQL, a new database on the
 * same server. Its daemon is another process and starts no sessions. Nothing of the given installation is read or changed.
 */
export interface Scratch {
  readonly store: "sqlite" | "postgres";
  readonly home: string;
  readonly databaseUrl: string | undefined;
  /** Starts the daemon. Returns the milliseconds until it was healthy. */
  readonly start: () => Promise<number>;
  readonly stop: () => Promise<void>;
  /** The running daemon. */
  readonly running: () => ScratchDaemon;
  /** Stops the daemon, and removes the home and the database. */
  readonly close: () => Promise<void>;
}

export interface ScratchDaemon {
  readonly url: string;
  readonly pid: number;
  readonly token: string;
  readonly companyId: string;
  readonly rootAgentId: string;
  /** An outcome that others can be created below. */
  readonly outcomeId: string;
}

export interface ScratchPlace extends DatabaseSources {
  readonly home: string;
  /** The command that starts the daemon. */
  readonly cli: string;
  readonly path: string | undefined;
}

export async function openScratch(place: ScratchPlace): Promise<Scratch> {
  const isThere = existsSync(place.home);
  const url = lastingUrlIn({ path: place.home }, place);
  // A test may name a home that does not exist. A folder beside it is most likely on the same disk.
  const home = mkdtempSync(isThere ? join(place.home, "bench-") : `${place.home.replace(/\/+$/, "")}-bench-`);
  const remove = (): void => rmSync(home, { recursive: true, force: true, maxRetries: 10 });
  try {
    const database = url === undefined ? undefined : await scratchDatabase(url);
    if (database !== undefined)
      writeFileSync(join(home, "database-url"), `${database.url}\n`, { mode: 0o600 });
    return scratchIn(home, place, database, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

function scratchIn(
  home: string,
  { cli, path }: ScratchPlace,
  database: Awaited<ReturnType<typeof scratchDatabase>> | undefined,
  remove: () => void,
): Scratch {
  let daemon: { stop: () => Promise<void>; running: ScratchDaemon } | undefined;
  const stop = async (): Promise<void> => {
    await daemon?.stop();
    daemon = undefined;
  };
  return {
    store: database === undefined ? "sqlite" : "postgres",
    home,
    databaseUrl: database?.url,
    start: async () => {
      const started = await startOn(home, cli, path);
      daemon = started;
      return started.milliseconds;
    },
    stop,
    running: () => {
      if (daemon === undefined) throw new Error("the scratch daemon does not run");
      return daemon.running;
    },
    close: async () => {
      await stop();
      await database?.drop();
      remove();
    },
  };
}

/**
 * Loaded into a program that must end with its parent. Its standard input is a pipe from the parent, which breaks when the
 * parent ends for any reason. The program's threads load this too, but have no such input.
 */
export const endWithParent = `data:text/javascript,const i=process.stdin;i.unref&&i.on("close",()=>process.exit(1)).resume().unref()`;

async function startOn(home: string, cli: string, path: string | undefined) {
  const from = performance.now();
  const child = spawn(
    process.execPath,
    ["--import", endWithParent, cli, "up", "--no-agents", "--port", "0", "--home", home, "--json"],
    {
      // Ctrl-C is for the measuring command, which stops the daemon.
      detached: true,
      env: {
        PATH: path,
        HOME: home,
        AGENCY_MODEL_PORTS: "",
        // Here a single caller plays the part of many.
        AGENCY_LIMITS: JSON.stringify({
          callsAtOnce: 1000,
          boardCallsPerSecond: 1_000_000,
          agentCallsPerSecond: 1_000_000,
        }),
      },
      stdio: ["pipe", "ignore", "pipe"],
    },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (said = (said + chunk).slice(-2000)));
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  const file = join(home, "daemon.json");
  try {
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null) throw didNotAnswer(said.trim());
      const url = existsSync(file) ? String(Object(JSON.parse(readFileSync(file, "utf8")))["url"] ?? "") : "";
      if (url !== "" && (await isHealthy(url))) {
        const milliseconds = performance.now() - from;
        return { stop, milliseconds, running: await companyOf(home, url, child.pid ?? 0) };
      }
      if (performance.now() - from > 60_000) throw didNotAnswer(said.trim());
      await sleep(5);
    }
  } catch (error) {
    await stop();
    throw error;
  }
}

export const isHealthy = (url: string): Promise<boolean> =>
  fetch(new URL("/api/health", url)).then(
    async (response) => (await response.text(), response.ok),
    () => false,
  );

/** The first company appears a moment after the daemon answers. One agent does the work of many. */
async function companyOf(home: string, url: string, pid: number): Promise<ScratchDaemon> {
  const token = readFileSync(join(home, "board-token"), "utf8").trim();
  const client = createClient({ url, token });
  for (;;) {
    const [company] = (await client.call(listCompanies, { limit: 1 })).companies;
    if (company !== undefined) {
      const companyId = company.id;
      await client.call(updateCompany, { companyId, maxOpenOutcomes: 1_000_000 });
      const { rootAgentId } = await client.call(viewCompany, { companyId });
      const [outcome] = (await client.call(listOutcomes, { companyId, limit: 1 })).outcomes;
      return { url, pid, token, companyId, rootAgentId, outcomeId: outcome?.id ?? "" };
    }
    await sleep(5);
  }
}

/** A separate database on the same server: in the present one, it would share locks and notifications with the nodes. */
async function scratchDatabase(url: string) {
  const { default: pg } = await import("pg");
  const { alive } = await import("../store/connections.ts");
  const name = `agency_bench_${randomBytes(6).toString("hex")}`;
  const execute = async (statement: string): Promise<void> => {
    const client = new pg.Client({ connectionString: url, ...alive });
    client.on("error", () => undefined);
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  try {
    await execute(`create database ${name}`);
  } catch (error) {
    if (Object(error)["code"] === "42501") throw mayNotCreateDatabase(new URL(url).username);
    throw error;
  }
  const own = new URL(url);
  own.pathname = `/${name}`;
  return { url: own.href, drop: () => execute(`drop database if exists ${name} with (force)`) };
}
