import { test } from "node:test";
import { killWhileAgentsWork } from "./support/living-kills.ts";

// Half of a hundred kills; the other half is in the file beside this one, so that both run side by side.
const kills = process.env["AGENCY_TEST_LONG"] === "1" ? 500 : 50;

test("kill -9 while agents work: one accepted session each, no orphan, no stale write, nothing lost or doubled", (t) =>
  killWhileAgentsWork(t, { kills, sandbox: "off" }));
