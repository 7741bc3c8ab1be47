import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type CommandLine, openCommandLine } from "../testing/command-line.ts";
import { screens } from "./screens.ts";

const now = Date.parse("2026-03-04T12:00:00.000Z");
const look = { columns: 140, now, short: (id: string) => id };
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

describe("agency nodes", () => {
  let line: CommandLine;
  before(async () => {
    line = await openCommandLine();
  });
  after(() => line.close());

  test("shows each node with its free places, its missing programs, and the time of its silence", () => {
    const common = { version: "1.0.0", trouble: null, brains: ["process"], startedAt: ago(7200) };
    const nodes = [
      {
        id: "a",
        name: "first",
        address: "http://10.0.0.1:4600",
        answering: true,
        state: "running",
        sessions: 3,
        maxSessions: 8,
        lacks: [],
        heartbeatAt: ago(2),
        ...common,
      },
      {
        id: "b",
        name: "second",
        address: "http://10.0.0.2:4600",
        answering: false,
        state: "silent",
        sessions: 1,
        maxSessions: null,
        lacks: ["codex"],
        heartbeatAt: ago(600),
        ...common,
      },
      {
        id: "c",
        name: "door",
        address: "http://10.0.0.3:4600",
        answering: false,
        state: "running",
        sessions: 0,
        maxSessions: 0,
        lacks: [],
        heartbeatAt: ago(1),
        ...common,
      },
    ];
    const broken = { ...nodes[0], id: "d", name: "full", answering: false, trouble: "ENOSPC: no space left" };
    const [head, first, second, door, full] = (
      screens["nodes"]?.({ nodes: [...nodes, broken] }, look) ?? ""
    ).split("\n");
    assert.match(head ?? "", /Node +Address +State +Sessions +Lacks +Version +Started/);
    assert.match(first ?? "", /first \(this one\) +http:\/\/10.0.0.1:4600 +running +3 of 8 +- +1.0.0/);
    assert.match(second ?? "", /second .*silent since 10 minutes ago +1 of any number +codex/);
    assert.match(full ?? "", /full .*can't start sessions: ENOSPC: no space left +3 of 8/);
    assert.match(door ?? "", /door .*running +starts none/);
  });

  test("asks the daemon, which is one of the nodes", async () => {
    const { nodes } = await line.json("nodes");
    assert.ok(Array.isArray(nodes));
    assert.equal(nodes.length, 1);
    assert.deepEqual(
      [nodes[0].answering, nodes[0].state, nodes[0].address],
      [true, "running", line.daemon.url],
    );
  });
});
