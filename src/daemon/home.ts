import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { problemOfName } from "../agents/agent.ts";
import { makeHomeFolder } from "../client/home-folder.ts";
import { inMap } from "../contract/in-map.ts";
import { Name } from "../contract/words.ts";
import { startTimeOf } from "../processes/process-table.ts";
import { privateFile } from "../store/blob-files.ts";
import { isDiskFull } from "../store/disk.ts";
import { diskFull } from "../store/texts.ts";
import { givenText, isDescriptor } from "./given-text.ts";
import { notAUrl } from "./texts.ts";

/**
 * The home folder holds all data of a daemon: `agency.db`, `knowledge/`, `workspaces/`, `transcripts/`, `repos/`, `sandbox/`,
 * `agents/`, `homes/`, `model-calls/`, `trials/` (while a brain is tested), `audit-anchor.log`, `restoring` (while a restore
 * fills it), `board-token` and `audit-key` (made on first start), `secrets-key` (if the user put it there), and `database-url`
 * and `database-direct-url` (if the data is in PostgreSQL). Every file has mode 0600. While a daemon runs, the folder also
 * holds `daemon.json` (the daemon's address) and a lock that is released when the process ends.
 */
export type Home = ReturnType<typeof openHome>;

export function openHome(path: string) {
  makeHomeFolder(path);
  chmodSync(path, 0o700);
  const home = {
    path,
    database: join(path, "agency.db"),
    anchor: join(path, "audit-anchor.log"),
    /** Exists while a restore fills the home. The files of an interrupted restore may be removed. */
    restoring: join(path, "restoring"),
    knowledge: join(path, "knowledge"),
    workspaces: join(path, "workspaces"),
    transcripts: join(path, "transcripts"),
    /** Mirrors of repositories, and bundles of unpublished commits. */
    repos: join(path, "repos"),
    /** Files that every sandbox shows. */
    sandbox: join(path, "sandbox"),
    /** Definitions for the first company, which are read only once, and roster.json, written after every change. */
    agents: join(path, "agents"),
    /** A folder for each agent, which its brain keeps between sessions. */
    agentHomes: join(path, "homes"),
    /** A file for each model call that is not booked yet. */
    calls: join(path, "model-calls"),
    /** A temporary folder for each running MCP server. */
    servers: join(path, "servers"),
  };
  mkdirSync(home.workspaces, { recursive: true, mode: 0o700 });
  return home;
}

export function boardToken(home: Home, newSecret: () => string): string {
  return secretIn(join(home.path, "board-token"), () => `agb_${newSecret()}`);
}

/** The name of the first person: the system user's, unless it can't be a name. */
export function systemUserName(): string {
  try {
    const name = Name.parse(userInfo().username);
    return problemOfName(name) === undefined ? name : "Owner";
  } catch {
    return "Owner";
  }
}

/**
 * The key that seals the ledger: the given one, the one in `audit-key`, or a new one in that file. It must not be lost, and
 * every daemon that shares the database needs it.
 */
export function auditKey(home: Home, given: string | undefined, newSecret: () => string): string {
  if (given !== undefined && given.length < 32)
    throw new Error("AGENCY_AUDIT_KEY has fewer than 32 characters.");
  return given ?? secretIn(auditKeyFile(home), newSecret);
}

/**
 * The address of the data: the given one, the one in the given file, the one in `database-url` of this home, or undefined for
 * SQLite in this home. Without a sandbox, programs of agents can read the daemon's environment. So a file or a descriptor
 * (`/dev/fd/3`) is the better place for a password.
 */
export function databaseUrlIn(home: Pick<Home, "path">, given: DatabaseSources): string | undefined {
  return urlFrom(given, given.databaseUrl, given.databaseUrlFile, join(home.path, "database-url"));
}

/**
 * The address of the server itself, if the address above leads to a pool of connections such as PgBouncer. It comes from the
 * same places.
 */
export function directUrlIn(home: Pick<Home, "path">, given: DatabaseSources): string | undefined {
  return urlFrom(
    given,
    given.databaseDirectUrl,
    given.databaseDirectUrlFile,
    join(home.path, "database-direct-url"),
  );
}

/** The address for tasks that need one connection for longer than a transaction. */
export function lastingUrlIn(home: Pick<Home, "path">, given: DatabaseSources): string | undefined {
  const url = databaseUrlIn(home, given);
  return url === undefined ? undefined : (directUrlIn(home, given) ?? url);
}

