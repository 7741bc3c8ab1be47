// Three nodes on one PostgreSQL under load, while nodes stand still or die, networks lose packets and the database is killed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../src/client/client.ts";
import { updateAgent } from "../src/contract/agents.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { createFile, listFiles } from "../src/contract/knowledge.ts";
import { refusalOf } from "../src/contract/refusal.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { allowed } from "../src/testing/allowed.ts";
import { createDatabase, startPostgres } from "../src/testing/postgres.ts";
import { byLength } from "../src/testing/run-length.ts";
import { baseSeed } from "../src/testing/seeds.ts";
import { startTcpProxy, type TcpProxy } from "../src/testing/tcp-proxy.ts";
import { sleeper } from "./support/agents.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { allPages } from "./support/pages.ts";
import { sessionProcesses } from "./support/processes.ts";
import { Random } from "./support/random.ts";

type Fault = "silence" | "dead sockets" | "kill" | "restart" | "postgres";
const everyFault: readonly Fault[] = ["silence", "dead sockets", "kill", "restart", "postgres"];
const short: readonly Fault[] = ["silence", "restart", "dead sockets", "restart", "restart", "postgres"];
const longerThanTheLease = 22_000;

interface Node {
  readonly home: string;
  readonly proxy: TcpProxy;
  daemon: BuiltDaemon;
  /** How many faults have disturbed it. */
  faults: number;
}

