import { describe, test } from "node:test";
import { storeKinds } from "../src/testing/organization.ts";
import { dieOnTheWay } from "./support/steps.ts";

const isLong = process.env["AGENCY_TEST_LONG"] === "1";

/** Steps of the scheduler, and the transactions of a session's life. */
const steps = [
  "intent",
  "before session.start",
  "intended",
  "spawned",
  "recorded",
  "recorded#2",
  "exited",
  "before session.end",
  "after session.end",
  "before session.submit_summary",
  "after session.submit_summary",
  "after knowledge.create",
];
const mail = [
  "before mail.send",
  "after mail.send",
  "delivery",
  "before mail.deliver#2",
  "delivered",
  "before mail.acknowledge",
  "after mail.acknowledge",
];
/** Also for the sessions that come later on the way. */
const further = [
  "intended",
  "spawned",
  "recorded",
  "exited",
  "before session.end",
  "after session.end",
].flatMap((step) => [`${step}#2`, `${step}#3`]);

for (const store of storeKinds) {
  describe(`a daemon on ${store} that dies while sessions start and end`, { concurrency: 2 }, () => {
    for (const step of isLong ? [...steps, ...further] : steps)
      test(`at "${step}" is followed by one that brings it to its end`, () => dieOnTheWay(store, step));
  });

  describe(`a daemon on ${store} that dies while mail is on its way`, { concurrency: 2 }, () => {
    for (const step of mail)
      test(`at "${step}" is followed by one that brings it to its end`, () => dieOnTheWay(store, step));
  });
}