export interface DatabaseSources {
  readonly databaseUrl?: string | undefined;
  /** A file with the address, which only its owner may be able to read. */
  readonly databaseUrlFile?: string | undefined;
  readonly databaseDirectUrl?: string | undefined;
  readonly databaseDirectUrlFile?: string | undefined;
}

function urlFrom(
  sources: DatabaseSources,
  given: string | undefined,
  givenFile: string | undefined,
  own: string,
): string | undefined {
  if (given !== undefined) return given;
  if (givenFile === undefined) return existsSync(own) ? urlInFile(own) : undefined;
  if (!isDescriptor(givenFile)) return urlInFile(givenFile);
  // A descriptor can be read only once, but a daemon that waits for disk space opens its data again.
  const known = inMap(readBefore, sources, () => new Map<string, string>());
  return inMap(known, givenFile, () => urlInFile(givenFile));
}
const readBefore = new WeakMap<DatabaseSources, Map<string, string>>();

export function urlInFile(file: string): string {
  const url = givenText(file, { ownerOnly: true });
  if (!/^postgres(ql)?:\/\//.test(url)) throw notAUrl(file);
  return url;
}

export const auditKeyFile = (home: Home): string => join(home.path, "audit-key");

export function forgetAuditKey(home: Home): void {
  rmSync(auditKeyFile(home), { force: true });
}

/** Reads a secret, or makes one. The file appears complete and with mode 0600, by a rename. */
function secretIn(file: string, newSecret: () => string): string {
  if (existsSync(file)) {
    chmodSync(file, 0o600);
    const secret = readFileSync(file, "utf8").trim();
    if (secret.length >= 32) return secret;
  }
  const secret = newSecret();
  writeFileSync(`${file}.tmp`, `${secret}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
  return secret;
}

/**
 * Allows one daemon per home. SQLite holds a lock on a separate file for us, and the system releases the lock when the process
 * ends for any reason. Rejected: a pid file. Its process may be gone, or its number may belong to another program.
 */
export function lockHome(home: Home): { release: () => void } {
  // A command that checks for a running daemon (below) holds the lock for a moment.
  const lock = new DatabaseSync(privateFile(join(home.path, "daemon.lock")), { timeout: 500 });
  try {
    // From the second start on, the table exists. Then nothing is written, which would need disk space.
    lock.exec("pragma journal_mode = delete; create table if not exists held (at integer); begin exclusive");
  } catch (error) {
    lock.close();
    if (isDiskFull(error)) throw diskFull();
    throw new Error(
      `Another daemon is running on ${home.path}. Stop it first, or set AGENCY_HOME to another folder.`,
      { cause: error },
    );
  }
  return { release: () => lock.close() };
}

/** Whether a daemon runs on this home, including one that starts, hangs or has lost its database. */
export function isHomeHeld(home: string): boolean {
  const file = join(home, "daemon.lock");
  if (!existsSync(file)) return false;
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("begin exclusive; rollback");
    return false;
  } catch {
    return true;
  } finally {
    lock.close();
  }
}

/** Announces the process of this home's daemon and, once it answers, its address. */
export function announceDaemon(home: Home, url?: string): void {
  const file = join(home.path, "daemon.json");
  const { pid } = process;
  writeFileSync(`${file}.tmp`, JSON.stringify({ url, pid, started: startTimeOf(pid) }), { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

/**
 * The announced process, if it runs. The file outlives a killed daemon. Its number may then belong to another program, which
 * has another start time.
 */
export function announcedProcess(home: string): number | undefined {
  try {
    const { pid, started } = Object(JSON.parse(readFileSync(join(home, "daemon.json"), "utf8")));
    return typeof pid === "number" && typeof started === "string" && startTimeOf(pid) === started
      ? pid
      : undefined;
  } catch {
    // The file is missing, or it is not one of ours.
    return undefined;
  }
}

export function retract(home: Home): void {
  rmSync(join(home.path, "daemon.json"), { force: true });
}

/** The id of this daemon among those that share a database. It stays the same for this home. */
export function nodeId(home: Home, newId: () => string): string {
  return ownNodeId(home) ?? giveNodeId(home, newId());
}

export function giveNodeId(home: Home, id: string): string {
  const file = nodeIdFile(home);
  writeFileSync(`${file}.tmp`, id, { mode: 0o600, flush: true });
  renameSync(`${file}.tmp`, file);
  return id;
}

/** Undefined if no daemon has used this home yet. */
export const ownNodeId = (home: Home): string | undefined =>
  existsSync(nodeIdFile(home)) ? readFileSync(nodeIdFile(home), "utf8").trim() || undefined : undefined;

const nodeIdFile = (home: Home): string => join(home.path, "node-id");
