import assert from "node:assert/strict";
import { test } from "node:test";
import { openCommandLine } from "../testing/command-line.ts";

test("agency secrets: the value comes from standard input and is never printed", async (context) => {
  const line = await openCommandLine();
  context.after(() => line.close());
  const set = await line.agency("secrets", "set", "API_KEY");
  assert.equal(set.code, 0, set.err);
  assert.match(set.out, /^API_KEY is set until the daemon stops, because there is no secrets key\./);
  for (const given of [["API_KEY", "in-an-argument"], ["API_KEY=in-an-argument"]]) {
    const refused = await line.agency("secrets", "set", ...given);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /never an argument[^]*agency secrets set API_KEY` and type the value/);
    assert.doesNotMatch(refused.err, /in-an-argument/);
  }
  assert.equal((await line.agency("secrets", "set", "not a name")).code, 2);
  const config = JSON.stringify({
    command: "true",
    env: { KEY: { secret: "API_KEY" }, OTHER: { secret: "OTHER" } },
  });
  const hired = await line.agency(
    "agents",
    "create",
    "Ada",
    "--role",
    "x",
    "--adapter-type",
    "process",
    "--adapter-config",
    config,
  );
  assert.equal(hired.code, 0, hired.err);
  const { secrets } = await line.json("secrets", "list");
  assert.deepEqual(secrets, [
    { name: "API_KEY", generated: false, status: "available", kept: "memory", usedBy: ["Ada"] },
    { name: "OTHER", generated: false, status: "missing", kept: "memory", usedBy: ["Ada"] },
  ]);
  const doctor = await line.agency("doctor");
  assert.match(doctor.out, /^warn +secrets +Missing: OTHER of Acme, which Ada waits for\./m);
  assert.equal((await line.agency("secrets", "remove", "API_KEY")).code, 0);
  assert.match((await line.agency("why", "ada")).out, /the secrets API_KEY, OTHER of its brain are missing/);
  const { out } = await line.agency("audit", "events");
  assert.match(out, /secret\.set/);
  assert.doesNotMatch(set.out + doctor.out + out, /from standard input/);
});
