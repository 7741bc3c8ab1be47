// The one test runner: `npm test`, `npm run test:quick`, `npm run test:long`. Further arguments choose files by
// a part of their path. Each file runs in a process of its own, two at a time: one from the front of the list, where
// daemons are waited for, and one from its end, where there is much to compute. The last line is always
// `N passed, N failed`. A test that is skipped or marked as to do counts as failed, and so do a file that
// crashes, hangs, or runs no test.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";
import { inspect, parseArgs } from "node:util";
import { createTemplate, startPostgres } from "../src/testing/postgres.ts";

type Total = { passed: number; failed: number };
type FileResult = { file: string; seconds: number; passed: number; failures: string[]; output: string };

const { values: mode, positionals: wanted } = parseArgs({
  options: { quick: { type: "boolean", default: false }, long: { type: "boolean", default: false } },
  allowPositionals: true,
});
const minutesPerFile = mode.long ? 240 : 10;
const interrupted = new AbortController();
const root = process.cwd();

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    interrupted.abort();
    process.once(signal, () => process.exit(1));
  });
}
const total = await runWanted().catch((error: unknown): Total => {
  console.error(error);
  return { passed: 0, failed: 1 };
});
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`, () =>
  process.exit(total.failed > 0 || total.passed === 0 ? 1 : 0),
);

async function runWanted(): Promise<Total> {
  const folders = mode.quick ? ["src", "test"] : ["src", "test", "e2e"];
  const files = globSync(folders.map((folder) => `${folder}/**/*.test.ts`))
    // These prove the tests and the benchmark, not the product: they are for the whole run.
    .filter((file) => !mode.quick || !/planted-bugs|bench\.test/.test(file))
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .toSorted();
  if (files.length === 0) {
    console.error("no test file matches");
    return { passed: 0, failed: 0 };
  }

  const isWhole = !mode.quick && wanted.length === 0;
  if (isWhole || files.some(isEndToEnd)) {
    const { status } = spawnSync("npm", ["run", "build"], { stdio: "inherit" });
    if (status !== 0) throw new Error("the build failed");
  }

  const stores = mode.quick ? "sqlite" : (process.env["AGENCY_TEST_STORES"] ?? "sqlite,postgres");
  const postgres = await postgresFor(files, stores);
  try {
    return await runAll(files, {
      // Half of the time a short file takes is spent on stripping and compiling what did not change since the last one.
      NODE_COMPILE_CACHE: join(import.meta.dirname, "../node_modules/.cache/tests"),
      ...process.env,
      AGENCY_TEST_STORES: stores,
      ...postgres?.env,
      ...(mode.long ? { AGENCY_TEST_LONG: "1" } : {}),
    });
  } finally {
    await postgres?.stop();
  }
}

/**
 * One server for the whole run, with a database to copy. Not durable, because it is shared: a test that kills a server
 * starts its own.
 */
async function postgresFor(
  files: string[],
  stores: string,
): Promise<{ env: NodeJS.ProcessEnv; stop: () => Promise<void> } | undefined> {
  const isWanted =
    stores.split(",").includes("postgres") && files.some((file) => isDb(file) || isEndToEnd(file));
  if (!isWanted) return undefined;
  const given = process.env["AGENCY_TEST_DATABASE_URL"];
  const server = given === undefined ? await startPostgres({ durable: false }) : undefined;
  const url = given ?? server?.url ?? "";
  const template = await createTemplate(url);
  return {
    env: { AGENCY_TEST_DATABASE_URL: url, AGENCY_TEST_TEMPLATE: template.name },
    stop: () => (server === undefined ? template.drop() : server.stop()),
  };
}

async function runAll(files: string[], env: NodeJS.ProcessEnv): Promise<Total> {
  const queue = [...files];
  const sum: Total = { passed: 0, failed: 0 };
  async function work(next: () => string | undefined): Promise<void> {
    for (let file = next(); file !== undefined; file = next()) {
      if (interrupted.signal.aborted) return;
      const result = await runFile(file, env);
      report(result);
      sum.passed += result.passed;
      sum.failed += result.failures.length;
    }
  }
  await Promise.all([work(() => queue.shift()), work(() => queue.pop())]);
  if (interrupted.signal.aborted) sum.failed ||= 1;
  return sum;
}

async function runFile(file: string, env: NodeJS.ProcessEnv): Promise<FileResult> {
  const result: FileResult = { file, seconds: 0, passed: 0, failures: [], output: "" };
  const start = performance.now();
  const names: string[] = [];
  let previousDepth = 0;
  const events = run({
    files: [join(root, file)],
    isolation: "process",
    env,
    execArgv: ["--import", join(import.meta.dirname, "end-with-runner.ts")],
    signal: AbortSignal.any([interrupted.signal, AbortSignal.timeout(minutesPerFile * 60_000)]),
  });
  for await (const { type, data } of events) {
    if (type === "test:stdout" || type === "test:stderr") result.output += data.message;
    if (type === "test:diagnostic" && data.file !== undefined) result.output += `${data.message}\n`;
    if (type === "test:start") names.splice(data.nesting, Infinity, data.name);
    if (type !== "test:pass" && type !== "test:fail") continue;

    // Children are reported before their parent.
    const isLeaf = data.details.type !== "suite" && previousDepth <= data.nesting;
    previousDepth = data.nesting;
    const isFile = data.name === join(root, file);
    const name = isFile ? "the file itself" : [...names.slice(0, data.nesting), data.name].join(" › ");
    if (type === "test:fail") {
      const { error } = data.details;
      if (failureType(error) !== "subtestsFailed") result.failures.push(`${name}\n${describe(error)}`);
    } else if (data.skip !== undefined || data.todo !== undefined) {
      result.failures.push(`${name}\nis skipped or still to do: write it or delete it`);
    } else if (isLeaf && !isFile) {
      result.passed += 1;
    }
  }
  if (result.passed + result.failures.length === 0 && !mayBeEmpty(file, env)) {
    result.failures.push("the file itself\nran no test");
  }
  result.seconds = (performance.now() - start) / 1000;
  return result;
}

function report({ file, seconds, passed, failures, output }: FileResult): void {
  const outcome = failures.length === 0 ? "ok    " : "FAILED";
  const counts = failures.length === 0 ? `${passed}` : `${passed} passed, ${failures.length} failed`;
  console.log(`${outcome} ${file} (${counts}, ${seconds.toFixed(1)} s)`);
  for (const failure of failures) console.log(indent(failure, "  ✗ ", "    "));
  if (failures.length > 0 && output !== "") console.log(indent(output.trimEnd(), "  | ", "  | "));
}

/** What the test threw, without Node's own frames; of an assertion only its text, which holds the difference. */
function describe(error: Error): string {
  if (failureType(error) === "testAborted") {
    return interrupted.signal.aborted ? "interrupted" : `did not end within ${minutesPerFile} minutes`;
  }
  if ("exitCode" in error)
    return `ended with ${String(error.exitCode ?? ("signal" in error && error.signal))}`;
  const cause = error.cause ?? error;
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : inspect(cause);
  const isAssertion = "code" in cause && cause.code === "ERR_ASSERTION";
  const whole = isAssertion ? (cause.stack ?? cause.message) : inspect(cause);
  return whole.replaceAll(/\n +at .*\(?node:.*?( \{)?$/gm, "$1");
}

function failureType(error: Error): unknown {
  return "failureType" in error ? error.failureType : undefined;
}

function indent(text: string, first: string, rest: string): string {
  return text
    .split("\n")
    .map((line, index) => (index === 0 ? first : rest) + line)
    .join("\n");
}

function isDb(file: string): boolean {
  return file.endsWith(".db.test.ts");
}

function isEndToEnd(file: string): boolean {
  return file.startsWith("e2e/");
}

/** A file for a store that this run leaves out has nothing to run. */
function mayBeEmpty(file: string, env: NodeJS.ProcessEnv): boolean {
  return isDb(file) && env["AGENCY_TEST_STORES"] !== "sqlite,postgres";
}
