import { copyFileSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { createKey } from "../src/contract/agents.ts";
import { createCompany } from "../src/contract/companies.ts";
import { createOutcome } from "../src/contract/outcomes.ts";
import { createDatabase, startPostgres } from "../src/testing/postgres.ts";
import { watchStatements } from "../src/testing/statements.ts";
import { type Bench, type Entry, rounds, sliceMilliseconds } from "./bench.ts";
import type { Figure } from "./figures.ts";
import { fillAgents, fillOutcomes } from "./fill.ts";
import {
  atRest,
  correspondents,
  type Daemon,
  type Home,
  openCore,
  prepareHome,
  startDaemon,
} from "./home.ts";
import { type Correspondents, type Load, type Requests, startLoad } from "./load.ts";
import { inTurns, percentile, watchCores } from "./timing.ts";

/**
 * PostgreSQL and SQLite take turns with the same work. Two daemons on one database are compared with one of them, and 16
 * companies with one. Everything is measured in one run: on a busy machine only such ratios mean anything.
 */
export const postgres: Entry = {
  name: "postgres",
  about: "writes on PostgreSQL beside SQLite, over two nodes and in 16 companies",
  onlyIfNamed: true,
  run: async (bench) => {
    // The first run measures both stores.
    if (bench.store === "postgres") return [];
    const loads = [startLoad(), startLoad()] as const;
    const stops: (() => Promise<void>)[] = loads.map((load) => () => load.stop());
    try {
      const server = await startPostgres();
      stops.push(() => server.stop());
      const newDatabase = async (): Promise<string> => (await createDatabase(server.url)).url;
      const onPostgres: Bench = { ...bench, store: "postgres", newDatabase };
      const start = async (on: Bench, home: Filled): Promise<Daemon> => {
        const daemon = await startDaemon(on, home);
        stops.push(daemon.stop);
        return daemon;
      };
      const subjectOn = async (on: Bench): Promise<Subject> => {
        const home = await prepareHome(on, async ({ store, companyId, rootAgentId }) => ({
          outcomes: await fillOutcomes(store, companyId, rootAgentId, rootAgentId, bench.quick ? 20 : 2000),
          agents: (await fillAgents(store, companyId, rootAgentId, 100, 6)).filter(
            ({ path }) => path.length === 3,
          ),
        }));
        const daemon = await start(on, home);
        const pairs = await correspondents(daemon, home.filled.agents.slice(0, clients));
        return { home, daemon, token: await daemon.agentKey(home.rootAgentId), pairs };
      };
      const [sqlite, subject] = [await subjectOn(bench), await subjectOn(onPostgres)];

      const figures: Omit<Figure, "store">[] = [];
      const aim = (atLeast: number) => ({ aim: { atLeast, of: "baseline" as const } });
      const compare = async (name: string, slices: Slices, than: string, atLeast: number): Promise<Busy> => {
        const shares: Record<keyof Slices, number[]> = { large: [], raw: [] };
        const watched = (side: keyof Slices) => async () => {
          const coresUsed = watchCores();
          const rate = await slices[side]();
          shares[side].push(coresUsed());
          return rate;
        };
        for (const slice of [slices.large, slices.raw]) await slice();
        const { large, raw } = await inTurns(rounds(bench), { large: watched("large"), raw: watched("raw") });
        figures.push({
          name,
          unit: "/s",
          value: large,
          baseline: { what: than, value: raw },
          ...aim(atLeast),
        });
        return { large: percentile(shares.large, 50), raw: percentile(shares.raw, 50) };
      };
      /** Without a core left for them, two nodes or 16 companies can't be faster. */
      const compareCores = async (...compared: Parameters<typeof compare>): Promise<void> => {
        const [name, , than] = compared;
        const { large, raw } = await compare(...compared);
        const baseline = { what: than, value: raw };
        figures.push({ name: `${name}: cores in use`, unit: "%", value: large, baseline });
      };
      const [load, second] = loads;
      for (const [name, calls, requests] of kinds) {
        const slice = (at: Subject) => async () => {
          await atRest(at.home);
          const plan = requests(at);
          // People approve hires.
          const token = plan.kind === "hire and approve" ? at.home.boardToken : at.token;
          return (await run(bench, load, at.daemon.url, token, clients, plan)) / calls;
        };
        const slices = { large: slice(subject), raw: slice(sqlite) };
        await compare(`${name} on PostgreSQL, ${clients} clients`, slices, "on SQLite", 0.5);
      }

      const { home, daemon } = subject;
      const otherPath = mkdtempSync(join(bench.folder, "node-"));
      copyFileSync(join(home.path, "audit-key"), join(otherPath, "audit-key"));
      const other = await start(onPostgres, { ...home, path: otherPath });
      const create = (where: Load, url: string, count: number, companyIds: readonly string[]) =>
        run(bench, where, url, home.boardToken, count, { kind: "create file", companyIds, bytes });
      const one = (count: number) => (): Promise<number> => create(load, daemon.url, count, [home.companyId]);
      const two = (count: number, companyIds: readonly string[]) => async (): Promise<number> => {
        const rates = [load, second].map((where, index) =>
          create(where, index === 0 ? daemon.url : other.url, count / 2, companyIds),
        );
        return (await Promise.all(rates)).reduce((sum, rate) => sum + rate, 0);
      };
      const companies: string[] = [];
      for (let index = 0; index < clients; index++)
        companies.push((await daemon.client.call(createCompany, { name: `Company ${index}` })).id);
      for (const count of [clients, manyClients]) {
        const slices = { large: two(count, [home.companyId]), raw: one(count) };
        await compareCores(`create a file over two nodes, ${count} clients`, slices, "on one node", 1);
      }
      // One daemon computes on one core. So this shows what the companies of an installation can use together.
      for (const count of [clients, manyClients]) {
        const slices = { large: two(count, companies), raw: one(count) };
        const name = `create a file in 16 companies over two nodes, ${count} clients`;
        await compareCores(name, slices, "in one company on one node", 1.3);
      }
      await other.stop();
      for (const count of [clients, manyClients]) {
        const many = () => create(load, daemon.url, count, companies);
        const slices = { large: many, raw: one(count) };
        await compareCores(`create a file in 16 companies, ${count} clients`, slices, "in one company", 1.3);
      }
      figures.push({
        name: `create an outcome on PostgreSQL, ${clients} at once`,
        unit: "statements",
        value: await statementsOf(home),
        aim: { atMost: 10 },
      });
      return figures;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

type Filled = Home<{ outcomes: string[]; agents: { id: string; path: readonly string[] }[] }>;
type Slices = Record<"large" | "raw", () => Promise<number>>;
/** The used share of all cores, in percent. */
type Busy = Record<keyof Slices, number>;

interface Subject {
  readonly home: Filled;
  readonly daemon: Daemon;
  readonly token: string;
  readonly pairs: readonly Correspondents[];
}

const clients = 16;
/** 16 clients wait for the disk and for each other most of the time, so they can't keep both cores busy. */
const manyClients = 64;
const bytes = 1000;

/** What is done, the number of calls it takes, and the calls. */
const kinds: readonly (readonly [string, number, (at: Subject) => Requests])[] = [
  ["create a file", 1, ({ home }) => ({ kind: "create file", companyIds: [home.companyId], bytes })],
  [
    "create an outcome",
    1,
    ({ home }) => ({
      kind: "create outcome",
      companyId: home.companyId,
      parents: home.filled.outcomes.slice(-100),
    }),
  ],
  [
    "a message sent, read, acknowledged",
    3,
    ({ home, pairs }) => ({ kind: "mail", companyId: home.companyId, pairs }),
  ],
  ["hire and approve", 2, ({ home }) => ({ kind: "hire and approve", companyId: home.companyId })],
];

async function run(
  bench: Bench,
  load: Load,
  url: string,
  token: string,
  count: number,
  requests: Requests,
): Promise<number> {
  const milliseconds = sliceMilliseconds(bench);
  return (await load.run({ url, token, clients: count, milliseconds, requests })).perSecond;
}

/**
 * The number of statements that the database gets for an outcome of an agent, in this process. Transactions and savepoints
 * count too.
 */
async function statementsOf(home: Filled): Promise<number> {
  const core = await openCore(home);
  try {
    const { key } = createKey.output.parse(
      await core.call(createKey, { id: home.rootAgentId }, home.boardToken),
    );
    const parents = home.filled.outcomes.slice(-clients);
    const some = () =>
      Promise.all(
        parents.map((parent) =>
          core.call(createOutcome, { companyId: home.companyId, title: "Outcome", parents: [parent] }, key),
        ),
      );
    await some();
    const watched = watchStatements();
    try {
      const turns = 20;
      for (let turn = 0; turn < turns; turn++) await some();
      return watched.texts.length / turns / clients;
    } finally {
      watched.stop();
    }
  } finally {
    await core.close();
  }
}
