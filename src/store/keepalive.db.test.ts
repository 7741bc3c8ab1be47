import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import pg from "pg";
import { storeDatabase, testStores } from "../testing/postgres.ts";
import { openPostgres } from "./postgres.ts";

/** The timers of the system for connections from these ports. `02` checks whether the other side still lives. */
function timersOf(ports: ReadonlySet<number>): string[] {
  return ["tcp", "tcp6"].flatMap((kind) =>
    readFileSync(`/proc/net/${kind}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      // The server's end of each connection has the same port on the other side.
      .filter((fields) => ports.has(Number.parseInt(fields[1]?.split(":")[1] ?? "", 16)))
      .map((fields) => fields[5]?.slice(0, 2) ?? ""),
  );
}

if (testStores.has("postgres"))
  test("the system asks on every connection of a store whether the server still lives", async () => {
    const database = await storeDatabase();
    const looker = new pg.Client({ connectionString: database.url });
    await looker.connect();
    const store = await openPostgres({ url: database.url });
    store.onCommit(() => undefined);
    try {
      await Promise.all([
        store.read(async () => 1),
        store.write(async () => 1),
        store.write(async () => 1, "leases"),
      ]);
      const { rows } = await looker.query<{ client_port: number }>(
        "select client_port from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      const ports = new Set(rows.map(({ client_port: port }) => port));
      assert.ok(ports.size >= 3, `${ports.size} connections`);
      // While an answer is under way, the timer is that of the repetition.
      for (let timers = timersOf(ports); timers.some((timer) => timer !== "02"); timers = timersOf(ports)) {
        assert.ok(!timers.includes("00"), `timers ${timers.join(" ")}: one connection is not asked`);
        assert.equal(timers.length, ports.size);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    } finally {
      await looker.end();
      await store.close();
      await database.drop();
    }
  });
