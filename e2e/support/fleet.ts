// Three nodes on one PostgreSQL, each behind a separate network and clock, with agents that write, and clients that write
// through all of them.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createClient } from "../../src/client/client.ts";
import { updateAgent } from "../../src/contract/agents.ts";
import { createCompany, updateCompany, viewCompany } from "../../src/contract/companies.ts";
import { createAgent } from "../../src/contract/hiring.ts";
import { createFile } from "../../src/contract/knowledge.ts";
import { createOutcome } from "../../src/contract/outcomes.ts";
import { listSessions } from "../../src/contract/sessions.ts";
import { why } from "../../src/contract/why.ts";
import { Refusal } from "../../src/contract/refusal.ts";
import { createDatabase, type PostgresServer } from "../../src/testing/postgres.ts";
import { startTcpProxy, type TcpProxy } from "../../src/testing/tcp-proxy.ts";
import { type BuiltDaemon, startDaemon, temporaryFolder } from "./daemon.ts";
import { type Attempt, brainsTogether, waitOnHealthy } from "./nodes-checker.ts";
import { type OthersLoad, watchOthers } from "./others-load.ts";
import { sessionProcesses } from "./processes.ts";
import type { Random } from "./random.ts";

const clock = pathToFileURL(fileURLToPath(new URL("moved-clock.mjs", import.meta.url))).href;
const scribe = fileURLToPath(new URL("scribe.mjs", import.meta.url));
const scribes = 3;
const writers = 15;
/** The pause between two writes of a writer, as long as its node answers in time. */
const pace = 120;
/** No write on a healthy node waits for longer, all its attempts together. */
export const promisedWait = 6000;

