// Three nodes on one PostgreSQL under load, while nodes are suspended or die, networks lose packets, clocks are wrong and the
// database is killed. A time limit grows only with the load of other programs on the machine.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { examineDeeply } from "../src/contract/doctor.ts";
import { createFile, listFiles } from "../src/contract/knowledge.ts";
import { verifyLedger } from "../src/contract/ledger.ts";
import { viewOutcome } from "../src/contract/outcomes.ts";
import { refusalOf } from "../src/contract/refusal.ts";
import { startPostgres } from "../src/testing/postgres.ts";
import { byLength } from "../src/testing/run-length.ts";
import { baseSeed } from "../src/testing/seeds.ts";
import { tokensOf } from "./support/agents.ts";
import { type Fleet, type Node, promisedWait, startFleet } from "./support/fleet.ts";
import { checkRefused } from "./support/living-checker.ts";
import { refusalsOfHealthy, staleWrites, writeProblems } from "./support/nodes-checker.ts";
import { Random } from "./support/random.ts";
import { postgresTables, type Tables } from "./support/tables.ts";

type Fault = "silence" | "dead sockets" | "clock" | "kill" | "loss" | "rolling restart" | "postgres";
const everyFault: readonly Fault[] = [
  "silence",
  "dead sockets",
  "clock",
  "kill",
  "loss",
  "rolling restart",
  "postgres",
];
const short: readonly Fault[] = [
  "clock",
  "silence",
  "rolling restart",
  "dead sockets",
  "kill",
  "postgres",
  "loss",
  "rolling restart",
];
const longerThanTheLease = 22_000;
const hour = 3_600_000;

