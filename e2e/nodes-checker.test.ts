// Tests the checks of nodes.test.ts on a sound campaign, and with one fault planted for each.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  brainsTogether,
  type LedgerWrite,
  refusalsOfHealthy,
  staleWrites,
  waitOnHealthy,
  writeProblems,
} from "./support/nodes-checker.ts";

const acknowledged = ["w0 0", "w0 1", "w1 0"];
const found = [...acknowledged, "w1 1", "scribe a 0", "scribe a 1", "scribe b 0"];
const agentOf = new Map([
  ["a", "Ada"],
  ["b", "Ada"],
  ["c", "Bob"],
]);
const writes = (sessions: string): LedgerWrite[] =>
  [...sessions].map((sessionId) => ({ sessionId, agentId: agentOf.get(sessionId) ?? "" }));

test("the checker finds no problem in a sound campaign, even with a write that was not acknowledged", () => {
  assert.deepEqual(writeProblems(found, acknowledged), { doubled: [], lost: [] });
  assert.deepEqual(staleWrites(writes("acacbcb")), { stale: [], followed: 1 });
  const brains = brainsTogether();
  for (const look of ["ac", "ac", "c", "cb", "bc"]) brains.look(new Set(look));
  assert.deepEqual(brains.ofOneAgent(agentOf), []);
});

test("the checker finds a client's and an agent's write that was lost after its commit", () => {
  for (const lost of ["w0 1", "scribe a 0"])
    assert.deepEqual(
      writeProblems(
        found.filter((one) => one !== lost),
        acknowledged,
      ),
      { doubled: [], lost: [lost] },
    );
});

test("a repeated write that is stored twice is found", () => {
  assert.deepEqual(writeProblems([...found, "w1 0"], acknowledged), { doubled: ["w1 0"], lost: [] });
});

test("the checker finds a write accepted after the agent's next session wrote", () => {
  assert.deepEqual(staleWrites(writes("acbca")).stale, writes("a"));
});

test("the checker finds a brain that runs after a takeover, but not one that ended between two looks", () => {
  const together = (...looks: string[]): string[] => {
    const brains = brainsTogether();
    for (const look of looks) brains.look(new Set(look));
    return brains.ofOneAgent(agentOf);
  };
  assert.deepEqual(together("ac", "abc", "abc", "bc"), ["a b"]);
  assert.deepEqual(together("ac", "abc", "bc"), []);
});

test("a healthy node that refuses just before the limit, and then answers just before it, is found", () => {
  const attempts = [
    { took: 5900, isDisturbed: false, refused: "unavailable" },
    { took: 5900, isDisturbed: false },
  ];
  assert.equal(waitOnHealthy(attempts), 11_800);
  assert.deepEqual(refusalsOfHealthy(attempts), { unavailable: 1 });
});

test("a node with a fault may be slow and refuse calls, while the times of healthy nodes still count", () => {
  const attempts = [
    { took: 3000, isDisturbed: false, refused: "unavailable" },
    { took: 60_000, isDisturbed: true, refused: "unavailable" },
    { took: 3500, isDisturbed: false },
  ];
  assert.equal(waitOnHealthy(attempts), 6500);
  assert.deepEqual(refusalsOfHealthy(attempts), { unavailable: 1 });
});

test("a refusal of a healthy node that has no reason is counted beside the others", () => {
  const refused = (code: string) => ({ took: 1, isDisturbed: false, refused: code });
  assert.deepEqual(refusalsOfHealthy(["unavailable", "refused", "unavailable"].map(refused)), {
    unavailable: 2,
    refused: 1,
  });
});
