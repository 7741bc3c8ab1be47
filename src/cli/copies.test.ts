import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { openCommandLine } from "../testing/command-line.ts";

/** The rules of copies are tested in daemon/copies.db.test.ts. */
test("agency backup, restore and migrate say what they did and what to do next", async () => {
  const line = await openCommandLine();
  after(() => line.close());
  const { env, folder } = line;
  const agency = (...args: string[]) => line.agency(...args);
  const file = join(folder, "all.backup");
  const made = await agency("backup", file);
  assert.equal(made.code, 0, made.err);
  assert.match(made.out, /^Backed up \d+ rows and \d+ contents? to .*all\.backup \(\d+ kB\)\.$/m);
  assert.match(made.out, /The audit key is in .*all\.backup\.key\./);
  assert.match(made.out, /This home has no secrets key/);
  assert.equal((await agency("backup", file)).code, 1, "nothing is overwritten without --force");
  assert.equal((await agency("backup", file, "--force")).code, 0);
  const home = join(folder, "second");
  const done = await line.json("restore", file, "--home", home);
  assert.equal(done["home"], home);
  assert.deepEqual(done["problems"], []);
  const again = await agency("restore", file, "--home", home);
  assert.match(again.err, /already has data of Agency\.\nUse an empty folder/);
  const running = await agency("migrate", "--to", "postgres://nowhere/agency");
  assert.match(running.err, new RegExp(`Another daemon is running on ${env["AGENCY_HOME"]}`));
  assert.match((await agency("migrate", "--to", "mysql://x")).err, /`mysql:\/\/x` is not a place for data/);
  assert.match((await agency("migrate", "--to", "sqlite", "--home", home)).err, /already in SQLite/);
  assert.match((await agency("backup", "--home", join(folder, "nothing"))).err, /has no data of Agency yet/);
});
