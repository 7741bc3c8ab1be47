import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { type Daemon, type DaemonOptions, startDaemon } from "../daemon/daemon.ts";
import type { StoreKind } from "./organization.ts";
import { storeDatabase } from "./postgres.ts";

/**
 * One daemon for all tests of a suite, with a separate home. It starts no sessions. Await it before you declare the tests. It
 * stops after the last.
 */
export async function sharedDaemon(
  kind: StoreKind = "sqlite",
  options: Partial<DaemonOptions> = {},
): Promise<Daemon> {
  const home = mkdtempSync(join(tmpdir(), "agency-daemon-"));
  const database = kind === "postgres" ? await storeDatabase() : undefined;
  const daemon = await startDaemon({
    home,
    port: 0,
    databaseUrl: database?.url,
    schedule: false,
    log: () => undefined,
    ...options,
  });
  after(async () => {
    await daemon.stop();
    await database?.drop();
    rmSync(home, { recursive: true, force: true });
  });
  return daemon;
}
