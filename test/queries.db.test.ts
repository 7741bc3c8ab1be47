// Both databases accept every query of the product: its tables, columns, types and syntax. The two stores differ mostly in
// these. So most other suites use only one store in a whole run.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { z } from "zod";
import { openPostgres } from "../src/store/postgres.ts";
import { openSqlite } from "../src/store/sqlite.ts";
import { bothStores } from "../src/testing/organization.ts";
import { togetherOf } from "../src/store/waves.ts";
import { storeDatabase } from "../src/testing/postgres.ts";

const { stdout } = await promisify(execFile)(
  process.execPath,
  [join(import.meta.dirname, "collect-queries.ts")],
  { maxBuffer: 100_000_000 },
);
const queries = z.array(z.object({ sqlite: z.string(), postgres: z.string() })).parse(JSON.parse(stdout));

/** Tables that only this store has. A query on one of them is never run on the other. */
const ownTables = { sqlite: /\bsearch_docsize\b/, postgres: /(?!)/ };
const prepareOn = { sqlite: prepareOnSqlite, postgres: prepareOnPostgres };

for (const kind of bothStores)
  test(`every query can be prepared on ${kind}`, async (t) => {
    assert.ok(queries.length > 300, `only ${queries.length} queries`);
    t.diagnostic(`${queries.length} queries`);
    const foreign = ownTables[kind === "sqlite" ? "postgres" : "sqlite"];
    const texts = new Set(queries.map((query) => query[kind]).filter((text) => !foreign.test(text)));
    assert.deepEqual(await prepareOn[kind]([...texts]), []);
  });

test("a query that the database rejects is reported", async () => {
  for (const kind of bothStores) {
    const [told = ""] = await prepareOn[kind](["select 1", "select nothing from agents"]);
    assert.match(told, /nothing[^]*select nothing from agents/);
  }
});

/** The database's errors for these queries. */
async function prepareOnSqlite(texts: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "agency-test-"));
  const path = join(folder, "agency.db");
  await openSqlite({ path, clock: Date.now }).close();
  const db = new DatabaseSync(path);
  try {
    return texts.flatMap((text) => {
      try {
        db.prepare(text);
        return [];
      } catch (error) {
        return [`${String(error)}\n${text}`];
      }
    });
  } finally {
    db.close();
    rmSync(folder, { recursive: true });
  }
}

async function prepareOnPostgres(texts: readonly string[]): Promise<string[]> {
  const database = await storeDatabase();
  await (await openPostgres({ url: database.url })).close();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const problems: string[] = [];
  try {
    const prepare = (name: string, text: string) =>
      client
        .query(`prepare ${name} as ${text}`)
        .catch((error: unknown) => problems.push(`${String(error)}\n${text}`));
    for (const [number, text] of texts.entries()) await prepare(`query_${number}`, text);
    // Reads are also made together with others that have the same text (store/waves.ts).
    const { rows } = await client.query<{ number: number; types: string[] }>(
      "select substr(name, 7)::integer as number, parameter_types::text[] as types from pg_prepared_statements where name like 'query_%'",
    );
    for (const { number, types } of rows) {
      const text = texts[number] ?? "";
      const values = types.map((type) =>
        type === "bytea" ? null : /int|numeric|double|real/.test(type) ? 0 : "",
      );
      const several = togetherOf(text, values);
      if (several !== undefined && !/\b(?:insert into|update|delete from)\s/.test(text))
        await prepare(`together_${number}`, several);
    }
  } finally {
    await client.end();
    await database.drop();
  }
  return problems;
}
