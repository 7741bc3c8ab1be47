// Which test files a run runs, and in which processes.
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

export type Length = "quick" | "whole" | "long";

/** Files that run under the same conditions. */
export interface Lane {
  /** Longest first. Whatever serves the lane takes from the front. */
  readonly files: string[];
  /** Several files run in one process, one after another. */
  readonly shared: boolean;
  /** Mostly waits for processes and clocks, so another process may compute beside it. */
  readonly waits: boolean;
  readonly env: NodeJS.ProcessEnv;
}

export interface Wish {
  readonly length: Length;
  /** Parts of paths; none means all files. */
  readonly wanted: readonly string[];
  readonly seed: number;
}

export function plan({ length, wanted, seed }: Wish): Lane[] {
  const isNamed = wanted.length > 0;
  const folders = length === "quick" ? ["src", "test"] : ["src", "test", "e2e"];
  const files = globSync(folders.map((folder) => `${folder}/**/*.test.ts`))
    .filter((file) => isNamed || belongsTo(length, file))
    .filter((file) => !isNamed || wanted.some((part) => file.includes(part)))
    .toSorted((a, b) => secondsOf(b) - secondsOf(a) || (a < b ? -1 : 1));

  const endToEnd = files.filter((file) => file.startsWith("e2e/"));
  const others = files.filter((file) => !file.startsWith("e2e/"));
  // Most suites run the same code on both stores, so the whole run plays them on SQLite. A few, different ones each
  // time, are played on PostgreSQL as well.
  const isLean = length === "whole" && !isNamed;
  const onBoth = isLean ? draw(others.filter(isOfStore), suitesOnBoth, seed) : [];
  const rest = others.filter((file) => !onBoth.includes(file));
  return [
    lane(endToEnd.filter(mostlyWaits), { waits: true }),
    lane(endToEnd.filter((file) => !mostlyWaits(file))),
    lane(onBoth, { shared: true }),
    lane(rest, { shared: true, env: isLean ? { AGENCY_TEST_LEAN: "1" } : {} }),
  ];
}

const suitesOnBoth = 4;

/** These prove the tests and the benchmark, not the product. */
function belongsTo(length: Length, file: string): boolean {
  if (file.includes("planted-bugs")) return length === "long";
  if (file.includes("bench.test")) return length !== "quick";
  return true;
}

function lane(files: string[], options: Partial<Lane> = {}): Lane {
  return { files, shared: false, waits: false, env: {}, ...options };
}

function isOfStore(file: string): boolean {
  return file.endsWith(".db.test.ts");
}

/** Seconds on an idle machine and, of these, seconds of computing; by file name, because files move. */
const known: Record<string, readonly [seconds: number, computing: number]> = JSON.parse(
  readFileSync(join(import.meta.dirname, "test-seconds.json"), "utf8"),
);

function secondsOf(file: string): number {
  return known[basename(file)]?.[0] ?? 0;
}

function mostlyWaits(file: string): boolean {
  const [seconds = 0, computing = 0] = known[basename(file)] ?? [];
  return computing < seconds / 2;
}

/** As many as wanted, in the order given; other ones for another seed. */
function draw(files: readonly string[], count: number, seed: number): string[] {
  const drawn = new Set<string>();
  for (let state = seed; drawn.size < Math.min(count, files.length);) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    drawn.add(files[(state >>> 8) % files.length] ?? "");
  }
  return files.filter((file) => drawn.has(file));
}
