import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { type Daemon, type DaemonOptions, startDaemon } from "../daemon/daemon.ts";
import type { StoreKind } from "./organization.ts";
import { storeDatabase } from "./postgres.ts";

/** A daemon of a test starts no sessions, and no one reads its log. */
const usual = { port: 0, schedule: false, log: () => undefined };

/** Runs a daemon while `work` runs. */
export async function duringDaemon<T>(
  options: Pick<DaemonOptions, "home"> & Partial<DaemonOptions>,
  work: (daemon: Daemon) => Promise<T>,
): Promise<T> {
  const daemon = await startDaemon({ ...usual, ...options });
  try {
    return await work(daemon);
  } finally {
    await daemon.stop();
  }
}

/**
 * One daemon for all tests of a suite, with a separate home. Await it before you declare the tests. It stops after the last.
 */
export async function sharedDaemon(
  kind: StoreKind = "sqlite",
  options: Partial<DaemonOptions> = {},
): Promise<Daemon> {
  const home = mkdtempSync(join(tmpdir(), "agency-daemon-"));
  const database = kind === "postgres" ? await storeDatabase() : undefined;
  const daemon = await startDaemon({ ...usual, home, databaseUrl: database?.url, ...options });
  after(async () => {
    await daemon.stop();
    await database?.drop();
    rmSync(home, { recursive: true, force: true });
  });
  return daemon;
}
