import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, lstatSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { endWithParent } from "../../src/daemon/scratch.ts";
import { megabytesOf, type WorkOverHttp } from "../../src/daemon/speed.ts";

/** A system in the comparison. Its driver knows how to install it, start it, and give it work. */
export interface Driver {
  /** The name on the page, without the version. */
  readonly name: string;
  readonly database: "SQLite" | "PostgreSQL";
  /** Installs it below the folder, and returns the place. Only this fetches anything. */
  readonly install: (folder: string) => Promise<string>;
  /** The installed version. */
  readonly version: (installed: string) => string;
  /** Prepares it with its data below the folder and, if it uses a database, with an empty one. */
  readonly open: (installed: string, folder: string, databaseUrl: string | undefined) => Promise<System>;
}

export interface System {
  /** Starts it. Returns the milliseconds until it was healthy. */
  readonly start: () => Promise<number>;
  readonly stop: () => Promise<void>;
  /** The sum of all its processes. */
  readonly megabytes: () => number;
  /** Gives work to the running system over this many connections. */
  readonly work: (connections: number) => Promise<WorkOverHttp & { readonly close: () => void }>;
  /** Removes everything that `open` made. */
  readonly close: () => Promise<void>;
}

const Manifest = z.object({ version: z.string() });

export const versionIn = (folder: string): string =>
  Manifest.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).version;

/** Installs a package from the registry or a file, with everything it needs. */
export function installPackage(folder: string, wanted: string): string {
  execFileSync(
    "npm",
    ["install", wanted, "--prefix", folder, "--omit=dev", "--no-audit", "--no-fund", "--silent"],
    {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  return join(folder, "node_modules");
}

export function sizeOf(path: string): number {
  const status = lstatSync(path);
  if (!status.isDirectory()) return status.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/** A Node program that serves HTTP, as a process that ends with this one. */
export function serverOf(options: {
  readonly program: readonly [string, ...string[]];
  readonly env: (port: number) => Readonly<Record<string, string | undefined>>;
  readonly healthPath: string;
  readonly log: string;
}) {
  let running: { url: string; pid: number; stop: () => Promise<void> } | undefined;
  const current = () => {
    if (running === undefined) throw new Error("it does not run");
    return running;
  };
  return {
    url: () => current().url,
    megabytes: () => megabytesOf(current().pid),
    stop: async (): Promise<void> => {
      await running?.stop();
      running = undefined;
    },
    start: async (): Promise<number> => {
      const port = await freePort();
      const from = performance.now();
      const child = spawn(process.execPath, ["--import", endWithParent, ...options.program], {
        env: { PATH: process.env["PATH"], ...options.env(port) },
        stdio: ["pipe", "pipe", "pipe"],
      });
      const log = createWriteStream(options.log, { flags: "a" });
      child.stdout.pipe(log, { end: false });
      child.stderr.pipe(log, { end: false });
      const ended = once(child, "exit").finally(() => log.end());
      const stop = async (): Promise<void> => {
        const hard = setTimeout(() => child.kill("SIGKILL"), 20_000);
        child.kill("SIGTERM");
        await ended;
        clearTimeout(hard);
      };
      const url = `http://127.0.0.1:${port}`;
      for (;;) {
        if (child.exitCode !== null || performance.now() - from > 180_000) {
          await stop();
          throw new Error(`it did not start: ${readFileSync(options.log, "utf8").slice(-1000)}`);
        }
        if (await isThere(new URL(options.healthPath, url))) break;
        await sleep(10);
      }
      running = { url, pid: child.pid ?? 0, stop };
      return performance.now() - from;
    },
  };
}

const isThere = (url: URL): Promise<boolean> =>
  fetch(url).then(
    async (response) => (await response.text(), response.ok),
    () => false,
  );

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = z.object({ port: z.number() }).parse(server.address());
  server.close();
  await once(server, "close");
  return port;
}
