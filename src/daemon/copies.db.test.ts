import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { createClient } from "../client/client.ts";
import { createCompany } from "../contract/companies.ts";
import { createFile, readFile, searchFiles } from "../contract/knowledge.ts";
import { verifyLedger } from "../contract/ledger.ts";
import { createOutcome, listOutcomes } from "../contract/outcomes.ts";
import { setSecret } from "../contract/secrets.ts";
import { Refusal, refusalOf } from "../contract/refusal.ts";
import { byLength } from "../testing/run-length.ts";
import { bothStores } from "../testing/organization.ts";
import { testDatabase } from "../testing/postgres.ts";
import { backUp, migrate, restoreBackup } from "./copies.ts";
import { type DaemonOptions, startDaemon } from "./daemon.ts";

type Client = ReturnType<typeof createClient>;
const secretsKey = "the key of secrets, thirty-two characters or more";

const folder = mkdtempSync(join(tmpdir(), "agency-copies-"));
after(() => rmSync(folder, { recursive: true }));

/** Runs a daemon on a home while `work` runs. */
async function during<T>(
  options: Pick<DaemonOptions, "home"> & Partial<DaemonOptions>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const daemon = await startDaemon({
    port: 0,
    schedule: false,
    log: () => undefined,
    limits: { boardCallsPerSecond: 1e6 },
    ...options,
  });
  try {
    return await work(createClient(daemon));
  } finally {
    await daemon.stop();
  }
}

async function fillCompany(client: Client) {
  const { id: companyId, rootOutcomeId: root } = await client.call(createCompany, { name: "Bakery" });
  const text = "Rye bread: Bäckerei 🥖, a line\u2028break, 'quotes' and \\ backslashes";
  const { id: file } = await client.call(createFile, { companyId, description: "recipes", content: text });
  const bytes = Buffer.from([0, 255, 10, 13, 128]).toString("base64");
  const { id: picture } = await client.call(createFile, {
    companyId,
    description: "picture",
    content: bytes,
    encoding: "base64",
  });
  await client.call(setSecret, { companyId, name: "API_KEY", value: "sk-very-secret-value-123456" });
  for (let n = 0; n < 3; n++)
    await client.call(createOutcome, { companyId, title: `Bake ${n}`, parents: [root] });
  return { companyId, root, file, picture, text, bytes };
}

async function isIntact(client: Client, made: Awaited<ReturnType<typeof fillCompany>>): Promise<void> {
  assert.equal((await client.call(readFile, { id: made.file })).content, made.text);
  assert.equal((await client.call(readFile, { id: made.picture })).content, made.bytes);
  const found = await client.call(searchFiles, { companyId: made.companyId, query: "rye" });
  assert.deepEqual(
    found.files.map(({ id }) => id),
    [made.file],
  );
  for (let cursor: string | undefined; ;) {
    const checked = await client.call(verifyLedger, { deep: true, cursor });
    assert.deepEqual(checked.problems, []);
    if (checked.nextCursor === null) break;
    cursor = checked.nextCursor;
  }
  // The copy is a working installation: numbers, versions and the chain continue.
  await client.call(createOutcome, {
    companyId: made.companyId,
    title: "After the copy",
    parents: [made.root],
  });
}

