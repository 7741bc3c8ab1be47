import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { listCompanies } from "../contract/companies.ts";
import { createFile } from "../contract/knowledge.ts";
import { createClient } from "../client/client.ts";
import { openSqlite } from "../store/sqlite.ts";
import { openCommandLine } from "../testing/command-line.ts";
import { ageEvents } from "../testing/old-events.ts";

/** The rules of exported months are tested in events/removed.db.test.ts. */
test("agency audit export writes a month, removes it on request, and agency audit verify checks the file", async () => {
  const line = await openCommandLine();
  after(() => line.close());
  const { env, folder } = line;
  const client = createClient(line.daemon);
  const [company] = (await client.call(listCompanies, {})).companies;
  const companyId = company?.id ?? "";
  await client.call(createFile, { companyId, description: "notes", content: "old" });
  const home = env["AGENCY_HOME"] ?? "";
  const key = readFileSync(join(home, "audit-key"), "utf8").trim();
  const store = openSqlite({ path: join(home, "agency.db"), clock: Date.now, key });
  await ageEvents(store, companyId);
  await store.close();

  const file = join(folder, "2020-01.ledger");
  const month = ["audit", "export", "--month", "2020-01", "--to", file];
  assert.match(
    (await line.agency("audit", "export", "--month", "2020", "--to", file)).err,
    /a month, such as/,
  );
  const made = await line.agency(...month);
  assert.equal(made.code, 0, made.err);
  assert.match(made.out, /^Exported \d+ events? to .*2020-01\.ledger \(\d+ kB\)\.$/m);
  const again = await line.agency(...month);
  assert.equal(again.code, 1);
  assert.match(again.err, /exists already\. Nothing was written\.\nChoose another path with --to\.$/);
  const verified = await line.agency("audit", "verify", file);
  assert.match(verified.out, /^\d+ events? of 2020-01 verified$/);
  const without = { ...env, AGENCY_HOME: join(folder, "nothing") };
  writeFileSync(join(folder, "key"), `${key}\n`);
  Object.assign(env, { AGENCY_HOME: without.AGENCY_HOME });
  assert.match((await line.agency("audit", "verify", file)).err, /can't be checked without the audit key/);
  assert.equal((await line.agency("audit", "verify", file, "--audit-key", join(folder, "key"))).code, 0);
  Object.assign(env, { AGENCY_HOME: home });

  const removed = await line.agency(...month, "--remove");
  assert.equal(removed.code, 0, removed.err);
  assert.match(
    removed.out,
    /^Removed \d+ events? from the database\. .* Keep the file: it has the only copy\.$/m,
  );
  assert.doesNotMatch(removed.out, /Exported/, "the file is used as it is");
  const shown = await line.agency("audit", "events");
  assert.match(shown.out, /2020-01\.ledger/);
  const gone = await line.agency("audit", "export", "--month", "2020-01", "--to", join(folder, "other"));
  assert.match(gone.err, /were exported to 2020-01\.ledger and removed/);
});
