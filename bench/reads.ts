import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { type Bench, type Entry, rounds, sizes, sliceMilliseconds } from "./bench.ts";
import { fillAgents, fillOutcomes, fillSubtrees } from "./fill.ts";
import { type Daemon, type Home, openCore, prepareHome, startDaemon } from "./home.ts";
import { type Load, startLoad } from "./load.ts";
import { inTurns, medianMilliseconds } from "./timing.ts";
import { viewSubtree } from "../src/contract/outcomes.ts";
import { updating } from "../src/store/query.ts";

/** Reads a subtree of a thousand outcomes out of many, as the responsible agent. */
export const subtree: Entry = {
  name: "subtree",
  about: "a subtree of 1,000 outcomes out of a large DAG",
  run: async (bench) => {
    const size = bench.quick ? 50 : 1000;
    const [few, many] = sizes(bench, 100_000, 1_000);
    return onTwo(
      bench,
      [few, many],
      async ({ store, companyId, rootAgentId }, rows) => {
        const tops = await fillSubtrees(store, companyId, rootAgentId, rootAgentId, rows, size);
        return { tops };
      },
      async (small, large, load) => {
        const repetitions = bench.quick ? 2 : 20;
        const inProcess = (subject: Subject<{ tops: string[] }>) => async () => {
          const core = await openCore(subject.home);
          try {
            return await medianMilliseconds(repetitions, (index) =>
              core.call(viewSubtree, { id: topAt(subject, index) }, subject.token),
            );
          } finally {
            await core.close();
          }
        };
        const overHttp = (subject: Subject<{ tops: string[] }>) => async () =>
          (
            await load.run({
              url: subject.daemon.url,
              token: subject.token,
              clients: 1,
              milliseconds: sliceMilliseconds(bench),
              requests: {
                kind: "get",
                paths: subject.home.filled.tops.map((id) => `/api/outcomes/${id}/subtree`),
              },
            })
          ).p50;
        const raw = async () =>
          medianMilliseconds(repetitions, (index) =>
            large.raw(recursive, [topAt(large, index)]).then(JSON.stringify),
          );
        const figures = [];
        for (const [name, slice] of [
          ["subtree in process, p50", inProcess],
          ["subtree over HTTP, p50", overHttp],
        ] as const) {
          await slice(large)();
          const measured = await inTurns(rounds(bench), { small: slice(small), large: slice(large), raw });
          figures.push({
            name,
            unit: "ms" as const,
            rows: `${size} of ${many}`,
            value: measured.large,
            small: measured.small,
            baseline: { what: "one recursive select", value: measured.raw },
            aim: { atMost: 10 },
          });
        }
        return figures;
      },
    );
  },
};

const recursive = `with recursive down(id) as (
    select id from outcomes where id = ? union select e.child_id from edges e join down d on d.id = e.parent_id)
  select o.* from down join outcomes o on o.id = down.id`;

/** Reads pages of a thousand rows, as the board. */
export const lists: Entry = {
  name: "lists",
  about: "unchanged pages of 1,000 agents and of 1,000 outcomes over HTTP, compressed, 16 clients",
  run: async (bench) => {
    const page = bench.quick ? 50 : 1000;
    const [few, many] = sizes(bench, 10_000, 500);
    return onTwo(
      bench,
      [few, many],
      async ({ store, companyId, rootAgentId }, rows) => {
        await fillAgents(store, companyId, rootAgentId, rows, 6);
        await fillOutcomes(store, companyId, rootAgentId, rootAgentId, rows);
        return {};
      },
      async (small, large, load) => {
        const figures = [];
        for (const [name, path, table] of [
          [`${page} agents`, "agents", "agents"],
          [`${page} outcomes`, "outcomes", "outcomes"],
        ] as const) {
          const slice = (subject: Subject<unknown>) => async () =>
            (
              await load.run({
                url: subject.daemon.url,
                token: subject.home.boardToken,
                clients: 16,
                milliseconds: sliceMilliseconds(bench),
                requests: {
                  kind: "get",
                  paths: [`/api/companies/${subject.home.companyId}/${path}?limit=${page}`],
                  packed: true,
                },
              })
            ).perSecond;
          const raw = async () => {
            const milliseconds = await medianMilliseconds(bench.quick ? 2 : 20, () =>
              large
                .raw(`select * from ${table} where company_id = ? limit ${page}`, [large.home.companyId])
                .then(JSON.stringify),
            );
            return 1000 / milliseconds;
          };
          await slice(large)();
          const measured = await inTurns(rounds(bench), { small: slice(small), large: slice(large), raw });
          figures.push({
            name: `list ${name}`,
            unit: "/s" as const,
            rows: `${many} of each`,
            value: measured.large,
            small: measured.small,
            baseline: { what: "select and JSON", value: measured.raw },
            aim: { atLeast: 10, of: "baseline" as const },
          });
        }
        return figures;
      },
    );
  },
};

