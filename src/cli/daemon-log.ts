import {
  copyFileSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
} from "node:fs";
import { join } from "node:path";

/** The output of a detached daemon, in its home folder. `daemon.log.1` has the output before that. */
export const daemonLog = "daemon.log";
const olderLog = "daemon.log.1";
const mostBytes = 5 * 1024 * 1024;
const everyMilliseconds = 10_000;

/** The newest lines of the log. Undefined if there is no log. */
export function newestLines(home: string, limit: number): string | undefined {
  const files = [olderLog, daemonLog].map((name) => join(home, name)).filter((file) => existsSync(file));
  if (files.length === 0) return undefined;
  const text = files.map((file) => readFileSync(file, "utf8")).join("");
  return text.trimEnd().split("\n").slice(-limit).join("\n");
}

/** Opens the log for a daemon that is about to start. */
export function openLog(home: string): number {
  const log = openSync(join(home, daemonLog), "a", 0o600);
  shortenLog(home, log);
  return log;
}

/** Keeps the log short while this process prints into it. Output that a person redirected elsewhere is left alone. */
export function keepLogShort(home: string): void {
  if (isLogOf(home, process.stdout.fd))
    setInterval(() => shortenLog(home, process.stdout.fd), everyMilliseconds).unref();
}

function isLogOf(home: string, fd: number): boolean {
  const file = statSync(join(home, daemonLog), { throwIfNoEntry: false });
  const own = fstatSync(fd);
  return file !== undefined && own.isFile() && own.ino === file.ino && own.dev === file.dev;
}

/**
 * If the log is long, moves its content to the older log. The daemon keeps its file open for appending: once the file is empty,
 * the next line is its first.
 */
export function shortenLog(home: string, fd: number, most = mostBytes): void {
  try {
    if (fstatSync(fd).size <= most) return;
    copyFileSync(join(home, daemonLog), join(home, olderLog));
    ftruncateSync(fd);
  } catch {
    // On a full disk the copy fails, and the log stays unchanged.
  }
}
