import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { runLength } from "../src/testing/run-length.ts";
import { sampleOf } from "../src/testing/seeds.ts";

const root = join(import.meta.dirname, "..");
const Kept = z.object({
  figures: z.array(
    z.object({
      name: z.string(),
      // An idle daemon may use no CPU time at all.
      value: z.number().nonnegative(),
      small: z.number().nonnegative().optional(),
      ratio: z.number().positive().optional(),
      growth: z.number().positive().optional(),
    }),
  ),
});

/** The built daemon starts faster. A run that was not built uses the sources. */
const cli = process.env["AGENCY_TEST_BUILT"] === "1" ? "dist/cli/main.js" : "src/cli/main.ts";

/** Runs the benchmark as `npm run bench` does, with the smallest sizes. */
function bench(...flags: string[]) {
  const output = mkdtempSync(join(tmpdir(), "agency-bench-test-"));
  try {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, "bench/main.ts"), "--quick", "--cli", join(root, cli), "--output", output, ...flags],
      { encoding: "utf8", timeout: 900_000 },
    );
    const [file] = readdirSync(output);
    return {
      status,
      table: stdout,
      said: stderr,
      figures:
        file === undefined ? [] : Kept.parse(JSON.parse(readFileSync(join(output, file), "utf8"))).figures,
    };
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** A figure of each entry. The rest of the entry's figures come with it. */
const figureOf = {
  rights: "right check, granted",
  writes: "create an outcome, 16 clients",
  subtree: "subtree over HTTP, p50",
  lists: "list 50 agents",
  attention: "attention over HTTP, p50",
  mcp: "read_file (2026), 1 client",
  floods: "memory after the floods",
  hiring: "hire and approve, 16 clients",
  start: "start until healthy",
  status: "agency status",
  mail: "a message sent, read, acknowledged, 16 clients",
  wake: "message to process, p99",
  deferred: "lateness of a deferred message, p99",
  crowd: "memory with 5 sessions",
  tokens: "tools of a manager",
  repos: "clone of 4 MB, objects shared",
  sessions: "end of 12 sessions over 3 nodes",
};
/** Entries that take longer even with the smallest sizes. Only a long run plays them. */
const longer = {
  postgres: "create an outcome on PostgreSQL, 16 at once",
  heap: "operations while the heap was measured",
  memory: "memory 2 s after its work",
};

// A change of the product that breaks a benchmark fails here, before its figures are needed. A long run plays all entries, except
// those that need a browser or programs from outside.
test("an entry runs, is compared with a raw loop and shows its growth", () => {
  const played = [
    "rights",
    ...sampleOf(Object.keys(figureOf).slice(1), 2),
    ...(runLength === "long" ? Object.keys(longer) : []),
  ];
  const { status, table, said, figures } = bench(...played.flatMap((name) => ["--only", name]));
  assert.equal(status, 0, said);
  const check = figures.find(({ name }) => name === "right check, granted");
  assert.ok(check?.ratio !== undefined && check.growth !== undefined && check.small !== undefined);
  assert.equal(check.growth, check.small / check.value);
  for (const { name, value } of figures) {
    assert.ok(table.includes(name), `the table leaves out ${name}`);
    assert.ok(value > 0 || name.startsWith("CPU"), name);
  }
  for (const [entry, name] of Object.entries({ ...figureOf, ...longer }))
    if (played.includes(entry))
      assert.ok(
        figures.some((figure) => figure.name === name),
        `no figure of ${name}`,
      );
});

test("an unknown entry is refused with the list of entries", () => {
  const { status, said, figures } = bench("--only", "everything");
  assert.equal(status, 2);
  for (const name of Object.keys({ ...figureOf, ...longer })) assert.ok(said.includes(name), said);
  assert.deepEqual(figures, []);
});
