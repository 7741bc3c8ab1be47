import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { after, describe, test } from "node:test";
import pg from "pg";
import { createClient } from "../client/client.ts";
import { createCompany, updateCompany } from "../contract/companies.ts";
import { examineDeeply } from "../contract/doctor.ts";
import { createFile, listFiles, readFile, searchFiles } from "../contract/knowledge.ts";
import { verifyLedger } from "../contract/ledger.ts";
import { createOutcome, listOutcomes } from "../contract/outcomes.ts";
import { setSecret } from "../contract/secrets.ts";
import { Refusal, refusalOf } from "../contract/refusal.ts";
import { duringDaemon } from "../testing/daemons.ts";
import { byLength } from "../testing/run-length.ts";
import { bothStores } from "../testing/organization.ts";
import { testDatabase } from "../testing/postgres.ts";
import { backUp, putFile, restoreBackup } from "./copies.ts";
import { migrate } from "./migrating.ts";

type Client = ReturnType<typeof createClient>;
const secretsKey = "the key of secrets, thirty-two characters or more";

const folder = mkdtempSync(join(tmpdir(), "agency-copies-"));
after(() => rmSync(folder, { recursive: true }));

/** Runs a daemon on a home while `work` calls it. */
const during = <T>(
  options: Parameters<typeof duringDaemon>[0],
  work: (client: Client) => Promise<T>,
): Promise<T> =>
  duringDaemon({ limits: { boardCallsPerSecond: 1e6 }, ...options }, (daemon) => work(createClient(daemon)));

async function fillCompany(client: Client) {
  const { id: companyId, rootOutcomeId: root } = await client.call(createCompany, { name: "Bakery" });
  await client.call(updateCompany, { companyId, maxOpenOutcomes: 1_000_000 });
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
  for (let cursor: string | undefined; ;) {
    const examined = await client.call(examineDeeply, { cursor });
    assert.deepEqual(examined.findings, []);
    if (examined.nextCursor === null) break;
    cursor = examined.nextCursor;
  }
  // The copy is a working installation: numbers, versions and the chain continue.
  await client.call(createOutcome, {
    companyId: made.companyId,
    title: "After the copy",
    parents: [made.root],
  });
}

const writers = 8;
/** What the clients have written when the backup begins. */
const rowsBefore = byLength({ quick: 200, whole: 400, long: 4000 });

/** Clients that create outcomes and files, each the next one once the last was acknowledged. */
function startLoad(client: Client, { companyId, root }: { companyId: string; root: string }) {
  let isOver = false;
  let created = 0;
  const write = async (writer: number): Promise<void> => {
    for (let number = 0; !isOver; number++) {
      const name = `Load ${writer} ${number}`;
      if (writer % 2 === 0) await client.call(createOutcome, { companyId, title: name, parents: [root] });
      else await client.call(createFile, { companyId, description: name, content: name.repeat(20) });
      created++;
    }
  };
  const all = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return {
    created: () => created,
    until: async (count: number): Promise<void> => {
      while (created < count) await Promise.race([sleep(10), all]);
    },
    end: async (): Promise<void> => {
      isOver = true;
      await all;
    },
  };
}

/** Adds the row of a node that runs on another machine. */
async function addNode(url: string, name: string, address: string): Promise<void> {
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  await db.query(
    `insert into nodes (id, name, address, version, capacity, brains, lacks, trouble, started_at, heartbeat)
     values ($1, $1, $2, '0.1.0', null, '[]', '[]', null, 0, 0)`,
    [name, address],
  );
  await db.end();
}