test("whatever happens to one node, the others continue, and no work is lost, doubled or blocked", async (t) => {
  const random = new Random(baseSeed);
  const begun = Date.now();
  const server = await startPostgres();
  try {
    const fleet = await startFleet(server, random);
    try {
      await fleet.settled(30_000, "at the start");
      const load = fleet.startLoad();
      const brains = fleet.watchBrains();
      const rounds = byLength({
        quick: short,
        whole: short,
        // Every fault ten times, in a random order.
        long: Array.from({ length: 70 }, (_, round) => everyFault[round % everyFault.length] ?? "clock")
          .map((fault) => ({ fault, order: random.next() }))
          .toSorted((one, other) => one.order - other.order)
          .map(({ fault }) => fault),
      });
      for (const [round, fault] of rounds.entries()) {
        await faults[fault](fleet, random, (says) => t.diagnostic(`${round + 1} ${fault}: ${says}`));
        await fleet.settled(25_000, `after ${fault}`);
      }
      const { written, perSecond, slowed, longest, slow, tried } = await load.end();
      t.diagnostic(
        `${written} writes, ${perSecond.toFixed(0)}/s; the one that waited the longest on healthy nodes took ${Math.round(longest)} ms; refusals of healthy nodes: ${JSON.stringify(refusalsOfHealthy(tried))}; others slowed the machine down ${slowed.toFixed(1)} times`,
      );
      assert.ok(perSecond > 50 / slowed, `${perSecond.toFixed(1)} operations/s`);
      const tooSlow = slow.filter(({ took, slowed: then }) => took > promisedWait * then);
      assert.deepEqual(tooSlow, [], "writes on healthy nodes");
      // While another node's fault holds a lock, a healthy node may say that it can't write now. It has no other reason to refuse.
      const { unavailable: _, ...others } = refusalsOfHealthy(tried);
      assert.deepEqual(others, {}, "refusals of healthy nodes");

      const tables = await postgresTables(fleet.database.url);
      try {
        const agentOf = new Map(
          (await tables.ask("select id, agent_id from sessions")).map((row) => [
            String(row["id"]),
            String(row["agent_id"]),
          ]),
        );
        assert.deepEqual(brains.end(agentOf), [], "two brains of one agent ran at the same time");
        const timed = async (what: string, check: Promise<void>): Promise<void> => {
          const asked = performance.now();
          await check;
          t.diagnostic(`${what}: checked after ${Math.round(performance.now() - asked)} ms`);
        };
        // Each of the long ones asks another node.
        await Promise.all([
          timed("ledger", checkLedger(fleet.nodes[0])),
          timed("invariants", checkInvariants(fleet.nodes[1])),
          timed("outcomes", checkOutcomes(fleet, tables, agentOf)),
          timed("writes", checkWrites(tables, load.acknowledged)),
          timed("epochs", checkEpochs(tables)),
          timed("times", checkTimes(tables, begun)),
        ]);
      } finally {
        await tables.close();
      }
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
  }
});

type Acknowledged = ReturnType<Fleet["startLoad"]>["acknowledged"];
type Play = (fleet: Fleet, random: Random, tell: (says: string) => void) => Promise<void>;

const faults: Readonly<Record<Fault, Play>> = {
  /**
   * The two nodes with the most sessions: one is suspended, the other loses its network. The third node takes over from both.
   */
  silence: async (fleet, _, tell) => {
    const { nodes, sessionsOn, disturbed } = fleet;
    const [cut, still] = nodes.toSorted((a, b) => sessionsOn(b).size - sessionsOn(a).size);
    assert.ok(still !== undefined && cut !== undefined);
    const lost = sessionsOn(cut, still);
    const tokens = await tokensIn([cut, still], lost);
    fleet.disturb(still, cut);
    process.kill(still.daemon.pid, "SIGSTOP");
    cut.proxy.swallow(true);
    const from = performance.now();
    const takeover = await fleet.settled(25_000, "silence", lost);
    tell(`${lost.size} sessions were taken over after ${Math.round(takeover)} ms`);
    const well = nodes.find((node) => !disturbed.has(node)) ?? assert.fail();
    assert.deepEqual(await checkRefused(well.daemon.url, tokens), []);
    await sleep(Math.max(0, longerThanTheLease - (performance.now() - from)));
    process.kill(still.daemon.pid, "SIGCONT");
    cut.proxy.heal();
    for (const node of [still, cut]) {
      await answersAgain(fleet, node, from);
      assert.deepEqual(await checkRefused(node.daemon.url, tokens), []);
      disturbed.delete(node);
    }
  },

  "dead sockets": async (fleet, random, tell) => {
    const node = random.pick(fleet.nodes);
    fleet.disturb(node);
    node.proxy.swallow();
    const from = performance.now();
    await answersAgain(fleet, node, from, 17_000);
    tell(`answers again after ${Math.round(performance.now() - from)} ms`);
    node.proxy.cut();
    const health = await fetch(`${node.daemon.url}/api/health`);
    assert.equal(health.status, 503, await health.text());
    const call = node.daemon.board.call(listFiles, { companyId: fleet.companyId });
    assert.equal((await refusalOf(call))?.code, "unavailable");
    node.proxy.heal();
    await answersAgain(fleet, node, performance.now());
    fleet.disturbed.delete(node);
  },

  /** One node is an hour ahead, another an hour behind. Neither is disturbed, and no session ends. */
  clock: async (fleet, random, tell) => {
    const [ahead, behind] = fleet.nodes
      .map((node) => ({ node, order: random.next() }))
      .toSorted((one, other) => one.order - other.order)
      .map(({ node }) => node);
    assert.ok(ahead !== undefined && behind !== undefined);
    const isMoved = (node: Node): boolean =>
      Math.abs((fleet.clockShown(node) ?? Date.now()) - Date.now()) > hour / 2;
    for (let attempt = 1; ; attempt++) {
      const before = fleet.sessionsOn(...fleet.nodes);
      fleet.moveClock(ahead, hour);
      fleet.moveClock(behind, -hour);
      // Long enough for leases to be renewed several times by each node.
      await sleep(8000);
      for (const node of [ahead, behind]) {
        for (const from = performance.now(); !isMoved(node); await sleep(100))
          assert.ok(performance.now() - from < 60_000, "the clock of the node was not moved");
        await answersAgain(fleet, node, performance.now(), 6000);
      }
      const after = fleet.sessionsOn(...fleet.nodes);
      for (const node of [ahead, behind]) fleet.moveClock(node, 0);
      tell(`${before.size} sessions before, ${after.size} after`);
      // On a busy machine a node may fail to renew its leases in time, and ends its sessions. A rule that uses the wrong clock
      // ends them every time.
      if (before.size > 0 && before.isSubsetOf(after)) return;
      assert.ok(attempt < 4, "sessions ended because of a clock");
      await sleep(2000);
    }
  },

  kill: async (fleet, random) => {
    const node = random.pick(fleet.nodes);
    fleet.disturb(node);
    await node.daemon.kill();
    await fleet.restart(node);
    fleet.disturbed.delete(node);
  },

  /** A killed node stays away. The others take its sessions over once their leases have lapsed. */
  loss: async (fleet, _, tell) => {
    const node = fleet.nodes.toSorted((a, b) => fleet.sessionsOn(b).size - fleet.sessionsOn(a).size)[0];
    assert.ok(node !== undefined);
    const lost = fleet.sessionsOn(node);
    fleet.disturb(node);
    await node.daemon.kill();
    const takeover = await fleet.settled(25_000, "loss", lost);
    tell(`${lost.size} sessions were taken over after ${Math.round(takeover)} ms`);
    await fleet.restart(node);
    fleet.disturbed.delete(node);
  },

  /** The first node stays away until the others have continued its sessions. */
  "rolling restart": async (fleet, _, tell) => {
    for (const [index, node] of fleet.nodes.entries()) {
      const ended = fleet.sessionsOn(node);
      fleet.disturb(node);
      await node.daemon.stop();
      if (index === 0) {
        const takeover = await fleet.settled(10_000, "stop", ended);
        tell(`${ended.size} sessions continued elsewhere ${Math.round(takeover)} ms after the stop`);
      }
      await fleet.restart(node);
      fleet.disturbed.delete(node);
    }
  },

  postgres: async (fleet) => {
    fleet.disturb(...fleet.nodes);
    await fleet.crash();
    for (const node of fleet.nodes) await answersAgain(fleet, node, performance.now());
    fleet.disturbed.clear();
  },
};

/** Waits until a write through this node succeeds. */
async function answersAgain(fleet: Fleet, node: Node, from: number, promised = 60_000): Promise<void> {
  const { companyId, others } = fleet;
  const write = () => node.daemon.board.call(createFile, { companyId, description: "after", content: "x" });
  for (let refusal = await refusalOf(write()); refusal !== undefined; refusal = await refusalOf(write())) {
    const took = performance.now() - from;
    assert.ok(took < promised || took < promised * others.since(from), refusal.message);
    await sleep(50);
  }
}

/** The tokens of these sessions, as the sessions printed them. */
async function tokensIn(some: readonly Node[], sessions: ReadonlySet<string>): Promise<string[]> {
  const tokens: string[] = [];
  for (const { home } of some)
    for (const { id, token } of await tokensOf(home, 0)) if (sessions.has(id)) tokens.push(token);
  return tokens;
}

/** Checks that every acknowledged write exists exactly once. */
async function checkWrites(tables: Tables, acknowledged: Acknowledged): Promise<void> {
  const rows = await tables.ask("select description from files where description ~ '^(w|scribe )'");
  const found = rows.map((row) => String(row["description"]));
  assert.ok(found.filter((one) => /^scribe .* [1-9]/.test(one)).length > 0, "the agents wrote nothing");
  const outcomes = await tables.ask("select title from outcomes where title ~ '^o[0-9]+ '");
  assert.ok(acknowledged.outcomes.length > 0, "the clients created no outcome");
  for (const { doubled, lost } of [
    writeProblems(found, acknowledged.files),
    writeProblems(
      outcomes.map((row) => String(row["title"])),
      acknowledged.outcomes,
    ),
  ]) {
    assert.deepEqual(doubled.slice(0, 10), [], "doubled");
    assert.deepEqual(lost.slice(0, 10), [], "lost");
  }
}

/** Verifies the ledger with every row and content that it seals. */
async function checkLedger(node: Node | undefined): Promise<void> {
  const { board } = node?.daemon ?? assert.fail();
  let compared = 0;
  for (let cursor: string | null | undefined; cursor !== null;) {
    const seen = await board.call(verifyLedger, { deep: true, ...(cursor !== undefined && { cursor }) });
    assert.deepEqual(seen.problems, [], "problems of the ledger");
    compared += seen.rows;
    cursor = seen.nextCursor;
  }
  assert.ok(compared > 100, `${compared} rows were compared`);
}

async function checkInvariants(node: Node | undefined): Promise<void> {
  const { board } = node?.daemon ?? assert.fail();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const seen = await board.call(examineDeeply, cursor === undefined ? {} : { cursor });
    assert.deepEqual(seen.findings, [], "broken invariants");
    cursor = seen.nextCursor;
  }
}

