// Is the simulator what it should be? The same every time, and full of events.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { simulate } from "../src/simulator/simulate.ts";

const isLong = process.env["AGENCY_TEST_LONG"] === "1";
const isQuick = process.env["AGENCY_TEST_STORES"] === "sqlite";

describe("the simulator", () => {
  test("does the same for the same seed, to the last line", async () => {
    for (let seed = 1; seed <= (isLong ? 200 : isQuick ? 5 : 20); seed++) {
      const [first, second] = [await simulate(seed, 200), await simulate(seed, 200)];
      assert.equal(second.hash, first.hash, `seed ${seed}`);
      assert.deepEqual(second.counts, first.counts);
    }
  });

  test("does something else for another seed", async () => {
    const runs = [];
    for (let seed = 1; seed <= 5; seed++) runs.push(await simulate(seed, 50));
    assert.equal(new Set(runs.map(({ hash }) => hash)).size, 5);
  });

  test("says at which step a rule broke, and how to do it again", async () => {
    // Nothing breaks here; a run without steps only founds the company and comes to rest.
    const run = await simulate(7, 0);
    assert.equal(run.failure, null);
    assert.match(run.hash, /^[0-9a-f]{64}$/);
    assert.ok(run.lines > 0);
  });

  test("lets everything happen: every deed, every fault, at every step of a start", async () => {
    const counts = new Map<string, number>();
    for (let seed = 1; seed <= 24; seed++)
      for (const [what, count] of Object.entries((await simulate(seed, 500)).counts))
        counts.set(what, (counts.get(what) ?? 0) + count);
    const missing = expected.filter((what) => (counts.get(what) ?? 0) === 0);
    assert.deepEqual(missing, []);
  });
});

const steps = ["intent", "intended", "spawned", "recorded", "exited", "delivery", "delivered"];

const expected = [
  "company.update",
  "agent.create",
  "agent.pause",
  "agent.resume",
  "agent.wakeup",
  "agent.terminate",
  "outcome.create",
  "outcome.update",
  "outcome.submit",
  "outcome.complete",
  "outcome.close",
  "outcome.reopen",
  "outcome.delegate",
  "outcome.reclaim",
  "mail.send",
  "mail.send_deferred",
  "mail.read_inbox",
  "mail.acknowledge",
  "knowledge.create",
  "knowledge.read",
  "knowledge.write",
  "permission.grant",
  "permission.revoke",
  "permission.request",
  "session.submit_summary",
  "agent.set_budget",
]
  .map((operation) => `${operation} ok`)
  .concat(
    ["outcome.create", "outcome.complete", "outcome.delegate", "outcome.reclaim", "mail.send"].map(
      (operation) => `${operation} refused`,
    ),
    ["outcome.create", "mail.send", "mail.acknowledge", "knowledge.write"].map(
      (operation) => `${operation} lost`,
    ),
    ["ticks → crashed", "ticks → paused", "ticks → failed", "starts → crashed", "starts → failed"],
    [
      "learns of an exit → down",
      "learns of an exit → paused",
      "node crashes",
      "node is paused",
      "node stops",
    ],
    [
      "a report of usage",
      "goes on → done",
      "at once",
      "a process hangs",
      "it exited with 0",
      "it exited with 1",
    ],
    steps.flatMap((step) => [`doom: crash at ${step}`, `doom: pause at ${step}`]),
    ["crash", "crash after", "pause", "fail", "lost"].map((what) => `doom: ${what} at a write`),
  );
