import { join } from "node:path";
import type { StoreKind } from "../../src/testing/organization.ts";
import { storeDatabase } from "../../src/testing/postgres.ts";
import { fixedPort } from "./agents.ts";
import { type DaemonOptions, temporaryFolder } from "./daemon.ts";

/** A home with its store, a port that stays the same, and a folder for the actors' notes. */
export async function onNewHome(
  store: StoreKind,
  play: (options: DaemonOptions, folder: string) => Promise<void>,
): Promise<void> {
  const home = temporaryFolder("home");
  const notes = temporaryFolder("notes");
  const database = store === "postgres" ? await storeDatabase() : undefined;
  try {
    const env = { AGENCY_SANDBOX: "off" };
    const options = { home: home.path, databaseUrl: database?.url, port: await fixedPort(), env };
    await play(options, join(notes.path, "notes"));
  } finally {
    await database?.drop();
    home.remove();
    notes.remove();
  }
}
