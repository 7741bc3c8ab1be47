import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { createCompany } from "../contract/companies.ts";
import { duringDaemon } from "../testing/daemons.ts";
import { openCommandLine } from "../testing/command-line.ts";

const Health = z.object({ status: z.string(), error: z.object({ code: z.string() }).optional() });

describe("choosing a company", async () => {
  const line = await openCommandLine();
  after(() => line.close());
  const { env } = line;
  const shown = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await line.agency(...args);
    assert.equal(code, 0, err);
    return out;
  };
  const named = async (...args: string[]): Promise<string> =>
    String((await line.json("companies", "view", ...args))["name"]);

  test("--company comes first, then AGENCY_COMPANY, then agency use", async () => {
    assert.equal(await named(), "Acme");
    await shown("companies", "create", "Bread & Butter");
    const { code, err } = await line.agency("org");
    assert.equal(code, 2);
    assert.match(
      err,
      /There are several companies, and the command names none\.\n.*Companies here: Acme \(\S+\), Bread & Butter \(/,
    );
    for (const wanted of ["Bread & Butter", "bread & butter", "bread-butter"])
      assert.equal(await named("--company", wanted), "Bread & Butter");
    const id = String((await line.json("companies", "view", "--company", "acme"))["id"]);
    assert.equal(await named("--company", id), "Acme");
    const wrong = await line.agency("org", "--company", "nope");
    assert.match(wrong.err, /^There is no company called "nope"\.\nCompanies here: Acme/);
    assert.match(await shown("use", "bread-butter"), /^Commands now use Bread & Butter\./);
    assert.equal(await named(), "Bread & Butter");
    assert.match(await shown("use"), /^Commands use Bread & Butter\.\n\nName .*State/);
    Object.assign(env, { AGENCY_COMPANY: "acme" });
    assert.equal(await named(), "Acme");
    assert.equal(await named("--company", "bread-butter"), "Bread & Butter");
    Object.assign(env, { AGENCY_COMPANY: "" });
    assert.equal(await named(), "Bread & Butter");
    assert.equal((await line.agency("use", "nope")).code, 2);
    assert.equal(await named(), "Bread & Butter");
    // Both companies have a root agent. That of the chosen company is meant.
    assert.match(await shown("agents", "view", "root"), /^Root \(CEO\)/);
    await shown("use", "--none");
    assert.match((await line.agency("agents", "view", "root")).err, /Several agents are called "root"/);
    assert.match(await shown("agents", "view", "root", "--company", "acme"), /^Root \(CEO\)/);
  });

  test("freeze, thaw and archive by name", async () => {
    await shown("companies", "create", "Old");
    assert.match(
      await shown("freeze", "--company", "old", "--reason", "audit"),
      /^Old is frozen: no session/,
    );
    assert.match(await shown("org", "--company", "old"), /^Old is frozen \(audit\)\. No agent works until/);
    assert.match(await shown("why", "root", "--company", "old"), /^Stuck\. Old is frozen \(audit\)/);
    assert.match(await shown("thaw", "--company", "old"), /^Old works again\./);
    await shown("companies", "archive", "old");
    assert.doesNotMatch(await shown("companies", "list"), /Old/);
    assert.match(await shown("companies", "list", "--archived"), /Old .*archived/);
    assert.match(
      (await line.agency("send", "hello", "--company", "old")).err,
      /^Old is archived, so it can only be read\.\nTake it out of the archive first: agency companies unarchive "Old"\.$/,
    );
    assert.match(
      await shown("companies", "unarchive", "old"),
      /^Old is out of the archive, and still frozen/,
    );
    assert.match(
      await shown("companies", "archive", "--help"),
      /Usage: agency companies archive \[options\] <company>/,
    );
  });
});

test("GET /api/health answers 200 once there is a company", async () => {
  const home = mkdtempSync(join(tmpdir(), "agency-health-"));
  try {
    await duringDaemon({ home }, async (daemon) => {
      const health = async () => {
        const response = await fetch(`${daemon.url}/api/health`);
        return { status: response.status, body: Health.parse(await response.json()) };
      };
      const before = await health();
      assert.equal(before.status, 503);
      assert.equal(before.body.error?.code, "unavailable");
      await createClient(daemon).call(createCompany, { name: "Acme" });
      assert.deepEqual([(await health()).status, (await health()).body.status], [200, "ok"]);
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
