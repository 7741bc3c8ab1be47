// Two versions of Agency on one PostgreSQL, as during an update. The newer one is a copy of the sources with another version and
// two more migrations: one that adds a table, and one after which the older version can't work.
import assert from "node:assert/strict";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createFile, readFile } from "../src/contract/knowledge.ts";
import { createDatabase, startPostgres } from "../src/testing/postgres.ts";
import { agency, type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The sources as version 99.0.0. */
function newerVersion(folder: string): string {
  for (const name of ["src", "skills", "package.json"])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  change(join(folder, "package.json"), /"version": "[^"]+"/, '"version": "99.0.0"');
  change(
    join(folder, "src/store/migrations.ts"),
    "const migrations: readonly Migration[] = [",
    `const migrations: readonly Migration[] = [
  { name: "0002-more", statements: () => ["create table more (id text primary key)"] },
  { name: "0003-less needs 99.0.0", statements: () => ["create table less (id text primary key)"] },`,
  );
  return join(folder, "src/cli/main.ts");
}

function change(file: string, find: string | RegExp, replace: string): void {
  const before = readFileSync(file, "utf8");
  const after = before.replace(find, replace);
  assert.notEqual(after, before, file);
  writeFileSync(file, after);
}

test("an older and a newer node work beside each other until the data needs the newer one", async () => {
  const server = await startPostgres();
  const database = await createDatabase(server.url);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const applied = async (): Promise<string[]> =>
    (await client.query<{ name: string }>("select name from migrations order by name")).rows.map(
      ({ name }) => name,
    );
  const folders = [temporaryFolder("older"), temporaryFolder("newer"), temporaryFolder("version")] as const;
  const env = { AGENCY_AUDIT_KEY: "one key that seals the ledger on all nodes", AGENCY_AGENTS: "off" };
  const running: BuiltDaemon[] = [];
  try {
    const [olderHome, newerHome, version] = folders;
    const older = { home: olderHome.path, databaseUrl: database.url, env };
    const newer = {
      home: newerHome.path,
      databaseUrl: database.url,
      env,
      command: [process.execPath, newerVersion(version.path)] as const,
    };
    const start = async (options: Parameters<typeof startDaemon>[0]): Promise<BuiltDaemon> => {
      const daemon = await startDaemon(options).ready;
      running.push(daemon);
      return daemon;
    };
    let old = await start(older);
    let fresh = await start(newer);
    assert.deepEqual(
      await applied(),
      ["0001-foundation", "0002-more"],
      "what contracts waits for the older node",
    );
    const { companyId } = old;
    const both = async (): Promise<void> => {
      for (const [writer, reader] of [
        [old, fresh],
        [fresh, old],
      ] as const) {
        const { id } = await writer.board.call(createFile, {
          companyId,
          description: "Note",
          content: "kept",
        });
        assert.equal((await reader.board.call(readFile, { id })).content, "kept");
      }
    };
    await both();
    await old.stop();
    old = await start(older);
    await both();
    const audit = await agency(["audit", "verify"], newer);
    assert.equal(audit.code, 0, audit.out + audit.err);

    await old.stop();
    await fresh.stop();
    fresh = await start(newer);
    assert.deepEqual(await applied(), ["0001-foundation", "0002-more", "0003-less needs 99.0.0"]);
    const refused = await agency(["up", "--port", "0"], older);
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      /^The data needs Agency 99\.0\.0 or newer\. This is Agency \S+\.\nInstall it: npm install --global agency@99\.0\.0\./m,
    );
    await fresh.board.call(createFile, { companyId, description: "Note", content: "after" });
  } finally {
    for (const daemon of running) await daemon.kill();
    await client.end();
    await server.stop();
    for (const folder of folders) folder.remove();
  }
});
