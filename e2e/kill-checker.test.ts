// Tests the checker of kill.test.ts on a sound store, and on copies of it with one kind of damage each.
import assert from "node:assert/strict";
import { cpSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { Arena } from "./support/arena.ts";
import { acknowledges, startLoad } from "./support/campaign.ts";
import { check } from "./support/checker.ts";
import { temporaryFolder } from "./support/daemon.ts";
import { type FileAttempt, History } from "./support/history.ts";
import { Random } from "./support/random.ts";
import { sqliteTables } from "./support/tables.ts";
import { Writer } from "./support/writers.ts";

const folder = temporaryFolder("checker");
const sound = join(folder.path, "sound");
const earlier = join(folder.path, "earlier");
const history = new History();

/** A sound store, and the same store one write earlier. */
before(async () => {
  const arena = new Arena({ home: sound, env: { AGENCY_AGENTS: "off" } });
  try {
    const random = new Random(1);
    await arena.start();
    const load = await startLoad(arena, random, history);
    await acknowledges(history, 300);
    await load.stop();
    await arena.stop();
    cpSync(sound, earlier, { recursive: true });
    const { companyId, token } = await arena.start();
    const parts = { arena, history, random, companyId, token, parentId: "", shared: [], pause: 0 };
    const writer = new Writer({ ...parts, name: "z" });
    assert.ok((await writer.createFile()) !== undefined);
    await arena.stop();
  } finally {
    await arena.end();
  }
});

after(() => folder.remove());

test("the checker finds no problem in a sound store", async () => {
  assert.deepEqual(await problemsOf(sound), []);
});

test("a write that was acknowledged and is gone without a trace is found", async () => {
  const last = history.files.at(-1);
  const problems = await problemsOf(earlier);
  assert.deepEqual(problems, [
    `${last?.label ?? ""} was acknowledged as version 1 of ${last?.saved?.id ?? ""} and is lost (nowhere)`,
  ]);
});

test("a version whose content is missing is found, also when it never was the newest", async () => {
  const { id } = overwritten();
  const home = copyOf(sound, (db) => db.prepare("delete from blobs where file_id = ?").run(id));
  for (const entry of readdirSync(join(home, "knowledge", id)).slice(0, 1))
    rmSync(join(home, "knowledge", id, entry));
  matches(await problemsOf(home), [/cannot be read/, /^version-content /]);
});

test("content that was written only in part is found", async () => {
  const name = readdirSync(join(sound, "knowledge"), { recursive: true, withFileTypes: true }).find((entry) =>
    entry.isFile(),
  );
  assert.ok(name !== undefined);
  const path = join(name.parentPath, name.name).slice(sound.length);
  const home = copyOf(sound);
  truncateSync(join(home, path), 5);
  matches(await problemsOf(home), [
    /version \d+ cannot be read \(The stored content of file .* was changed outside Agency/,
    /a file of content is not what its name says/,
    /^version-content /,
  ]);
});

test("a file that points to a version that is not there is found", async () => {
  const { id, version } = overwritten();
  const home = copyOf(sound, (db) =>
    db.prepare("delete from versions where file_id = ? and version = ?").run(id, version),
  );
  matches(await problemsOf(home), [/its history ends at/, /^file-versions /]);
});

test("a lost version is found, even if everything that points to it is lost too", async () => {
  const { id, version } = overwritten();
  const home = copyOf(sound, (db) => {
    db.prepare("delete from versions where file_id = ? and version = ?").run(id, version);
    db.prepare(
      `update files set (version, hash, size) =
         (select version, hash, size from versions where file_id = files.id order by version desc limit 1)
       where id = ?`,
    ).run(id);
  });
  matches(await problemsOf(home), [
    new RegExp(`was acknowledged as version ${version} of ${id} and is lost`),
    /\d+ versions are on record, \d+ are there/,
  ]);
});

test("a gap in the version numbers is found", async () => {
  const { id } = overwritten();
  const home = copyOf(sound, (db) =>
    db.prepare("delete from versions where file_id = ? and version = 1").run(id),
  );
  matches(await problemsOf(home), [/version 1 is missing/, /^file-versions /]);
});

test("an edited event is found and named", async () => {
  const home = copyOf(sound, (db) =>
    db.exec("update events set data = replace(data, '1', '2') where seq = 20 and company_id <> ''"),
  );
  matches(await problemsOf(home), [/audit verify: .*"seq":20/]);
});

test("an event that is missing at the end of the chain is found", async () => {
  const home = copyOf(sound, (db) =>
    db.exec(
      `delete from events where company_id <> '' and seq >= (select max(seq) from events where operation = 'knowledge.create')`,
    ),
  );
  matches(await problemsOf(home), [/0 versions are on record, 1 are there/]);
});

test("a write that happened twice is found", async () => {
  const { id } = overwritten();
  const twin = "00000000-0000-7000-8000-000000000000";
  const home = copyOf(sound, (db) => {
    db.exec(`insert into files (id, company_id, kind, description, media_type, version, hash, size, owner_id,
        created_at, updated_at, deleted_at)
      select '${twin}', company_id, kind, description, media_type, version, hash, size, owner_id, created_at,
        updated_at, deleted_at from files where id = '${id}'`);
    db.exec(`insert into versions select '${twin}', version, description, hash, size, author_kind, author_agent_id,
      author_session_id, author_person_id, created_at from versions where file_id = '${id}'`);
  });
  cpSync(join(home, "knowledge", id), join(home, "knowledge", twin), { recursive: true });
  matches(await problemsOf(home), [/had two effects/, /^search-entry /]);
});

test("a write that was refused but took effect is found", async () => {
  const attempt = acknowledged();
  attempt.verdict = "refused";
  try {
    matches(await problemsOf(sound), [new RegExp(`${attempt.label} was refused and is there`)]);
  } finally {
    attempt.verdict = "acknowledged";
  }
});

test("an outcome whose state differs from the acknowledged one is found", async () => {
  const home = copyOf(sound, (db) => {
    const changed = db
      .prepare(
        "update outcomes set status = 'open' where num = (select max(num) from outcomes where status = 'closed')",
      )
      .run();
    assert.equal(changed.changes, 1);
  });
  matches(await problemsOf(home), [
    /is not as its client left it: \["open"/,
    /its file does not show its state/,
    /^outcome-text /,
  ]);
});

test("an outcome that is gone is found", async () => {
  const home = copyOf(sound, (db) => {
    const last = "(select id from outcomes where kind = 'work' order by num desc limit 1)";
    db.exec(`delete from files where id = ${last}; delete from outcomes where id = ${last}`);
  });
  matches(await problemsOf(home), [/outcome \S+ was acknowledged and is lost/, /^version-file /]);
});

test("damage inside the database file is found", async () => {
  const home = copyOf(sound, (db) => {
    db.enableDefensive(false);
    // The index now claims to hold other rows than it does, as after a page that was never written.
    db.exec(`pragma writable_schema = on;
      update sqlite_schema set sql = replace(sql, 'is not null', 'is null') where name = 'events_agent'`);
  });
  matches(await problemsOf(home), [/integrity_check: .*(missing from|wrong # of entries in) index/]);
});

async function problemsOf(home: string): Promise<string[]> {
  const arena = new Arena({ home, env: { AGENCY_AGENTS: "off" } });
  try {
    const daemon = await arena.start();
    const tables = sqliteTables(home);
    try {
      return await check(daemon, arena.options, tables, history);
    } finally {
      await tables.close();
    }
  } finally {
    await arena.end();
  }
}

let copies = 0;

function copyOf(home: string, plant: (db: DatabaseSync) => void = () => undefined): string {
  const copy = join(folder.path, `copy-${(copies += 1)}`);
  cpSync(home, copy, { recursive: true });
  const db = new DatabaseSync(join(copy, "agency.db"));
  plant(db);
  db.close();
  return copy;
}

function matches(problems: readonly string[], wanted: readonly RegExp[]): void {
  for (const pattern of wanted)
    assert.ok(
      problems.some((problem) => pattern.test(problem)),
      `${String(pattern)} in:\n${problems.join("\n")}`,
    );
}

function acknowledged(): FileAttempt {
  const found = history.files.find(({ verdict }) => verdict === "acknowledged");
  assert.ok(found !== undefined);
  return found;
}

/** A file that has several versions, and its newest. */
function overwritten(): { id: string; version: number } {
  const newest = history.files
    .filter(({ verdict, base }) => verdict === "acknowledged" && base > 0)
    .map(({ saved }) => saved)
    .toSorted((a, b) => (b?.version ?? 0) - (a?.version ?? 0))[0];
  assert.ok(newest !== undefined);
  return { id: newest.id, version: newest.version };
}
