import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { type Bench, type Entry, rounds, sizes, sliceMilliseconds } from "./bench.ts";
import { fillFiles, fillOutcomes } from "./fill.ts";
import { atRest, type Daemon, type Home, prepareHome, startDaemon } from "./home.ts";
import { type Pair, type Requests, startLoad } from "./load.ts";
import { inTurns, ratePerSecond } from "./timing.ts";

/**
 * An agent's writes over HTTP. Each is acknowledged once it is durable, and includes the credential, rights, version,
 * content, search index and event. The baseline is a loop that commits one row with the same payload and durability.
 */
export const writes: Entry = {
  name: "writes",
  about: "durable knowledge and outcome writes over HTTP",
  run: async (bench) => {
    const [few, many] = sizes(bench, 20_000, 200);
    const load = startLoad();
    const stops: (() => Promise<void>)[] = [() => load.stop()];
    try {
      const raw = bench.store === "sqlite" ? rawSqlite(bench) : await rawPostgres(bench);
      stops.push(raw.close);
      const subjects: Subject[] = [];
      for (const rows of [few, many]) {
        bench.say(`filling a home with ${rows} files and ${rows} outcomes`);
        const home = await prepareHome(bench, async ({ store, companyId, rootAgentId }) => ({
          files: await fillFiles(store, companyId, rootAgentId, rows, () => payload),
          outcomes: await fillOutcomes(store, companyId, rootAgentId, rootAgentId, rows),
        }));
        const daemon = await startDaemon(bench, home);
        stops.push(daemon.stop);
        subjects.push({ home, daemon, token: await daemon.agentKey(home.rootAgentId) });
      }
      const figures = [];
      const slice =
        (subject: Subject | undefined, clients: number, requestsOn: (home: Filled) => Requests) =>
        async (milliseconds = sliceMilliseconds(bench)) => {
          if (subject === undefined) return Number.NaN;
          for (const { home } of subjects) await atRest(home);
          const { home, daemon, token } = subject;
          const requests = requestsOn(home);
          return (await load.run({ url: daemon.url, token, clients, milliseconds, requests })).perSecond;
        };
      const rawRate = async () => {
        for (const { home } of subjects) await atRest(home);
        return ratePerSecond(sliceMilliseconds(bench), raw.insert);
      };
      const what = "commits of one row";
      for (const [name, requestsOn, atLeast] of kinds)
        for (const clients of [1, 16]) {
          const [small, large] = [0, 1].map((index) => slice(subjects[index], clients, requestsOn));
          if (small === undefined || large === undefined) continue;
          // Warm up: the first requests include compiling code and opening files.
          await small();
          await large();
          const measured = await inTurns(rounds(bench), { small, large, raw: rawRate });
          figures.push({
            name: `${name}, ${clients} client${clients === 1 ? "" : "s"}`,
            unit: "/s" as const,
            rows: `${many} of each`,
            value: measured.large,
            small: measured.small,
            baseline: { what, value: measured.raw },
            aim: { atLeast, of: "baseline" as const },
          });
        }
      // Long enough to include the work behind the writes: moving content to files, and checkpoints.
      const seconds = bench.quick ? 0.1 : 20;
      const sustained = slice(subjects[1], 16, createFile);
      figures.push({
        name: `create a file, 16 clients, ${seconds} s without a pause`,
        unit: "/s" as const,
        rows: `${many} of each`,
        value: await sustained(seconds * 1000),
        baseline: { what, value: await rawRate() },
        aim: { atLeast: 1 / 3, of: "baseline" as const },
      });
      return figures;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

const bytes = 1000;
const payload = "Some notes of ordinary length. ".repeat(40).slice(0, bytes);

type Filled = Home<{ files: Pair[]; outcomes: string[] }>;

interface Subject {
  readonly home: Filled;
  readonly daemon: Daemon;
  readonly token: string;
}

const createFile = (home: Filled): Requests => ({ kind: "create file", companyIds: [home.companyId], bytes });

/** Each with the least share of the raw commits that it should reach. */
const kinds: readonly (readonly [string, (home: Filled) => Requests, number])[] = [
  [
    "overwrite a file",
    (home) => ({ kind: "overwrite", files: home.filled.files.slice(0, 16), bytes }),
    1 / 3,
  ],
  ["create a file", createFile, 1 / 3],
  [
    "create an outcome",
    (home) => ({
      kind: "create outcome",
      companyId: home.companyId,
      parents: home.filled.outcomes.slice(-100),
    }),
    0.4,
  ],
];

const columns = "(id, hash, at, content) values";

function rawSqlite(bench: Bench) {
  const db = new DatabaseSync(join(mkdtempSync(join(bench.folder, "raw-")), "raw.db"));
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000");
  db.exec("create table raw (id text, hash text, at integer, content blob)");
  const insert = db.prepare(`insert into raw ${columns} (?, ?, ?, ?)`);
  const content = Buffer.from(payload);
  return {
    insert: async (index: number) => insert.run(`id ${index}`, "0".repeat(64), Date.now(), content),
    close: async () => db.close(),
  };
}

async function rawPostgres(bench: Bench) {
  const client = new pg.Client({ connectionString: await bench.newDatabase() });
  await client.connect();
  await client.query("create table raw (id text, hash text, at bigint, content bytea)");
  const content = Buffer.from(payload);
  return {
    insert: (index: number) =>
      client.query({
        name: "insert",
        text: `insert into raw ${columns} ($1, $2, $3, $4)`,
        values: [`id ${index}`, "0".repeat(64), Date.now(), content],
      }),
    close: () => client.end(),
  };
}
