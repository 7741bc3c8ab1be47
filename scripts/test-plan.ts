// Decides which test files a run includes, and in which processes they run.
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

export type Length = "quick" | "whole" | "long";

/** Files that run under the same conditions. */
export interface Lane {
  /** The longest comes first. */
  readonly files: string[];
  /** Whether a process runs several files, one after another. */
  readonly shared: boolean;
  readonly env: NodeJS.ProcessEnv;
}

export interface Wish {
  readonly length: Length;
  /** Parts of paths. An empty list means all files. */
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
        (secondsOf(b, length) - secondsOf(a, length)) * (isFirst(a) ? -1 : 1) ||
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
    { files: endToEnd, shared: false, env: {} },
    { files: onBoth, shared: true, env: {} },
    { files: rest, shared: true, env },
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

/** The path of OpenSSH's server. Undefined if this machine has none. */
export function sshServer(): string | undefined {
  return ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/opt/homebrew/sbin/sshd"].find((path) =>
    existsSync(path),
  );
}

/** Tests through PgBouncer. */
export function needsPgBouncer(file: string): boolean {
  return basename(file).includes("-pgbouncer.");
}

/** The path of PgBouncer. Undefined if this machine has none. */
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
  if (/planted-bugs|kill-checker|\/compare\.test/.test(file)) return length === "long";
  if (file.includes("-hour.")) return length === "long";
  // These files need programs that only `npm run test:brains` installs.
  if (file.startsWith("e2e/brains/")) return false;
  if (/(?:bench|measuring|\/runner)\.test/.test(file)) return length !== "quick";
  return true;
}

function isOfStore(file: string): boolean {
  return file.endsWith(".db.test.ts");
}

/** The seconds of a whole run. Only their order counts, so they may come from a busy machine. Short files are not listed. */
interface Known {
  readonly whole: Readonly<Record<string, number>>;
  /** Only for files that play more in a long run. */
  readonly long: Readonly<Record<string, number>>;
}

const known: Known = JSON.parse(readFileSync(join(import.meta.dirname, "test-seconds.json"), "utf8"));

export function secondsOf(file: string, length: Length): number {
  return (length === "long" ? known.long[file] : undefined) ?? known.whole[file] ?? 0;
}

/** Picks this many, in the given order. Another seed picks others. */
function draw(files: readonly string[], count: number, seed: number): string[] {
  const drawn = new Set<string>();
  for (let state = seed; drawn.size < Math.min(count, files.length);) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    drawn.add(files[(state >>> 8) % files.length] ?? "");
  }
  return files.filter((file) => drawn.has(file));
}