/** Checks in the order of the ledger that no session of an agent wrote after the agent's next session did. */
async function checkEpochs(tables: Tables): Promise<void> {
  const rows = await tables.ask(
    `select agent_id, session_id from events
     where operation = 'knowledge.create' and session_id is not null order by company_id, seq`,
  );
  const { stale, followed } = staleWrites(
    rows.map((row) => ({ agentId: String(row["agent_id"]), sessionId: String(row["session_id"]) })),
  );
  assert.deepEqual(stale.slice(0, 10), [], "stale writes were accepted");
  assert.ok(followed > 3, `${followed} sessions were followed by another`);
}

/** Checks that no time in any table is that of a node with a wrong clock. */
async function checkTimes(tables: Tables, begun: number): Promise<void> {
  const columns = await tables.ask(
    `select table_name, column_name from information_schema.columns
     where table_schema = 'public' and data_type = 'bigint' and (column_name = 'at' or column_name like '%\\_at')`,
  );
  assert.ok(columns.length > 20, `${columns.length} columns`);
  for (const { table_name: table, column_name: column } of columns) {
    const name = `"${String(table)}"."${String(column)}"`;
    const [wrong] = await tables.ask(
      `select count(*)::int as rows from "${String(table)}" where ${name} between ${begun - hour - 600_000} and ${begun - 600_000}
       or ${name} between ${begun + hour - 60_000} and ${begun + hour + 600_000}`,
    );
    assert.equal(wrong?.["rows"], 0, `${name} has the time of a node`);
  }
}

/** Checks that no outcome is or was blocked, although sessions of its agent ended several times without progress. */
async function checkOutcomes(
  fleet: Fleet,
  tables: Tables,
  agentOf: ReadonlyMap<string, string>,
): Promise<void> {
  const { board } = fleet.nodes[2]?.daemon ?? assert.fail();
  for (const id of fleet.outcomes) {
    const { status, blocked } = await board.call(viewOutcome, { id });
    assert.deepEqual({ status, blocked }, { status: "open", blocked: null });
  }
  const counted = await tables.ask(`select operation from events where operation like '%block%'`);
  assert.deepEqual(counted, []);
  const most = Math.max(
    ...Map.groupBy(agentOf, ([, agent]) => agent)
      .values()
      .map((all) => all.length),
  );
  assert.ok(most > 3, `an agent had ${most} sessions at most, so three endings proved nothing`);
}
