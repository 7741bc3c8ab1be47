import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";

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

/** Runs the benchmark as `npm run bench` does, but on the sources, without a build. */
function bench(...flags: string[]) {
  const output = mkdtempSync(join(tmpdir(), "agency-bench-test-"));
  try {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        join(root, "bench/main.ts"),
        "--quick",
        "--cli",
        join(root, "src/cli/main.ts"),
        "--output",
        output,
        ...flags,
      ],
      { encoding: "utf8", timeout: 300_000 },
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

// Runs all entries. A change of the product that breaks a benchmark fails here, before its figures are needed.
test("every entry runs, is compared with a raw loop and shows its growth", () => {
  const { status, table, said, figures } = bench();
  assert.equal(status, 0, said);
  const check = figures.find(({ name }) => name === "right check, granted");
  assert.ok(check?.ratio !== undefined && check.growth !== undefined && check.small !== undefined);
  assert.equal(check.growth, check.small / check.value);
  for (const { name, value } of figures) {
    assert.ok(table.includes(name), `the table leaves out ${name}`);
    assert.ok(value > 0 || name.startsWith("CPU"), name);
  }
  for (const name of [
    "create an outcome, 16 clients",
    "subtree over HTTP, p50",
    "list 50 agents",
    "read_file (2026), 1 client",
    "hire and approve, 16 clients",
    "start until healthy",
    "a message sent, read, acknowledged, 16 clients",
    "message to process, p99",
    "lateness of a deferred message, p99",
    "memory with 20 sessions",
  ])
    assert.ok(
      figures.some((figure) => figure.name === name),
      `no figure of ${name}`,
    );
});

test("an unknown entry is refused with the list of entries", () => {
  const { status, said, figures } = bench("--only", "everything");
  assert.equal(status, 2);
  assert.match(said, /rights, writes/);
  assert.deepEqual(figures, []);
});