/** Reads the attention list of a company with many open outcomes, half of them blocked, as the board. */
export const attention: Entry = {
  name: "attention",
  about: "the attention list of a company with 10,000 open outcomes over HTTP",
  run: async (bench) => {
    const [few, many] = sizes(bench, 10_000, 500);
    return onTwo(
      bench,
      [few, many],
      async ({ store, companyId, rootAgentId }, rows) => {
        const ids = await fillOutcomes(store, companyId, rootAgentId, rootAgentId, rows);
        await store.write(async (tx) => {
          for (const id of ids.filter((_, index) => index % 2 === 0))
            await tx.run(block, { id, blocked_reason: "no key" });
        });
        return {};
      },
      async (small, large, load) => {
        const slice = (subject: Subject<unknown>) => async () =>
          (
            await load.run({
              url: subject.daemon.url,
              token: subject.home.boardToken,
              clients: 1,
              milliseconds: sliceMilliseconds(bench),
              requests: { kind: "get", paths: [`/api/companies/${subject.home.companyId}/attention`] },
            })
          ).p50;
        const raw = async () =>
          medianMilliseconds(bench.quick ? 2 : 20, () =>
            large.raw("select * from outcomes where company_id = ? and status in ('open', 'submitted')", [
              large.home.companyId,
            ]),
          );
        await slice(large)();
        const measured = await inTurns(rounds(bench), { small: slice(small), large: slice(large), raw });
        return [
          {
            name: "attention over HTTP, p50",
            unit: "ms" as const,
            rows: `${many} open outcomes, ${many / 2} items`,
            value: measured.large,
            small: measured.small,
            baseline: { what: "one select of the open outcomes", value: measured.raw },
            aim: { atMost: 150 },
          },
        ];
      },
    );
  },
};

const block = updating("outcomes", ["blocked_reason"], ["id"]);

interface Subject<T> {
  readonly home: Home<T>;
  readonly daemon: Daemon;
  readonly token: string;
  raw(sql: string, values: string[]): Promise<unknown[]>;
}

function topAt(subject: Subject<{ tops: string[] }>, index: number): string {
  const { tops } = subject.home.filled;
  return tops[index % tops.length] ?? "";
}

/** Creates two homes, one with few rows and one with many, each with its own daemon. */
async function onTwo<T, R>(
  bench: Bench,
  sizes: readonly [number, number],
  fill: (filling: Parameters<Parameters<typeof prepareHome>[1]>[0], rows: number) => Promise<T>,
  measure: (small: Subject<T>, large: Subject<T>, load: Load) => Promise<R>,
): Promise<R> {
  const load = startLoad();
  const stops: (() => Promise<void>)[] = [() => load.stop()];
  const open = async (rows: number): Promise<Subject<T>> => {
    bench.say(`filling a home with ${rows} rows`);
    const home = await prepareHome(bench, (filling) => fill(filling, rows));
    const daemon = await startDaemon(bench, home);
    stops.push(daemon.stop);
    const raw = await openRaw(home);
    stops.push(raw.close);
    return { home, daemon, token: await daemon.agentKey(home.rootAgentId), raw: raw.all };
  };
  try {
    const small = await open(sizes[0]);
    const large = await open(sizes[1]);
    return await measure(small, large, load);
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

async function openRaw(home: Home<unknown>) {
  if (home.databaseUrl === undefined) {
    const db = new DatabaseSync(home.database, { readOnly: true });
    db.exec("pragma cache_size = -32768; pragma mmap_size = 1073741824");
    return {
      all: async (sql: string, values: string[]): Promise<unknown[]> => db.prepare(sql).all(...values),
      close: async () => db.close(),
    };
  }
  const client = new pg.Client({ connectionString: home.databaseUrl });
  await client.connect();
  return {
    all: async (sql: string, values: string[]): Promise<unknown[]> =>
      (await client.query(sql.replace("?", "$1"), values)).rows,
    close: () => client.end(),
  };
}
