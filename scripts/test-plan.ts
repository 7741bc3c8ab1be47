// Decides which test files a run includes, and in which processes they run.
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

export type Length = "quick" | "whole" | "long";

/** Files that run under the same conditions. */
export interface Lane {
  /** Longest first. Processes take files from the front. */
  readonly files: string[];
  /** Whether a process runs several files, one after another. */
  readonly shared: boolean;
  /** Whether the files mostly wait for processes and clocks, so two other processes may use the CPU. */
  readonly waits: boolean;
  readonly env: NodeJS.ProcessEnv;
}

export interface Wish {
  readonly length: Length;
  /** Parts of paths; none means all files. */
  readonly wanted: readonly string[];
  readonly seed: number;
  /** Parts of paths. These files run before the others, the shortest first. */
  readonly first?: readonly string[];
}

export function plan({ length, wanted, seed, first = [] }: Wish): Lane[] {
  const isNamed = wanted.length > 0;
  const isFirst = (file: string): boolean => first.some((part) => file.includes(part));
  const folders = length === "quick" ? ["src", "test"] : ["src", "test", "e2e"];
  const files = globSync(folders.map((folder) => `${folder}/**/*.test.ts`))
    .filter((file) => isNamed || belongsTo(length, file))
    .filter((file) => !isNamed || wanted.some((part) => file.includes(part)))
    .toSorted(
      (a, b) =>
        Number(isFirst(b)) - Number(isFirst(a)) ||
        (secondsOf(b) - secondsOf(a)) * (isFirst(a) ? -1 : 1) ||
        (a < b ? -1 : 1),
    );

  const endToEnd = files.filter((file) => file.startsWith("e2e/"));
  const others = files.filter((file) => !file.startsWith("e2e/"));
  // Most suites test the same code on both stores, so a whole run plays them on SQLite. It also plays a few of them on
  // PostgreSQL, different ones each time.
  const isLean = length === "whole" && !isNamed;
  const onBoth = isLean ? draw(others.filter(isOfStore), suitesOnBoth, seed) : [];
  const rest = others.filter((file) => !onBoth.includes(file));
  const env = isLean ? { AGENCY_TEST_LEAN: "1" } : {};
  return [
    lane(endToEnd.filter(mostlyWaits), { waits: true }),
    lane(endToEnd.filter((file) => !mostlyWaits(file))),
    lane(onBoth, { shared: true }),
    lane(
      rest.filter((file) => !mostlyWaits(file)),
      { shared: true, env },
    ),
    lane(rest.filter(mostlyWaits), { shared: true, waits: true, env }),
  ];
}

const suitesOnBoth = 4;

/** Tests of the sandbox. They can't run on a machine without one. */
export function needsSandbox(file: string): boolean {
  return basename(file).includes("sandbox");
}

/** Tests on a pseudo-terminal. */
export function needsTerminal(file: string): boolean {
  return basename(file).includes("-pty.");
}

/** Tests of ssh against the server of OpenSSH. */
export function needsSshd(file: string): boolean {
  return basename(file).includes("-sshd.");
}

/** The server of OpenSSH. Undefined: it is not on this machine. */
export function sshServer(): string | undefined {
  return ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/opt/homebrew/sbin/sshd"].find((path) =>
    existsSync(path),
  );
}

/** Tests through PgBouncer. */
export function needsPgBouncer(file: string): boolean {
  return basename(file).includes("-pgbouncer.");
}

/** PgBouncer. Undefined: it is not on this machine. */
export function pgBouncer(): string | undefined {
  return [
    "/usr/sbin/pgbouncer",
    "/usr/bin/pgbouncer",
    "/usr/local/bin/pgbouncer",
    "/opt/homebrew/bin/pgbouncer",
  ].find((path) => existsSync(path));
}

/** Some files test the tests and the benchmark, not the product. Shorter runs leave them out. */
function belongsTo(length: Length, file: string): boolean {
  if (file.includes("planted-bugs") || file.includes("kill-checker")) return length === "long";
  if (file.includes("-hour.")) return length === "long";
  // They need programs that only `npm run test:brains` installs.
  if (file.startsWith("e2e/brains/")) return false;
  if (/(?:bench|compare|measuring|\/runner)\.test/.test(file)) return length !== "quick";
  return true;
}

function lane(files: string[], options: Partial<Lane> = {}): Lane {
  return { files, shared: false, waits: false, env: {}, ...options };
}

function isOfStore(file: string): boolean {
  return file.endsWith(".db.test.ts");
}

/** Seconds on an idle machine, and how many of them are CPU time. The keys are file names, because files move. */
const known: Record<string, readonly [seconds: number, computing: number]> = JSON.parse(
  readFileSync(join(import.meta.dirname, "test-seconds.json"), "utf8"),
);

function secondsOf(file: string): number {
  return known[basename(file)]?.[0] ?? 0;
}

function mostlyWaits(file: string): boolean {
  // Each of them plays several programs at the same time.
  if (file.startsWith("e2e/brains/")) return false;
  const [seconds = 0, computing = 0] = known[basename(file)] ?? [];
  return computing < seconds / 2;
}

/** Picks this many in the given order. Another seed picks others. */
function draw(files: readonly string[], count: number, seed: number): string[] {
  const drawn = new Set<string>();
  for (let state = seed; drawn.size < Math.min(count, files.length);) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    drawn.add(files[(state >>> 8) % files.length] ?? "");
  }
  return files.filter((file) => drawn.has(file));
}
