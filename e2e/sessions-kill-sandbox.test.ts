import assert from "node:assert/strict";
import { test } from "node:test";
import { sandboxWorks } from "../src/processes/sandbox.ts";
import { campaign } from "../src/testing/run-length.ts";
import { baseSeed } from "../src/testing/seeds.ts";
import { killWhileAgentsWork } from "./support/living-kills.ts";

const kills = campaign({ quick: 6, whole: 6, long: 60 });

if (sandboxWorks())
  test("kill -9 while agents work in a sandbox: their processes end with the daemon", (t) =>
    killWhileAgentsWork(t, { kills, sandbox: "on", store: "sqlite", seed: baseSeed }));
else
  test("without bubblewrap nothing claims to be a sandbox", () => {
    assert.equal(sandboxWorks(), false);
  });
