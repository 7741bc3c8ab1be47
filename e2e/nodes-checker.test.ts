// Tests the checks of nodes.test.ts on a sound campaign, and with one fault planted for each.
import assert from "node:assert/strict";
import { test } from "node:test";
import { brainsTogether, fileProblems, type LedgerWrite, staleWrites } from "./support/nodes-checker.ts";

const acknowledged = ["w0 0", "w0 1", "w1 0"];
const found = [...acknowledged, "w1 1", "scribe a 0", "scribe a 1", "scribe b 0"];
const agentOf = new Map([
  ["a", "Ada"],
  ["b", "Ada"],
  ["c", "Bob"],
]);
const writes = (sessions: string): LedgerWrite[] =>
  [...sessions].map((sessionId) => ({ sessionId, agentId: agentOf.get(sessionId) ?? "" }));

test("a sound campaign has no problem, also with a write that was not acknowledged", () => {
  assert.deepEqual(fileProblems(found, acknowledged), { doubled: [], lost: [] });
  assert.deepEqual(staleWrites(writes("acacbcb")), { stale: [], followed: 1 });
  const brains = brainsTogether();
  for (const look of ["ac", "ac", "c", "cb", "bc"]) brains.look(new Set(look));
  assert.deepEqual(brains.ofOneAgent(agentOf), []);
});

test("the checker finds a client's and an agent's write that was lost after its commit", () => {
  for (const lost of ["w0 1", "scribe a 0"])
    assert.deepEqual(
      fileProblems(
        found.filter((one) => one !== lost),
        acknowledged,
      ),
      { doubled: [], lost: [lost] },
    );
});

test("a write that was repeated and is there twice is found", () => {
  assert.deepEqual(fileProblems([...found, "w1 0"], acknowledged), { doubled: ["w1 0"], lost: [] });
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
