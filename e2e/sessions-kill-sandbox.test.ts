import { test } from "node:test";
import { campaign } from "../src/testing/run-length.ts";
import { baseSeed } from "../src/testing/seeds.ts";
import { killWhileAgentsWork } from "./support/living-kills.ts";

const kills = campaign({ quick: 6, whole: 6, long: 20 });

test("kill -9 while agents work in a sandbox: their processes end with the daemon", (t) =>
  killWhileAgentsWork(t, { kills, sandbox: "on", store: "sqlite", seed: baseSeed }));
