import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { type Bench, type Entry, rounds, sizes, sliceMilliseconds } from "./bench.ts";
import { fillFiles, fillOutcomes } from "./fill.ts";
import { type Daemon, type Home, prepareHome, startDaemon } from "./home.ts";
import { type Pair, type Requests, startLoad } from "./load.ts";
import { inTurns, ratePerSecond } from "./timing.ts";

/**
 * Writes over HTTP, each acknowledged when it is durable, as an agent makes them: credential, rights, version, content,
 * search index, event. Beside them a loop that commits one row of the same payload with the same durability.
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
      const subjects: { home: Filled; daemon: Daemon; token: string }[] = [];
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
      for (const [name, requestsOn] of kinds)
        for (const clients of [1, 16]) {
          const slice = (subject: (typeof subjects)[number] | undefined) => async () => {
            if (subject === undefined) return Number.NaN;
            const { home, daemon, token } = subject;
            return (
              await load.run({
                url: daemon.url,
                token,
                clients,
                milliseconds: sliceMilliseconds(bench),
                requests: requestsOn(home),
              })
            ).perSecond;
          };
          // The first requests pay for what is compiled and opened on first use.
          for (const subject of subjects) await slice(subject)();
          const measured = await inTurns(rounds(bench), {
            small: slice(subjects[0]),
            large: slice(subjects[1]),
            raw: () => ratePerSecond(sliceMilliseconds(bench), raw.insert),
          });
          figures.push({
            name: `${name}, ${clients} client${clients === 1 ? "" : "s"}`,
            unit: "/s" as const,
            rows: `${many} of each`,
            value: measured.large,
            small: measured.small,
            baseline: { what: "commits of one row", value: measured.raw },
            aim: { atLeast: 1 / 3, of: "baseline" as const },
          });
        }
      return figures;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

const bytes = 1000;
const payload = "Some notes of ordinary length. ".repeat(40).slice(0, bytes);

type Filled = Home<{ files: Pair[]; outcomes: string[] }>;

const kinds: readonly (readonly [string, (home: Filled) => Requests])[] = [
  ["overwrite a file", (home) => ({ kind: "overwrite", files: home.filled.files.slice(0, 16), bytes })],
  ["create a file", (home) => ({ kind: "create file", companyId: home.companyId, bytes })],
  [
    "create an outcome",
    (home) => ({
      kind: "create outcome",
      companyId: home.companyId,
      parents: home.filled.outcomes.slice(-100),
    }),
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
