import { describe, test } from "node:test";
import { bothStores } from "../src/testing/organization.ts";
import { sampleOf } from "../src/testing/seeds.ts";
import { dieOnTheWay } from "./support/steps.ts";

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
/** The same for later sessions. */
const further = [
  "intended",
  "spawned",
  "recorded",
  "exited",
  "before session.end",
  "after session.end",
].flatMap((step) => [`${step}#2`, `${step}#3`]);

const ways = [...steps, ...further, ...mail].flatMap((step) => bothStores.map((store) => ({ store, step })));

describe(
  "a daemon that dies while sessions start and end, and while mail is on its way",
  { concurrency: 2 },
  () => {
    for (const { store, step } of sampleOf(ways, 6))
      test(`on ${store} at "${step}" is followed by one that brings it to its end`, () =>
        dieOnTheWay(store, step));
  },
);
