import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { createClient } from "../client/client.ts";
import { createCompany } from "../contract/companies.ts";
import { createFile } from "../contract/knowledge.ts";
import { verifyLedger } from "../contract/ledger.ts";
import { duringDaemon } from "../testing/daemons.ts";
import { bothStores } from "../testing/organization.ts";
import { storeDatabase } from "../testing/postgres.ts";
import { type DaemonOptions, startDaemon } from "./daemon.ts";

/** Tests of the key, the anchor and the modes of files, with whole daemons on real homes. */
for (const kind of bothStores)
  describe(`the audit key and the anchor on ${kind}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "agency-audit-"));
    const home = join(folder, "home");
    const database = kind === "postgres" ? await storeDatabase() : undefined;
    after(async () => {
      rmSync(folder, { recursive: true });
      await database?.drop();
    });
    const options = (where: string): DaemonOptions => ({
      home: where,
      port: 0,
      schedule: false,
      databaseUrl: database?.url,
      log: () => undefined,
    });
    const during = async <T>(
      work: (client: ReturnType<typeof createClient>) => Promise<T>,
      more: Partial<DaemonOptions> = {},
    ): Promise<T> => duringDaemon({ ...options(home), ...more }, (daemon) => work(createClient(daemon)));
    const write = async (client: ReturnType<typeof createClient>, content: string) =>
      client.call(createFile, { companyId, description: "notes", content });
    const companyId = (await during((client) => client.call(createCompany, { name: "Bakery" }))).id;

    test("files of the home are readable by their owner only, while the daemon runs and afterwards", async () => {
      const open = (): string[] =>
        readdirSync(home, { recursive: true, encoding: "utf8" }).filter((name) => {
          // A listed file may have been renamed since.
          const mode = statSync(join(home, name), { throwIfNoEntry: false })?.mode ?? 0;
          return (mode & 0o077) !== 0;
        });
      await during(async (client) => {
        await write(client, "x");
        if (kind === "sqlite")
          assert.ok(
            ["agency.db", "agency.db-wal", "agency.db-shm"].every((name) => readdirSync(home).includes(name)),
          );
        assert.deepEqual(open(), []);
      });
      assert.ok(
        ["audit-key", "audit-anchor.log", "board-token"].every((name) => readdirSync(home).includes(name)),
      );
      assert.deepEqual(open(), []);
    });

    test("a daemon without the key of its database refuses to start, and leaves no key behind", async () => {
      const other = join(folder, "other");
      cpSync(home, other, { recursive: true });
      rmSync(join(other, "audit-key"));
      await assert.rejects(
        startDaemon(options(other)),
        /another audit key, and this home has none.*AGENCY_AUDIT_KEY/,
      );
      assert.ok(!readdirSync(other).includes("audit-key"));
      writeFileSync(join(other, "audit-key"), "a".repeat(40));
      await assert.rejects(startDaemon(options(other)), /another audit key\. Copy the file audit-key/);
      await assert.rejects(startDaemon({ ...options(other), auditKey: "short" }), /fewer than 32/);
      rmSync(join(other, "audit-key"));
      const key = readFileSync(join(home, "audit-key"), "utf8").trim();
      const daemon = await startDaemon({ ...options(other), auditKey: key });
      await daemon.stop();
      assert.ok(!readdirSync(other).includes("audit-key"));
    });

    if (kind === "sqlite")
      test("a home whose database was replaced by an old copy is reported", async () => {
        const copy = join(folder, "agency.db");
        cpSync(join(home, "agency.db"), copy);
        await during((client) => write(client, "lost"));
        cpSync(copy, join(home, "agency.db"));
        const found = await during((client) => client.call(verifyLedger, {}));
        assert.ok(
          found.problems.some((one) => one.companyId === companyId && /earlier state/.test(one.what)),
          JSON.stringify(found),
        );
      });
  });
