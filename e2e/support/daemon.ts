// The built daemon as a separate process, the way people run it: `agency up`. Every process that starts here ends at the latest
// with the test process. Its folders are then removed.
import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "../../src/client/client.ts";

export const builtMain = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface DaemonOptions {
  readonly home: string;
  readonly databaseUrl?: string | undefined;
  /** The command that starts `agency`. By default, this Node with the result of `npm run build`. */
  readonly command?: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** Default 0: any free port. */
  readonly port?: number;
}

export interface End {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A started daemon that may not answer yet. */
export interface Starting {
  readonly pid: number;
  /** Resolves when the daemon prints its address. Rejects when the daemon ends before that. */
  readonly ready: Promise<BuiltDaemon>;
  readonly ended: Promise<End>;
  /** The lines of its log so far. */
  log(): string;
  kill(signal?: NodeJS.Signals): Promise<End>;
}

export interface BuiltDaemon {
  readonly url: string;
  readonly pid: number;
  readonly home: string;
  readonly companyId: string;
  /** The board's token. */
  readonly token: string;
  readonly board: Client;
  /** The lines of its log so far. */
  log(): string;
  /** SIGTERM, and waits until the process is gone. */
  stop(): Promise<End>;
  /** SIGKILL, and waits until the process is gone. */
  kill(): Promise<End>;
}

export function startDaemon(options: DaemonOptions): Starting {
  const child = spawnAgency(["up", "--port", String(options.port ?? 0), "--json"], options);
  const ended = once(child, "exit").then(([code, signal]: unknown[]): End => {
    running.delete(child);
    return {
      code: typeof code === "number" ? code : null,
      signal: typeof signal === "string" ? signal : null,
    };
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (log += chunk));
  const kill = (signal: NodeJS.Signals = "SIGKILL"): Promise<End> => {
    child.kill(signal);
    return ended;
  };
  const firstLine = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    void ended.then((end) =>
      reject(new Error(`the daemon ended before it was ready (${end.code ?? end.signal ?? ""}): ${log}`)),
    );
  });
  const ready = firstLine.then((line): BuiltDaemon => {
    const said: unknown = JSON.parse(line);
    const url = textIn(said, "url");
    const token = readFileSync(join(options.home, "board-token"), "utf8").trim();
    return {
      url,
      pid: child.pid ?? 0,
      home: options.home,
      companyId: textIn(said, "companyId"),
      token,
      board: createClient({ url, token }),
      log: () => log,
      stop: () => kill("SIGTERM"),
      kill: () => kill("SIGKILL"),
    };
  });
  // A test that kills a daemon while it starts does not wait for it to be ready.
  ready.catch(() => undefined);
  return { pid: child.pid ?? 0, ready, ended, log: () => log, kill };
}

/** Runs a command of the CLI to its end. */
export async function agency(
  args: readonly string[],
  options: DaemonOptions,
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawnAgency(args, options);
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  running.delete(child);
  return { code: typeof code === "number" ? code : null, out, err };
}

/** Makes a folder that is deleted when the process ends, unless the test deletes it earlier. */
export function temporaryFolder(purpose: string): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), `agency-${purpose}-`));
  folders.add(path);
  const remove = (): void => {
    // A process of a killed daemon may write a last file meanwhile.
    rmSync(path, { recursive: true, force: true, maxRetries: 10 });
    folders.delete(path);
  };
  return { path, remove };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const running = new Set<ChildProcess>();
const folders = new Set<string>();
let compileCache: string | undefined;

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
// The test runner ends a slow file with SIGTERM. By default, exit handlers would not run then.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

function spawnAgency(
  args: readonly string[],
  options: DaemonOptions,
): ChildProcessByStdio<null, Readable, Readable> {
  const [program, ...first] = options.command ?? [process.execPath, builtMain];
  const child = spawn(program, [...first, ...args], {
    env: environmentOf(options),
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  return child;
}

/** If the home has no daemon, a command asks the usual port, where the machine may have one. No daemon has port 1. */
export const noOtherDaemon = { AGENCY_PORT: "1" } as const;

/** An environment without the developer's own settings. It has the compile cache of the run, or one for this test only. */
export function environmentOf(options: DaemonOptions): NodeJS.ProcessEnv {
  compileCache ??= process.env["NODE_COMPILE_CACHE"] ?? temporaryFolder("cache").path;
  return {
    PATH: process.env["PATH"],
    // The tests kill daemons. Afterwards agents must still find the variables of their configurations.
    AGENCY_SECRETS_KEY: "the secrets key of the end-to-end tests",
    AGENCY_HOME: options.home,
    NODE_COMPILE_CACHE: compileCache,
    // Ignore the models of the machine that runs the tests.
    AGENCY_BRAIN: "rehearsal",
    // Tests that stop a daemon with sessions do not wait for them.
    AGENCY_DRAIN_SECONDS: "0",
    // Most tests concern something else and must pass on machines without bubblewrap.
    AGENCY_ALLOW_UNSANDBOXED: "1",
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
    ...options.env,
  };
}

function textIn(object: unknown, key: string): string {
  const value: unknown = typeof object === "object" && object !== null ? Reflect.get(object, key) : undefined;
  if (typeof value !== "string") throw new TypeError(`the daemon did not say its ${key}`);
  return value;
}