for (const kind of bothStores)
  describe(`a backup of ${kind}`, async () => {
    const databases = kind === "postgres" ? [await testDatabase(), await testDatabase()] : [];
    after(async () => {
      for (const database of databases) await database.drop();
    });
    const [source, target] = databases.map(({ url }) => url);
    const place = (name: string, databaseUrl = source) => ({
      home: join(folder, `${kind}-${name}`),
      databaseUrl,
    });
    const file = join(folder, `${kind}.backup`);
    const { home } = place("home");
    mkdirSync(join(home, "transcripts"), { recursive: true });
    writeFileSync(join(home, "transcripts", "one.jsonl"), "{}\n");
    mkdirSync(join(home, "repos", "mirror.git", "refs"), { recursive: true });
    writeFileSync(join(home, "secrets-key"), secretsKey, { mode: 0o600 });

    test("is taken under load, verifies, and restores to a consistent organization", async () => {
      const made = await during(place("home"), async (client) => {
        const filled = await fillCompany(client);
        let writing = true;
        let created = 0;
        const load = (async () => {
          while (writing) {
            await client.call(createOutcome, {
              companyId: filled.companyId,
              title: `Load ${created}`,
              parents: [filled.root],
            });
            created++;
          }
        })();
        try {
          assert.deepEqual((await backUp(place("home"), file)).problems, []);
        } finally {
          writing = false;
          await load;
        }
        return filled;
      });
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(`${file}.key`).mode & 0o777, 0o600);
      assert.equal(readFileSync(`${file}.key`, "utf8"), readFileSync(join(home, "audit-key"), "utf8"));
      const restored = place("restored", target);
      const done = await restoreBackup(restored, file);
      assert.deepEqual(done.problems, []);
      assert.equal(readFileSync(join(restored.home, "transcripts", "one.jsonl"), "utf8"), "{}\n");
      assert.ok(existsSync(join(restored.home, "repos", "mirror.git", "refs")));
      assert.equal(statSync(join(restored.home, "audit-key")).mode & 0o777, 0o600);
      await during(restored, (client) => isIntact(client, made));
      const again = await refusalOf(restoreBackup(restored, file));
      assert.match(again?.message ?? "", /already has data/);
    });

    test("holds no secret in plain text", async () => {
      const { gunzipSync } = await import("node:zlib");
      const plain = gunzipSync(readFileSync(file)).toString();
      assert.ok(plain.includes("API_KEY"));
      assert.ok(!plain.includes("sk-very-secret-value-123456"));
      assert.ok(!plain.includes(secretsKey));
    });

    test("is refused when a byte changed, when it was cut, and without its key", async () => {
      const { gunzipSync, gzipSync } = await import("node:zlib");
      const empty = { home: join(folder, `${kind}-empty`), databaseUrl: undefined };
      const plain = gunzipSync(readFileSync(file)).toString();
      const attempts: [string, Buffer][] = [
        ["changed", gzipSync(plain.replace("Bake 1", "Bake 9"))],
        ["cut", gzipSync(plain.split("\n").slice(0, -2).join("\n") + "\n")],
        ["torn", readFileSync(file).subarray(0, statSync(file).size - 20)],
        ["other", Buffer.from("not a backup")],
      ];
      for (const [name, bytes] of attempts) {
        const path = join(folder, `${kind}-${name}.backup`);
        writeFileSync(path, bytes);
        writeFileSync(`${path}.key`, readFileSync(`${file}.key`), { mode: 0o600 });
        assert.ok((await refusalOf(restoreBackup(empty, path))) instanceof Refusal, name);
        assert.ok(!existsSync(join(empty.home, "agency.db")), name);
      }
      const alone = join(folder, `${kind}-alone.backup`);
      writeFileSync(alone, readFileSync(file));
      assert.match((await refusalOf(restoreBackup(empty, alone)))?.hint ?? "", /AGENCY_AUDIT_KEY/);
    });
  });

if (bothStores.includes("postgres"))
  describe("agency migrate", async () => {
    const database = await testDatabase();
    after(() => database.drop());
    const home = join(folder, "moving");
    const tables = async (url: string | undefined, name: string) => {
      const file = join(folder, `${name}.backup`);
      await backUp({ home, databaseUrl: url }, file);
      const { gunzipSync } = await import("node:zlib");
      const [, ...lines] = gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
      return lines.slice(0, -1);
    };
    const count = byLength({ quick: 50, whole: 50, long: 100_000 });

    test("moves to PostgreSQL and back with every row equal, and continues what was interrupted", async () => {
      const made = await during({ home }, async (client) => {
        const filled = await fillCompany(client);
        for (let n = 0; n < count; n += 100)
          await Promise.all(
            Array.from({ length: Math.min(100, count - n) }, (_, at) =>
              client.call(createOutcome, {
                companyId: filled.companyId,
                title: `Outcome ${n + at}`,
                parents: [filled.root],
              }),
            ),
          );
        return filled;
      });
      const before = await tables(undefined, "before");
      await during({ home }, async () => {
        await assert.rejects(migrate({ home }, database.url), /Another daemon is running/);
      });
      const steady = await tables(undefined, "steady");
      await assert.rejects(
        migrate(
          {
            home,
            say: (table) => {
              if (table === "outcomes") throw new Error("interrupted");
            },
          },
          database.url,
        ),
        /interrupted/,
      );
      // A daemon does not use half a copy.
      await assert.rejects(
        during({ home, databaseUrl: database.url }, async () => undefined),
        /unfinished copy/,
      );
      const moved = await migrate({ home }, database.url);
      assert.deepEqual(moved.problems, []);
      assert.ok(moved.rows < steady.length * 1000);
      assert.deepEqual(await tables(undefined, "there"), steady);
      assert.ok(!existsSync(join(home, "agency.db")));
      const back = await migrate({ home }, "sqlite");
      assert.deepEqual(back.problems, []);
      assert.deepEqual(await tables(undefined, "back"), steady);
      assert.ok(before.length > 0);
      await during({ home }, async (client) => {
        await isIntact(client, made);
        const page = await client.call(listOutcomes, { companyId: made.companyId, limit: 1 });
        assert.equal(page.outcomes.length, 1);
      });
    });
  });
