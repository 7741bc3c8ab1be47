import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { allHeads, append, system } from "../events/ledger.ts";
import { keyFits } from "../events/verify.ts";
import { isDiskFull } from "../store/disk.ts";
import type { Store } from "../store/store.ts";
import {
  auditKey,
  type DatabaseSources,
  databaseUrlIn,
  directUrlIn,
  forgetAuditKey,
  type Home,
} from "./home.ts";
import { newSecret } from "./ids.ts";
import { waitingForSpace } from "./texts.ts";
import { version } from "./version.ts";

/** The daemon's options for opening the store. */
export interface OpeningOptions extends DatabaseSources {
  readonly auditKey?: string | undefined;
  readonly log: (line: Record<string, unknown>) => void;
}

/** On a full disk, a starting daemon waits for the few bytes that it needs to read its data. */
export async function whenThereIsSpace<T>(
  options: Pick<OpeningOptions, "log">,
  open: () => T | Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      options.log({ level: "error", about: "disk", says: waitingForSpace });
      await sleep(2000);
    }
  }
}

/** Opens the store if its ledger was sealed with this daemon's key. Begins the ledger of a new store. */
export async function openSealed(options: OpeningOptions, home: Home): Promise<Store> {
  const hadKey = options.auditKey !== undefined || existsSync(join(home.path, "audit-key"));
  const store = await openStore(options, home, auditKey(home, options.auditKey, newSecret));
  const fits = await store.write(async (tx) => {
    await tx.lock("ledger ");
    const isNew = (await tx.all(allHeads, {})).length === 0;
    if (isNew)
      append(tx, { companyId: "", actor: system, operation: "ledger.begin", subject: null, data: {} });
    return isNew || (await keyFits(tx));
  });
  // From now on, the files of the home belong to this store, even after an interrupted restore.
  if (fits) rmSync(home.restoring, { force: true });
  if (fits) return store;
  await store.close();
  if (!hadKey) forgetAuditKey(home);
  throw new Error(
    `The ledger of this database was sealed with another audit key${hadKey ? "" : ", and this home has none"}. Copy the file audit-key from a backup or from another node to ${home.path}, or set AGENCY_AUDIT_KEY.`,
  );
}

async function openStore(options: OpeningOptions, home: Home, key: string): Promise<Store> {
  const url = databaseUrlIn(home, options);
  if (url !== undefined) {
    const { openPostgres } = await import("../store/postgres.ts");
    return openPostgres({ url, directUrl: directUrlIn(home, options), key, version });
  }
  const { openSqlite } = await import("../store/sqlite.ts");
  return openSqlite({ path: home.database, blobFolder: home.knowledge, clock: Date.now, key, version });
}