export interface Node {
  readonly home: string;
  readonly proxy: TcpProxy;
  daemon: BuiltDaemon;
  /** The number of faults that have disturbed it. */
  faults: number;
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

export async function startFleet(server: PostgresServer, random: Random) {
  const database = await createDatabase(server.url);
  const homes = [0, 1, 2].map(() => temporaryFolder("node"));
  const nodes: Node[] = [];
  const others = watchOthers();
  const clockOf = (home: string): string => join(home, "moved-clock");
  const start = (home: string, proxy: TcpProxy): Promise<BuiltDaemon> =>
    startDaemon({
      home,
      databaseUrl: proxy.url,
      env: {
        AGENCY_AUDIT_KEY: "one key that seals the ledger on all nodes",
        NODE_OPTIONS: `--import=${clock}`,
        MOVED_CLOCK: clockOf(home),
      },
    }).ready;
  const closing: (() => void)[] = [() => others.stop()];
  const stop = async (): Promise<void> => {
    for (const close of closing) close();
    for (const { daemon } of nodes) await daemon.kill();
    for (const { proxy } of nodes) await proxy.stop();
    for (const home of homes) home.remove();
  };
  try {
    for (const { path: home } of homes) {
      const proxy = await startTcpProxy(database.url);
      nodes.push({ home, proxy, daemon: await start(home, proxy), faults: 0 });
    }
    const [first] = nodes;
    assert.ok(first !== undefined);
    const { board, companyId } = first.daemon;
    const { rootAgentId } = await board.call(viewCompany, { companyId });
    const second = await board.call(createCompany, { name: "Second" });
    const companies = [
      { companyId, rootAgentId },
      { companyId: second.id, rootAgentId: second.rootAgentId },
    ];
    for (const each of companies) {
      await board.call(updateAgent, { id: each.rootAgentId, adapterType: "human" });
      await board.call(updateCompany, { companyId: each.companyId, maxOpenOutcomes: 1_000_000 });
    }
    await board.call(updateCompany, { companyId, requireBoardApprovalForNewAgents: false, maxSessions: 50 });
    const outcomes: string[] = [];
    for (let index = 0; index < scribes; index++) {
      const { id } = await board.call(createAgent, {
        companyId,
        name: `Scribe ${index}`,
        role: "scribe",
        adapterType: "process",
        adapterConfig: { command: process.execPath, args: [scribe, companyId] },
      });
      const made = await board.call(createOutcome, { companyId, title: `Book ${index}`, parents: [id] });
      outcomes.push(made.id);
    }

    /** The nodes that a fault disturbs now. Their answers, and the times of these, don't count. */
    const disturbed = new Set<Node>();
    const isWell = (node: Node): boolean => !disturbed.has(node);
    const sessionsOn = (...some: readonly Node[]): Set<string> =>
      new Set(
        some.flatMap(({ home }) =>
          sessionProcesses(home).flatMap(({ sessionId, command }) =>
            command.includes(scribe) ? [sessionId] : [],
          ),
        ),
      );
    const liveSessions = async (): Promise<readonly { id: string; agentId: string }[] | undefined> =>
      nodes
        .find(isWell)
        ?.daemon.board.call(listSessions, { companyId, live: true, limit: 100 })
        .then(
          ({ sessions }) => sessions.map(({ id, agent }) => ({ id, agentId: agent.id })),
          () => undefined,
        );

    /** What the agents wait for, and how their last sessions ended. */
    const whyNot = async (): Promise<string> => {
      const board = nodes.find(isWell)?.daemon.board;
      if (board === undefined) return "no node is well";
      const { sessions } = await board.call(listSessions, { companyId, limit: 10 });
      const causes = await Promise.all(outcomes.map((id) => board.call(why, { id })));
      return JSON.stringify([sessions, causes], null, 1);
    };

    return {
      database,
      nodes,
      companyId,
      outcomes,
      disturbed,
      sessionsOn,
      liveSessions,
      others,
      stop,
      disturb: (...some: readonly Node[]): void => {
        for (const node of some) {
          disturbed.add(node);
          node.faults += 1;
        }
      },
      restart: async (node: Node): Promise<void> => {
        node.daemon = await start(node.home, node.proxy);
      },
      crash: () => server.crash(),
      /** Sets the clock of a running node. */
      moveClock: (node: Node, milliseconds: number): void => {
        writeFileSync(clockOf(node.home), String(milliseconds));
        process.kill(node.daemon.pid, "SIGUSR2");
      },
      /** The time that the node showed when its clock was last set. */
      /** Undefined if its process has shown no time yet. */
      clockShown: (node: Node): number | undefined => {
        const file = `${clockOf(node.home)}.shown`;
        return existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined;
      },
      /**
       * Waits until every agent has one session, which a blocked outcome would not get, and no process of any other runs. None
       * of the sessions is one of `lost`.
       */
      settled: async (promised: number, about: string, lost = new Set<string>()): Promise<number> => {
        const from = performance.now();
        for (;;) {
          const live = (await liveSessions())?.map(({ id }) => id);
          const running = sessionsOn(...nodes);
          const took = performance.now() - from;
          const isSettled =
            live?.length === scribes &&
            running.size === scribes &&
            live.every((id) => running.has(id) && !lost.has(id));
          if (isSettled && took < promised) return took;
          if (took > promised) {
            const slowed = others.since(from);
            if (took >= promised * slowed)
              assert.fail(
                `${about}: after ${Math.round(took)} ms (others slow the machine down ${slowed.toFixed(1)} times) the sessions are ${String(live)} and the processes those of ${[...running].join()}\n${await whyNot()}`,
              );
            if (isSettled) return took;
          }
          await sleep(100);
        }
      },
      startLoad: () => startLoad({ nodes, companies, random, isWell, others, closing }),
      watchBrains: () => watchBrains(() => sessionsOn(...nodes), closing),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Clients that write through any healthy node, in two companies. A third of them creates outcomes, the others files. If they don't know whether a write took effect, they repeat it, possibly through
 * another node.
 */
function startLoad(on: {
  nodes: readonly Node[];
  companies: readonly { readonly companyId: string; readonly rootAgentId: string }[];
  random: Random;
  isWell: (node: Node) => boolean;
  others: OthersLoad;
  closing: (() => void)[];
}) {
  const { nodes, companies, random, isWell, others, closing } = on;
  const acknowledged: { files: string[]; outcomes: string[] } = { files: [], outcomes: [] };
  const tried: Attempt[] = [];
  const slow: { took: number; slowed: number }[] = [];
  const from = performance.now();
  let longest = 0;
  let isOver = false;
  const writer = async (index: number): Promise<void> => {
    const { companyId, rootAgentId } = companies[index % companies.length] ?? assert.fail();
    const isPlanner = index % 3 === 0;
    for (let number = 0; !isOver; number++) {
      const name = `${isPlanner ? "o" : "w"}${index} ${number}`;
      const began = performance.now();
      const attempts: Attempt[] = [];
      for (let isDone = false; !isDone && !isOver;) {
        const well = nodes.filter(isWell);
        const node = random.pick(well.length === 0 ? nodes : well);
        const asked = performance.now();
        const { faults } = node;
        const wasWell = isWell(node);
        const client = createClient({ url: node.daemon.url, token: node.daemon.token });
        const key = name.replaceAll(" ", "-");
        const refused = await (
          isPlanner
            ? client.call(createOutcome, { companyId, title: name, parents: [rootAgentId] }, { key })
            : client.call(createFile, { companyId, description: name, content: "x" }, { key })
        ).then(
          () => undefined,
          (error: unknown) => sleep(50).then(() => (error instanceof Refusal ? error.code : String(error))),
        );
        isDone = refused === undefined;
        if (isDone) acknowledged[isPlanner ? "outcomes" : "files"].push(name);
        // A whole fault may have come and gone meanwhile.
        const isDisturbed = !wasWell || node.faults !== faults;
        attempts.push({ took: performance.now() - asked, isDisturbed, refused });
      }
      tried.push(...attempts);
      const took = waitOnHealthy(attempts);
      longest = Math.max(longest, took);
      if (took > promisedWait) slow.push({ took, slowed: others.since(began) });
      await sleep(Math.max(0, pace - (performance.now() - began)));
    }
  };
  closing.push(() => (isOver = true));
  const all = Array.from({ length: writers }, (_, index) => writer(index));
  return {
    acknowledged,
    end: async () => {
      isOver = true;
      const seconds = (performance.now() - from) / 1000;
      await Promise.all(all);
      const written = acknowledged.files.length + acknowledged.outcomes.length;
      return { written, perSecond: written / seconds, slowed: others.since(from), longest, slow, tried };
    },
  };
}

/** Notes the sessions that have a process at the same time. */
function watchBrains(look: () => Set<string>, closing: (() => void)[]) {
  const brains = brainsTogether();
  const timer = setInterval(() => brains.look(look()), 250);
  closing.push(() => clearInterval(timer));
  return {
    /** Pairs of sessions of one agent that ran at the same time. */
    end: (agentOf: ReadonlyMap<string, string>): string[] => {
      clearInterval(timer);
      return brains.ofOneAgent(agentOf);
    },
  };
}
