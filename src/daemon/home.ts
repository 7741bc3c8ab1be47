import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * The home folder: everything a daemon keeps. `agency.db`, `knowledge/`, `workspaces/`, `transcripts/`, `agents/`, `board-token` (0600, made on
 * first start) and, while a daemon runs, `daemon.json` (where it listens) and a lock that dies with its process.
 */
export interface Home {
  readonly path: string;
  readonly database: string;
  readonly knowledge: string;
  readonly workspaces: string;
  readonly transcripts: string;
  /** Definitions for the first company, read once; and roster.json, written after every change. */
  readonly agents: string;
}

export function openHome(path: string): Home {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
  const home = {
    path,
    database: join(path, "agency.db"),
    knowledge: join(path, "knowledge"),
    workspaces: join(path, "workspaces"),
    transcripts: join(path, "transcripts"),
    agents: join(path, "agents"),
  };
  mkdirSync(home.workspaces, { recursive: true, mode: 0o700 });
  return home;
}

/** The board's token: read, or made and written whole before anybody can read it. */
export function boardToken(home: Home, newSecret: () => string): string {
  const file = join(home.path, "board-token");
  if (existsSync(file)) {
    chmodSync(file, 0o600);
    const token = readFileSync(file, "utf8").trim();
    if (token.length >= 32) return token;
  }
  const token = `agb_${newSecret()}`;
  writeFileSync(`${file}.tmp`, `${token}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
  return token;
}

/**
 * One daemon per home. The lock is one SQLite holds for us on a file of its own: the system releases it when the process
 * ends, however it ends. A pid file would have to be believed.
 */
export function lockHome(home: Home): { release: () => void } {
  const lock = new DatabaseSync(join(home.path, "daemon.lock"), { timeout: 0 });
  try {
    lock.exec("pragma journal_mode = delete; begin exclusive; create table if not exists held (at integer)");
  } catch (error) {
    lock.close();
    throw new Error(
      `another daemon runs on ${home.path}; stop it first, or choose another home (AGENCY_HOME)`,
      { cause: error },
    );
  }
  return { release: () => lock.close() };
}

export function announceDaemon(home: Home, url: string): void {
  const file = join(home.path, "daemon.json");
  writeFileSync(`${file}.tmp`, JSON.stringify({ url, pid: process.pid }), { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

export function retract(home: Home): void {
  rmSync(join(home.path, "daemon.json"), { force: true });
}

/** This daemon's name among others that share a database; the same after every restart on this home. */
export function nodeId(home: Home, newId: () => string): string {
  const file = join(home.path, "node-id");
  if (!existsSync(file)) writeFileSync(file, newId(), { mode: 0o600 });
  return readFileSync(file, "utf8").trim();
}