test("whatever happens to a node, the others continue, and nothing is lost, doubled or blocked", async (t) => {
  const random = new Random(baseSeed);
  const server = await startPostgres();
  const homes = [0, 1, 2].map(() => temporaryFolder("node"));
  const nodes: Node[] = [];
  try {
    const database = await createDatabase(server.url);
    const start = (home: string, proxy: TcpProxy) =>
      startDaemon({
        home,
        databaseUrl: proxy.url,
        env: { AGENCY_AUDIT_KEY: "one key that seals the ledger on all nodes" },
      }).ready;
    for (const { path: home } of homes) {
      const proxy = await startTcpProxy(database.url);
      nodes.push({ home, proxy, daemon: await start(home, proxy), faults: 0 });
    }
    const [first] = nodes;
    assert.ok(first !== undefined);
    const { board, companyId } = first.daemon;
    const { rootAgentId } = await board.call(viewCompany, { companyId });
    await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
    await board.call(updateCompany, { companyId, requireBoardApprovalForNewAgents: false, maxSessions: 50 });
    for (let index = 0; index < 3; index++) {
      const agent = await board.call(createAgent, {
        companyId,
        name: `Agent ${index}`,
        role: "sleeper",
        ...sleeper,
      });
      await board.call(sendMessage, { companyId, to: agent.id, body: "wait" });
    }

    /** The nodes that a fault disturbs now. What they answer, and when, does not count. */
    const disturbed = new Set<Node>();
    const disturb = (...some: readonly Node[]): void => {
      for (const node of some) {
        disturbed.add(node);
        node.faults += 1;
      }
    };
    const acknowledged: string[] = [];
    let slowest = 0;
    let isOver = false;
    const writer = async (node: Node, name: string): Promise<void> => {
      for (let index = 0; !isOver; index++) {
        const description = `${name} ${index}`;
        for (let isDone = false; !isDone && !isOver;) {
          const from = performance.now();
          const wasWell = !disturbed.has(node);
          const { faults } = node;
          const client = createClient({ url: node.daemon.url, token: node.daemon.token });
          isDone = await client
            .call(
              createFile,
              { companyId, description, content: "x" },
              { key: description.replaceAll(" ", "-") },
            )
            .then(
              () => true,
              () => sleep(50).then(() => false),
            );
          if (isDone) acknowledged.push(description);
          // A whole fault may have come and gone meanwhile.
          if (wasWell && node.faults === faults) slowest = Math.max(slowest, performance.now() - from);
        }
        await sleep(30);
      }
    };
    const load = nodes.flatMap((node, index) => [writer(node, `a${index}`), writer(node, `b${index}`)]);

    const sessionsOn = (...some: readonly Node[]): Set<string> =>
      new Set(some.flatMap(({ home }) => sessionProcesses(home).map(({ sessionId }) => sessionId)));
    /**
     * Waits until every agent has one session, which a blocked inbox would not get, and no process of any other runs. None of
     * the sessions is one of `lost`.
     */
    const settled = async (promised: number, about: string, lost = new Set<string>()): Promise<number> => {
      const from = performance.now();
      for (;;) {
        const well = nodes.find((node) => !disturbed.has(node));
        const live = await well?.daemon.board.call(listSessions, { companyId, live: true, limit: 100 }).then(
          ({ sessions }) => sessions.map(({ id }) => id),
          () => undefined,
        );
        const running = sessionsOn(...nodes);
        if (live?.length === 3 && running.size === 3 && live.every((id) => running.has(id) && !lost.has(id)))
          return performance.now() - from;
        assert.ok(
          performance.now() - from < allowed(promised),
          `${about}: sessions ${String(live)}, processes of ${[...running].join()}`,
        );
        await sleep(100);
      }
    };
    await settled(30_000, "at the start");

    const play = async (fault: Fault): Promise<void> => {
      const node = random.pick(nodes);
      if (fault === "silence") {
        // The two with the most sessions: one stands still, the other loses its network. The third takes over from both.
        const [cut, still] = nodes.toSorted((a, b) => sessionsOn(b).size - sessionsOn(a).size);
        assert.ok(still !== undefined && cut !== undefined);
        const lost = sessionsOn(cut, still);
        disturb(still, cut);
        process.kill(still.daemon.pid, "SIGSTOP");
        cut.proxy.swallow(true);
        const from = performance.now();
        const takeover = await settled(25_000, fault, lost);
        t.diagnostic(`${fault}: taken over after ${Math.round(takeover)} ms`);
        await sleep(Math.max(0, longerThanTheLease - (performance.now() - from)));
        process.kill(still.daemon.pid, "SIGCONT");
        cut.proxy.heal();
        await sleep(1000);
        for (const one of [still, cut]) disturbed.delete(one);
      }
      if (fault === "dead sockets") {
        disturb(node);
        node.proxy.swallow();
        const write = () =>
          node.daemon.board.call(createFile, { companyId, description: "after", content: "x" });
        const from = performance.now();
        while (await refusalOf(write()))
          assert.ok(performance.now() - from < allowed(17_000), "the node still uses dead connections");
        t.diagnostic(`${fault}: answers again after ${Math.round(performance.now() - from)} ms`);
        node.proxy.cut();
        const health = await fetch(`${node.daemon.url}/api/health`);
        assert.equal(health.status, 503, await health.text());
        const call = node.daemon.board.call(listFiles, { companyId });
        assert.equal((await refusalOf(call))?.code, "unavailable");
        node.proxy.heal();
        disturbed.delete(node);
      }
      if (fault === "kill" || fault === "restart") {
        disturb(node);
        await (fault === "kill" ? node.daemon.kill() : node.daemon.stop());
        node.daemon = await start(node.home, node.proxy);
        disturbed.delete(node);
      }
      if (fault === "postgres") {
        disturb(...nodes);
        await server.crash();
        await sleep(2000);
        disturbed.clear();
      }
      await settled(25_000, `after ${fault}`);
    };
    const rounds = byLength({
      quick: short,
      whole: short,
      long: Array.from({ length: 60 }, () => random.pick(everyFault)),
    });
    for (const fault of rounds) await play(fault);

    isOver = true;
    await Promise.all(load);
    const last: BuiltDaemon = nodes[1]?.daemon ?? assert.fail();
    const files = await allPages(
      (cursor) => last.board.call(listFiles, { companyId, limit: 1000, cursor }),
      "files",
    );
    const found = Map.groupBy(
      files.filter(({ description }) => /^[ab]\d \d+$/.test(description)),
      ({ description }) => description,
    );
    assert.deepEqual(
      acknowledged.filter((description) => found.get(description)?.length !== 1).slice(0, 10),
      [],
    );
    assert.deepEqual([...found].filter(([, all]) => all.length > 1).slice(0, 10), []);
    t.diagnostic(
      `${acknowledged.length} writes; the slowest on an undisturbed node took ${Math.round(slowest)} ms`,
    );
    assert.ok(slowest < allowed(6000), `a write on a healthy node took ${Math.round(slowest)} ms`);
  } finally {
    for (const { daemon } of nodes) await daemon.kill();
    for (const { proxy } of nodes) await proxy.stop();
    await server.stop();
    for (const home of homes) home.remove();
  }
});