/** The outcomes and files of such clients. */
async function countLoad(client: Client, companyId: string): Promise<number> {
  let count = 0;
  for (let cursor: string | undefined; ;) {
    const page = await client.call(listOutcomes, { companyId, limit: 1000, cursor });
    count += page.outcomes.filter(({ title }) => title.startsWith("Load ")).length;
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  for (let cursor: string | undefined; ;) {
    const page = await client.call(listFiles, { companyId, limit: 1000, cursor });
    count += page.files.filter(({ description }) => description.startsWith("Load ")).length;
    if (page.nextCursor === null) return count;
    cursor = page.nextCursor;
  }
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
    // It does not compress, so the backup takes a while, as that of a large installation.
    writeFileSync(join(home, "transcripts", "two.jsonl"), randomBytes(16_000_000));
    mkdirSync(join(home, "repos", "mirror.git", "refs"), { recursive: true });
    writeFileSync(join(home, "secrets-key"), secretsKey, { mode: 0o600 });

    test("is taken under load, verifies, and restores to a consistent organization", async () => {
      const made = await during(place("home"), async (client) => {
        const filled = await fillCompany(client);
        const load = startLoad(client, filled);
        try {
          await load.until(rowsBefore);
          const before = load.created();
          if (source !== undefined) await addNode(source, "beta", "http://10.0.0.6:4600");
          const { problems, says } = await backUp(place("home"), file);
          assert.deepEqual(problems, []);
          // The folders of the other node are on its machine. The own node is not named.
          const lacks = says.filter((each) => each.includes("this node only"));
          if (source === undefined) assert.deepEqual(lacks, []);
          else
            assert.match(
              lacks.join("\n"),
              /lacks those of beta \(http:\/\/10\.0\.0\.6:4600\)\. Copy the folders/,
            );
          return { ...filled, before, after: load.created() };
        } finally {
          await load.end();
        }
      });
      assert.ok(
        made.after >= made.before + writers,
        `the clients wrote ${made.after - made.before} outcomes and files while the backup was taken`,
      );
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(`${file}.key`).mode & 0o777, 0o600);
      assert.equal(readFileSync(`${file}.key`, "utf8"), readFileSync(join(home, "audit-key"), "utf8"));
      const restored = place("restored", target);
      const done = await restoreBackup(restored, file);
      assert.deepEqual(done.problems, []);
      assert.equal(readFileSync(join(restored.home, "transcripts", "one.jsonl"), "utf8"), "{}\n");
      assert.ok(existsSync(join(restored.home, "repos", "mirror.git", "refs")));
      assert.equal(statSync(join(restored.home, "audit-key")).mode & 0o777, 0o600);
      await during(restored, async (client) => {
        await isIntact(client, made);
        // The backup shows one moment while the clients wrote.
        const found = await countLoad(client, made.companyId);
        assert.ok(
          found >= made.before && found <= made.after + writers,
          `${found} of ${made.before} to ${made.after}`,
        );
      });
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

    test("is refused if a byte has changed, if it was cut, and without its key", async () => {
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
      // A daemon refuses an incomplete copy.
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

    test("a restore beside it removes no file of a home that is still used", async () => {
      const used = join(folder, "used");
      const empty = await testDatabase();
      try {
        const made = await during({ home: used }, fillCompany);
        const log = join(used, "transcripts", "one.jsonl");
        mkdirSync(join(used, "transcripts"), { recursive: true });
        writeFileSync(log, "{}\n");
        const file = join(folder, "used.backup");
        await backUp({ home: used }, file);
        const stop = (line: string) => assert.notEqual(line, "outcomes", "interrupted");
        await assert.rejects(migrate({ home: used, say: stop }, empty.url), /interrupted/);
        const refused = /already has data/;
        const other = { home: used, databaseUrl: empty.url };
        assert.match((await refusalOf(restoreBackup(other, file)))?.message ?? "", refused);
        assert.equal(readFileSync(log, "utf8"), "{}\n");
        // The same in the other direction, and a restore that was interrupted before the home was used.
        writeFileSync(join(used, "restoring"), "");
        await during({ home: used }, (client) => isIntact(client, made));
        assert.match((await refusalOf(restoreBackup(other, file)))?.message ?? "", refused);
        await migrate({ home: used }, empty.url);
        rmSync(join(used, "database-url"));
        await assert.rejects(migrate({ ...other, say: stop }, "sqlite"), /interrupted/);
        assert.match((await refusalOf(restoreBackup({ home: used }, file)))?.message ?? "", refused);
        assert.equal(readFileSync(log, "utf8"), "{}\n");
        await during(other, (client) => isIntact(client, made));
      } finally {
        await empty.drop();
      }
    });

    describe("of a database that other nodes may use", async () => {
      const shared = await testDatabase();
      after(() => shared.drop());
      const own = join(folder, "own");
      const other = join(folder, "other");
      const auditKey = "the audit key of both nodes, thirty-two characters";
      const place = { home: own, auditKey };
      const beside = { home: other, auditKey, databaseUrl: shared.url };
      let made: Awaited<ReturnType<typeof fillCompany>>;
      const write = (client: Client, title: string) =>
        client.call(createOutcome, { companyId: made.companyId, title, parents: [made.root] });
      const refuses = async (moving: Promise<unknown>, says: RegExp) => {
        const refusal = await refusalOf(moving);
        assert.match(refusal?.message ?? "moved", says);
        assert.match(refusal?.hint ?? "", /Stop /);
        assert.ok(existsSync(join(own, "database-url")));
      };

      test("is refused while another node runs, and does not count its own home or a silent node", async () => {
        made = await during(place, fillCompany);
        await migrate(place, shared.url);
        await during(beside, async (client) => {
          await refuses(migrate(place, "sqlite"), /Other nodes use this database: \S+ \(http:.*\)/);
          await write(client, "After the refusal");
        });
        // Two killed nodes left their rows: one of this home, and one elsewhere a long time ago.
        await during({ ...place, databaseUrl: shared.url }, async () => undefined);
        const client = new pg.Client(shared.url);
        await client.connect();
        const leave = (id: string, secondsAgo: number) =>
          client.query(
            `insert into nodes (id, name, address, version, brains, lacks, started_at, heartbeat)
             select $1, 'gamma', 'http://gamma:4600', '0.1.0', '[]', '[]', now.ms, now.ms
             from (select (extract(epoch from clock_timestamp()) * 1000)::bigint - $2 * 1000 as ms) now`,
            [id, secondsAgo],
          );
        await leave(crypto.randomUUID(), 2);
        await refuses(
          migrate(place, "sqlite"),
          /Other nodes use this database: gamma \(http:\/\/gamma:4600\)/,
        );
        await client.query("delete from nodes");
        await leave(readFileSync(join(own, "node-id"), "utf8"), 2);
        await leave(crypto.randomUUID(), 60);
        await client.end();
        await migrate(place, "sqlite");
        await during(place, (board) => isIntact(board, made));
      });

      test("is refused if a node wrote after the copy began", async () => {
        const empty = await testDatabase();
        try {
          await migrate(place, empty.url);
          const beside2 = { ...beside, databaseUrl: empty.url };
          const say = async (line: string) => {
            if (line === "outcomes")
              await during(beside2, async (client) => void (await write(client, "Late")));
          };
          await refuses(migrate({ ...place, say }, "sqlite"), /changed while they were copied/);
          await migrate(place, "sqlite");
          await during(place, async (client) => {
            const { companyId } = made;
            const { outcomes } = await client.call(listOutcomes, { companyId, limit: 100 });
            assert.ok(outcomes.some(({ title }) => title === "Late"));
          });
        } finally {
          await empty.drop();
        }
      });

      test("continues with its last steps, in both directions", async () => {
        const empty = await testDatabase();
        const stop = { ...place, say: (line: string) => assert.notEqual(line, "finished", "interrupted") };
        const kept = () => readdirSync(own).filter((name) => name.startsWith("moved-")).length;
        try {
          const before = kept();
          await assert.rejects(migrate(stop, empty.url), /interrupted/);
          assert.ok(!existsSync(join(own, "database-url")));
          const there = await migrate(place, empty.url);
          assert.deepEqual([there.rows, there.to, kept()], [0, "postgres", before + 1]);
          // The address is written, and the old files are still in place.
          renameSync(there.kept ?? "", join(own, "moving"));
          renameSync(join(own, "moving", "agency.db"), join(own, "agency.db"));
          const again = await migrate(place, empty.url);
          assert.ok(existsSync(join(again.kept ?? "", "agency.db")));
          assert.deepEqual([existsSync(join(own, "agency.db")), kept()], [false, before + 1]);
          assert.match(
            (await refusalOf(migrate(place, empty.url)))?.message ?? "",
            /already in this database/,
          );
          await assert.rejects(migrate(stop, "sqlite"), /interrupted/);
          assert.equal((await migrate(place, "sqlite")).rows, 0);
          // If the source has changed since, a finished copy does not count as a copy of it.
          await during(place, (client) => write(client, "Newer"));
          assert.match((await refusalOf(migrate(place, empty.url)))?.message ?? "", /already has data/);
          await during(place, (client) => isIntact(client, made));
        } finally {
          await empty.drop();
        }
      });
    });
  });

test("a backup takes only what is in the home itself, also if a link or a pipe has replaced it meanwhile", async () => {
  const home = mkdtempSync(join(tmpdir(), "agency-links-"));
  try {
    const [own, elsewhere] = [join(home, "homes"), join(home, "disk")];
    mkdirSync(join(own, "real"), { recursive: true });
    writeFileSync(join(own, "real", "file"), "inside");
    writeFileSync(join(home, "board-token"), "secret");
    symlinkSync(join(home, "board-token"), join(own, "link"));
    symlinkSync(home, join(own, "folder"));
    execFileSync("mkfifo", [join(own, "pipe")]);
    const socket = createServer().listen(join(own, "socket"));
    await once(socket, "listening");
    // The person has put a folder of the home on another disk.
    mkdirSync(join(elsewhere, "deeper"), { recursive: true });
    writeFileSync(join(elsewhere, "deeper", "file"), "inside as well");
    symlinkSync(elsewhere, join(home, "transcripts"));
    const lines: unknown[] = [];
    const put = async (line: unknown): Promise<void> => void lines.push(line);
    for (const path of ["link", join("folder", "board-token"), "pipe", "socket", "absent"])
      assert.equal(await putFile(home, join("homes", path), put), false, path);
    assert.deepEqual(lines, []);
    assert.equal(await putFile(home, join("homes", "real", "file"), put), true);
    assert.equal(await putFile(home, join("transcripts", "deeper", "file"), put), true);
    assert.equal(lines.length, 2);
    socket.close();
  } finally {
    rmSync(home, { recursive: true });
  }
});
