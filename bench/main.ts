// `npm run bench` measures how fast Agency is. Each figure has a baseline, measured on the same machine in the same minute.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createDatabase, type PostgresServer, startPostgres } from "../src/testing/postgres.ts";
import type { Entry } from "./bench.ts";
import { brains } from "./brains.ts";
import { asTable, type Figure, growthOf, isMet, ratioOf } from "./figures.ts";
import { dashboard } from "./dashboard.ts";
import { floods } from "./floods.ts";
import { heap } from "./heap.ts";
import { hiring } from "./hiring.ts";
import { interactions } from "./interactions.ts";
import { crowd, deferred, mail, wake } from "./living.ts";
import { mcp } from "./mcp.ts";
import { memory } from "./memory.ts";
import { attention, lists, subtree } from "./reads.ts";
import { postgres } from "./both-stores.ts";
import { repos } from "./repos.ts";
import { rights } from "./rights.ts";
import { sessions } from "./sessions.ts";
import { start } from "./start.ts";
import { status } from "./status-page.ts";
import { tokens } from "./tokens.ts";
import { writes } from "./writes.ts";

const entries: readonly Entry[] = [
  rights,
  writes,
  subtree,
  lists,
  attention,
  mcp,
  floods,
  hiring,
  start,
  status,
  mail,
  wake,
  deferred,
  crowd,
  tokens,
  brains,
  repos,
  postgres,
  sessions,
  dashboard,
  interactions,
  heap,
  memory,
];

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    postgres: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    cli: { type: "string", default: join(import.meta.dirname, "..", "dist", "cli", "main.js") },
    output: { type: "string", default: join(import.meta.dirname, "results") },
  },
});

const chosen = entries.filter(({ name, onlyIfNamed }) =>
  flags.only.length === 0 ? onlyIfNamed !== true : flags.only.includes(name),
);
if (chosen.length === 0) {
  console.error(`There is no such benchmark. Choose from: ${entries.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const figures: Figure[] = [];
await measureOn("sqlite");
if (flags.postgres) await measureOn("postgres");
console.log(`\n${asTable(figures, !flags.quick)}`);
keep();

async function measureOn(store: "sqlite" | "postgres"): Promise<void> {
  const server: PostgresServer | undefined = store === "postgres" ? await startPostgres() : undefined;
  try {
    for (const entry of chosen) {
      const folder = mkdtempSync(join(tmpdir(), "agency-bench-"));
      const say = (line: string): void => console.error(`${store} ${entry.name}: ${line}`);
      say(entry.about);
      try {
        const measured = await entry.run({
          store,
          quick: flags.quick,
          folder,
          cli: flags.cli,
          newDatabase: async () => {
            if (server === undefined) throw new Error("this run has no PostgreSQL server");
            return (await createDatabase(server.url)).url;
          },
          say,
        });
        // Aims apply only to SQLite, the default store.
        for (const { aim, ...figure } of measured)
          figures.push({ ...figure, store, ...(store === "sqlite" && aim !== undefined ? { aim } : {}) });
        say(`done\n${asTable(figures.slice(-measured.length), !flags.quick)}`);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }
  } finally {
    await server?.stop();
  }
}

function keep(): void {
  mkdirSync(flags.output, { recursive: true });
  const at = new Date().toISOString();
  const file = join(flags.output, `${at.replaceAll(/[:.]/g, "-")}.json`);
  const machine = { cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, node: process.version };
  const results = figures.map((figure) => ({
    ...figure,
    ratio: ratioOf(figure),
    growth: growthOf(figure),
    met: isMet(figure),
  }));
  writeFileSync(file, `${JSON.stringify({ at, quick: flags.quick, machine, figures: results }, null, 2)}\n`);
  console.error(`\nFigures saved to ${file}`);
}
