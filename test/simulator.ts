// The simulator as a test. Four files run in parallel, and each takes a quarter of the seeds.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, simulate } from "../src/simulator/simulate.ts";
import { byLength, campaign } from "../src/testing/run-length.ts";
import { seedsOf } from "../src/testing/seeds.ts";

/** Runs without faults turn off the scheduler's sweep. They find events that should wake an agent but don't. */
const counts = {
  simulator: campaign({ quick: 12, whole: 72, long: 200 }),
  calm: campaign({ quick: 4, whole: 16, long: 20 }),
};
/** Many short runs begin in more different ways than a few long ones. Some run for longer. */
const steps = byLength({ quick: 150, whole: 150, long: 1000 });
const longSteps = byLength({ quick: 500, whole: 500, long: 1000 });
const longEvery = 20;
const seedsPerTest = byLength({ quick: 5, whole: 10, long: 25 });

export function testQuarter(part: 1 | 2 | 3 | 4): void {
  for (const suite of ["simulator", "calm"] as const) testSeeds(suite, part);
}

function testSeeds(suite: "simulator" | "calm", part: number): void {
  const seeds = seedsOf(suite, counts[suite], { part, parts: 4 });
  const happened = new Map<string, number>();
  describe(`the simulated organization (${suite}), part ${part} of 4`, () => {
    for (let from = 0; from < seeds.length; from += seedsPerTest)
      test(`keeps every rule for ${steps} steps or more and comes to rest, from seed number ${from + 1}`, async () => {
        for (const seed of seeds.slice(from, from + seedsPerTest)) {
          const length = seed % longEvery === 0 ? longSteps : steps;
          const { failure, counts: counted } = await simulate(seed, length, { calm: suite === "calm" });
          assert.equal(failure, null, failure === null ? "" : describeFailure(failure, seed));
          for (const [what, times] of Object.entries(counted))
            happened.set(what, (happened.get(what) ?? 0) + times);
        }
      });
    // A shorter run may miss some kinds of event.
    if (seeds.length >= 50 && steps === longSteps && suite === "simulator")
      test("covers every action and every fault, at every step of a start", () => {
        const missing = expected.filter((what) => (happened.get(what) ?? 0) === 0);
        assert.deepEqual(missing, []);
      });
  });
}

const stepsOfAStart = ["intent", "intended", "spawned", "recorded", "exited", "delivery", "delivered"];

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
  "agent.hire",
  "agent.request",
  "agent.wait_for_approval",
  "approval.approve",
  "approval.reject",
  "approval.request_revision",
  "approval.resubmit",
  "approval.cancel",
  "approval.comment",
  "goal.create",
  "outcome.decide",
  "mail.cancel",
  "company.freeze",
  "company.thaw",
  "company.archive",
  "company.unarchive",
  "person.create",
  "person.link",
  "person.sign_in",
  "person.sign_out",
  "person.update",
  "person.remove",
  "agent.update",
]
  .map((operation) => `${operation} ok`)
  .concat(
    [
      "outcome.create",
      "outcome.complete",
      "outcome.delegate",
      "outcome.reclaim",
      "mail.send",
      "approval.approve",
      "outcome.decide",
      "mail.cancel",
      "person.sign_in",
    ].map((operation) => `${operation} refused`),
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
      "continues → done",
      "at once",
      "a process hangs",
      "exited with code 0",
      "exited with code 1",
    ],
    stepsOfAStart.flatMap((step) => [`doom: crash at ${step}`, `doom: pause at ${step}`]),
    ["crash", "crash after", "pause", "fail", "lost"].map((what) => `doom: ${what} at a write`),
  );
