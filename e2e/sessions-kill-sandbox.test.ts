import assert from "node:assert/strict";
import { test } from "node:test";
import { sandboxWorks } from "../src/processes/sandbox.ts";
import { killWhileAgentsWork } from "./support/living-kills.ts";

const kills = process.env["AGENCY_TEST_LONG"] === "1" ? 200 : 15;

if (sandboxWorks())
  test("kill -9 while agents work in a sandbox: their processes end with the daemon", (t) =>
    killWhileAgentsWork(t, { kills, sandbox: "on", store: "sqlite" }));
else
  test("without bubblewrap nothing claims to be a sandbox", () => {
    assert.equal(sandboxWorks(), false);
  });
