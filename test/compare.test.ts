// Tests bench/compare with the real Agency on both stores, and a small server in place of Paperclip: a test must not fetch
// anything.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agency } from "../bench/compare/agency.ts";
import { asPage } from "../bench/compare/page.ts";
import { paperclip } from "../bench/compare/paperclip.ts";
import type { Driver } from "../bench/compare/system.ts";
import { compare, figured } from "../bench/compare/turns.ts";
import { entryPoint } from "../src/cli/where.ts";
import { tracesOfAMachine } from "./architecture.ts";

const own = (database: Driver["database"]): Driver => ({
  ...agency(database, { cli: entryPoint() }),
  install: async (folder) => {
    mkdirSync(join(folder, "node_modules"));
    writeFileSync(join(folder, "node_modules", "file"), Buffer.alloc(2 ** 20));
    return join(folder, "node_modules");
  },
});

/** The small server, beside node_modules: Node strips no types of files below that folder. */
const standIn: Driver = {
  ...paperclip("../server.ts"),
  install: async (folder) => {
    const place = join(folder, "node_modules", "paperclipai");
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "package.json"), JSON.stringify({ version: "1.2.3" }));
    cpSync(join(import.meta.dirname, "compare-stand-in.ts"), join(folder, "server.ts"));
    return join(folder, "node_modules");
  },
};

test("every system gets the same work, and the page shows every figure and the machine", async () => {
  const said: string[] = [];
  const compared = await compare({
    drivers: [own("SQLite"), own("PostgreSQL"), standIn],
    rounds: 1,
    seconds: 0.05,
    rows: 40,
    restSeconds: 0,
    say: (line) => said.push(line),
  });
  assert.deepEqual(
    compared.systems.map(({ name, database }) => `${name} ${database}`),
    ["Agency SQLite", "Agency PostgreSQL", "Paperclip PostgreSQL"],
  );
  assert.equal(compared.systems[2]?.version, "1.2.3");
  for (const { name, figures } of compared.systems)
    for (const [key, { median, failed }] of figures) assert.ok(median > 0 && failed === 0, `${name} ${key}`);
  assert.equal(Math.round(compared.systems[0]?.figures.get("size")?.median ?? 0), 1);
  assert.ok(compared.raw.sqlite.median > 0 && compared.raw.postgres.median > 0);
  const page = asPage(compared);
  assert.match(page, /^Machine: .+, \d+ cores, \d+ GB, \w+, Node [\d.]+, PostgreSQL [\d.]+\.$/m);
  for (const [, what] of figured)
    assert.match(page, new RegExp(`^\\| ${what} \\|(?: [\\d,.]+[^|]*\\|){3}$`, "m"), what);
  assert.doesNotMatch(page, /NaN|Infinity|undefined/);
  assert.deepEqual(tracesOfAMachine(new Map([["docs/benchmarks.md", page]])), []);
});

test("work that a system refuses is shown as failed, and the rest is measured", async () => {
  const refusing: Driver = {
    ...standIn,
    open: async (...given) => {
      const system = await standIn.open(...given);
      return {
        ...system,
        work: async (connections) => {
          const work = await system.work(connections);
          return { ...work, message: () => Promise.reject(new Error("answered 500")) };
        },
      };
    },
  };
  const said: string[] = [];
  const compared = await compare({
    drivers: [refusing],
    rounds: 2,
    seconds: 0.02,
    rows: 20,
    restSeconds: 0,
    say: (line) => said.push(line),
  });
  const figures = compared.systems[0]?.figures ?? assert.fail();
  assert.equal(figures.get("message")?.failed, 2);
  assert.ok((figures.get("hire")?.median ?? 0) > 0);
  assert.ok(said.includes("Paperclip (PostgreSQL), message: answered 500"));
  assert.match(asPage(compared), /^\| send a message, 16 clients \| failed \|$/m);
});

test("a system that lists fewer items than it was given is not compared", async () => {
  const short = {
    drivers: [standIn],
    rounds: 1,
    seconds: 0.02,
    rows: 1001,
    restSeconds: 0,
    say: () => undefined,
  };
  await assert.rejects(compare(short), /Paperclip lists 1000 work items instead of 1001/);
});
