import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * The home folder holds everything a daemon keeps: `agency.db`, `knowledge/`, `workspaces/`, `transcripts/`, `sandbox/`, `agents/`
 * `board-token` (mode 0600, made on first start). While a daemon runs, it also holds `daemon.json` (the daemon's address) and
 * a lock that is released when the process ends.
 */
export type Home = ReturnType<typeof openHome>;

export function openHome(path: string) {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
  const home = {
    path,
    database: join(path, "agency.db"),
    knowledge: join(path, "knowledge"),
    workspaces: join(path, "workspaces"),
    transcripts: join(path, "transcripts"),
    /** Files that every sandbox shows. */
    sandbox: join(path, "sandbox"),
    /** Definitions for the first company, read only once, and roster.json, written after every change. */
    agents: join(path, "agents"),
  };
  mkdirSync(home.workspaces, { recursive: true, mode: 0o700 });
  return home;
}

/** Reads the board's token, or makes one. The file appears complete and with mode 0600, by a rename. */
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
 * Allows one daemon per home. SQLite holds a lock on a separate file for us, and the system releases it when the process ends
 * for any reason. A pid file was not used: the process it names may be gone, or be another program by now.
 */
export function lockHome(home: Home): { release: () => void } {
  const lock = new DatabaseSync(join(home.path, "daemon.lock"), { timeout: 0 });
  try {
    lock.exec("pragma journal_mode = delete; begin exclusive; create table if not exists held (at integer)");
  } catch (error) {
    lock.close();
    throw new Error(
      `Another daemon is running on ${home.path}. Stop it first, or set AGENCY_HOME to another folder.`,
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

/** The id of this daemon among those that share a database. It stays the same for this home. */
export function nodeId(home: Home, newId: () => string): string {
  const file = join(home.path, "node-id");
  if (!existsSync(file)) writeFileSync(file, newId(), { mode: 0o600 });
  return readFileSync(file, "utf8").trim();
}
