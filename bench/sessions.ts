import { execFileSync } from "node:child_process";
import { closeSync, constants, copyFileSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freezeCompany, updateCompany } from "../src/contract/companies.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { createDatabase, startPostgres } from "../src/testing/postgres.ts";
import type { Bench, Entry } from "./bench.ts";
import { type Daemon, prepareHome, residentMegabytes, startDaemon } from "./home.ts";
import { idlePercent } from "./living.ts";
import { fillRestingAgents } from "./living-fill.ts";
import { percentile } from "./timing.ts";

/**
 * Three nodes on one PostgreSQL, and live sessions of all agents at the same time. Each session is a shell script that waits
 * until all are told to end.
 */
export const sessions: Entry = {
  name: "sessions",
  about: "500 live sessions over three nodes",
  onlyIfNamed: true,
  run: async (bench) => {
    // It always runs on PostgreSQL.
    if (bench.store === "postgres") return [];
    const count = bench.quick ? 12 : 500;
    const gate = join(mkdtempSync(join(bench.folder, "gate-")), "gate");
    execFileSync("mkfifo", [gate]);
    const stops: (() => Promise<unknown>)[] = [async () => rmSync(gate, { force: true })];
    try {
      const server = await startPostgres();
      stops.push(() => server.stop());
      const newDatabase = async (): Promise<string> => (await createDatabase(server.url)).url;
      const on: Bench = { ...bench, store: "postgres", newDatabase };
      // A shell that opens the pipe waits for a writer. When the writer closes the pipe, all of them end.
      const command = ["/bin/sh", "-c", 'read -r line < "$1"', "sh", gate] as const;
      const home = await prepareHome(on, ({ store, ...at }) =>
        fillRestingAgents(store, at, { agents: count, outcomes: count }, () => command),
      );
      const nodes: Daemon[] = [];
      for (let index = 0; index < 3; index++) {
        const path = index === 0 ? home.path : mkdtempSync(join(bench.folder, "node-"));
        if (index > 0) copyFileSync(join(home.path, "audit-key"), join(path, "audit-key"));
        const node = await startDaemon(on, { ...home, path }, { agents: true });
        stops.push(node.stop);
        nodes.push(node);
      }
      const [first] = nodes;
      if (first === undefined) throw new Error("no node runs");
      const { companyId } = home;
      await first.client.call(updateCompany, { companyId, maxSessions: 1000 });
      const empty = nodes.map(({ pid }) => residentMegabytes(pid));

      const db = new pg.Client({ connectionString: home.databaseUrl });
      await db.connect();
      stops.push(() => db.end());
      const rows = async (): Promise<Session[]> => (await db.query<Session>(allSessions)).rows;
      const live = (found: readonly Session[]) => found.filter(({ ended }) => !ended);

      const start = performance.now();
      const senders = nodes.map(async ({ client }, node) => {
        for (const [index, agent] of home.filled.entries())
          if (index % nodes.length === node)
            await client.call(sendMessage, { companyId, to: agent.id, body: "Look into this." });
      });
      const asked = Promise.all(senders).then(() => performance.now() - start);
      const all = await until(async () => {
        const found = await rows();
        return live(found).filter(({ pid }) => pid !== null).length >= count ? found : undefined;
      }, `${count} live sessions`);
      const took = performance.now() - start;
      bench.say(`${count} messages were sent in ${Math.round(await asked)} ms`);

      demandOneEach(all, count);
      const perNode = Map.groupBy(all, ({ node }) => node);
      bench.say(`sessions of each node: ${[...perNode.values()].map(({ length }) => length).join(", ")}`);
      const full = nodes.map(({ pid }) => residentMegabytes(pid));
      bench.say(
        `memory of each node in MB: ${full.map(Math.round).join(", ")}; without sessions ${empty.map(Math.round).join(", ")}`,
      );

      const waits: number[] = [];
      for (let round = 0; round < (bench.quick ? 3 : 50); round++)
        for (const { client } of nodes) {
          const from = performance.now();
          await client.call(createFile, { companyId, description: `Notes ${round}`, content: "x" });
          waits.push(performance.now() - from);
        }

      const idle = await idlePercent(
        bench,
        nodes.map(({ pid }) => pid),
      );
      bench.say(
        `share of a core of each node while all sessions wait, in %: ${idle.map((part) => part.toFixed(1)).join(", ")}`,
      );

      // Nothing has ended or started meanwhile.
      demandOneEach(await rows(), count);
      const endStart = performance.now();
      const known = new Set(all.map(({ id }) => id));
      await until(async () => {
        letGo(gate);
        const ended = (await rows()).filter(({ id, ended, settled }) => known.has(id) && ended && settled);
        return ended.length === count ? true : undefined;
      }, "the end of all sessions");
      const ending = performance.now() - endStart;
      const least = Math.min(...nodes.map((_, index) => [...perNode.values()][index]?.length ?? 0));
      // Their messages are still there. They would start further sessions and delay the stop.
      await first.client.call(freezeCompany, { companyId });
      return [
        { name: `start of ${count} sessions over 3 nodes`, unit: "ms", value: took },
        { name: `end of ${count} sessions over 3 nodes`, unit: "ms", value: ending },
        { name: "sessions of the node with the fewest", unit: "sessions", value: least },
        {
          name: `a write on one of 3 nodes with ${count} sessions, p99`,
          unit: "ms",
          value: percentile(waits, 99),
          aim: { atMost: 6000 },
        },
        {
          name: `CPU of a node with ${Math.round(count / 3)} sessions that wait`,
          unit: "%",
          value: Math.max(...idle),
        },
        {
          name: `memory of a node with ${Math.round(count / 3)} sessions`,
          unit: "MB",
          value: Math.max(...full),
          baseline: { what: "with none", value: Math.max(...empty) },
        },
      ];
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

/** Throws unless each of `count` agents has had one session, which lives. */
function demandOneEach(all: readonly Session[], count: number): void {
  const agents = new Set(all.map(({ agent }) => agent));
  if (all.length !== count || agents.size !== count)
    throw new Error(`${all.length} sessions of ${agents.size} agents: each must have one`);
  const gone = all.filter(({ pid, ended }) => ended || pid === null || !isAlive(pid));
  if (gone.length > 0) throw new Error(`${gone.length} sessions have no process`);
}

/** Ends the reading of all sessions that wait at the pipe now. */
function letGo(gate: string): void {
  try {
    closeSync(openSync(gate, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch (error) {
    // No session waits at the moment.
    if (Object(error).code !== "ENXIO") throw error;
  }
}

interface Session {
  readonly id: string;
  readonly agent: string;
  readonly node: string;
  readonly pid: number | null;
  readonly ended: boolean;
  readonly settled: boolean;
}

const allSessions = `select id, agent_id as agent, node_id as node, pid::int, ended_at is not null as ended, settled = 1 as settled
  from sessions`;

async function until<T>(look: () => Promise<T | undefined>, about: string): Promise<T> {
  for (const from = performance.now(); ; await sleep(50)) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() - from > 300_000) throw new Error(`${about} did not come within 5 minutes`);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
