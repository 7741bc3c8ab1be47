// The one test runner: `npm test`, `npm run test:quick`, `npm run test:long`. Further arguments choose files by a part
// of their path. docs/decisions/0023-fast-tests.md says what runs where, and why.
//
// As many files run at a time as keep two cores busy (test-turns.ts). Files below e2e/ have a process each; the others share
// processes, because loading the product takes longer than most of them run.
//
// Files with "sandbox" in their name need bubblewrap. Where it does not work they are left out, which the end of the output
// says. With AGENCY_TEST_SANDBOX=required, as in .ci/run, they count as failed there. Files with "pty" in their name need the
// program `script`, which makes pseudo-terminals, and files with "sshd" the server of OpenSSH, and files with "pgbouncer"
// PgBouncer. Where that is missing they are left out, which the end of the output says as well.
//
// The last line is always `N passed, N failed`. These count as failed: a skipped test, a file that crashes, hangs or runs
// no test, and anything that the run leaves in its folder for temporary files.
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { keepSandbox } from "../src/processes/sandbox.ts";
import { createTemplate, startPostgres } from "../src/testing/postgres.ts";
import { runFolder } from "./test-folder.ts";
import {
  type Lane,
  needsPgBouncer,
  needsSandbox,
  needsSshd,
  needsTerminal,
  pgBouncer,
  plan,
  sshServer,
  type Length,
} from "./test-plan.ts";
import { type FileResult, serve } from "./test-process.ts";
import { Turns } from "./test-turns.ts";

type Total = { passed: number; failed: number };

const { values: mode, positionals: wanted } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    /** Ends the run at the first file that fails, for runs that only ask whether any test fails. */
    bail: { type: "boolean", default: false },
    /** Files whose path contains this text run first. */
    first: { type: "string", multiple: true, default: [] },
    /** Notes every passing file in this file, and leaves out the files noted there. So a stopped run can be continued. */
    resume: { type: "string" },
    /** Writes the snapshots of test/snapshots instead of comparing with them. */
    update: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const length: Length = mode.quick ? "quick" : mode.long ? "long" : "whole";
const seed = process.env["AGENCY_TEST_SEED"] ?? String(randomInt(2 ** 31));
if (mode.update) process.env["AGENCY_TEST_UPDATE"] = "1";
/**
 * Enough for two cores, even if most of the running files wait: the longest ones do, and come first. In a quick run few wait. The
 * real programs of brains use more CPU than is counted for their files, and give up on slow answers. So fewer of them run at a
 * time.
 */
const mostProcesses = length === "quick" ? 5 : process.env["AGENCY_TEST_PROGRAMS"] === undefined ? 8 : 4;
const interrupted = new AbortController();
const failedFiles: string[] = [];
let allPassedBefore = false;

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
if (failedFiles.length > 0) {
  const script = { quick: "npm run test:quick", whole: "npm test", long: "npm run test:long" }[length];
  console.log(
    `Run the failed files again with the same seeds:\n  AGENCY_TEST_SEED=${seed} ${script} -- ${failedFiles.join(" ")}`,
  );
}
if (total.passed + total.failed > 0) console.log(`The run took ${Math.round(process.uptime())} s.`);
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`, () =>
  process.exit(total.failed > 0 || (total.passed === 0 && !allPassedBefore) ? 1 : 0),
);

async function runWanted(): Promise<Total> {
  const lanes = plan({ length, wanted, seed: Number(seed), first: mode.first });
  const isContinued = leaveOutPassed(lanes);
  const files = lanes.flatMap(({ files }) => files);
  if (files.length === 0 && isContinued) {
    allPassedBefore = true;
    return { passed: 0, failed: 0 };
  }
  if (files.length === 0) {
    console.error("no test file matches");
    return { passed: 0, failed: 0 };
  }
  console.log(`seeds from ${seed}`);

  const isWhole = length !== "quick" && wanted.length === 0;
  if (isWhole || files.some((file) => file.startsWith("e2e/"))) {
    const { status } = spawnSync("npm", ["run", "build"], { stdio: "inherit" });
    if (status !== 0) throw new Error("the build failed");
    process.env["AGENCY_TEST_BUILT"] = "1";
  }

  const folder = runFolder();
  process.env["TMPDIR"] = folder.path;
  const leftOut = await leaveOutSandbox(lanes, join(folder.path, "sandbox"));
  const others = [
    leaveOut(
      lanes,
      needsTerminal,
      hasTerminals,
      "the programs script (of util-linux) and bash are not both here",
    ),
    leaveOut(
      lanes,
      needsSshd,
      () => sshServer() !== undefined,
      "there is no sshd here (Debian: openssh-server)",
    ),
    leaveOut(
      lanes,
      needsPgBouncer,
      () => pgBouncer() !== undefined,
      "there is no PgBouncer here (Debian: pgbouncer)",
    ),
  ];
  const stores = length === "quick" ? "sqlite" : (process.env["AGENCY_TEST_STORES"] ?? "sqlite,postgres");
  try {
    const postgres = await postgresFor(files, stores);
    let sum: Total;
    try {
      sum = await runAll(lanes, {
        // A short file spends half of its time on stripping and compiling code that did not change since the last run.
        NODE_COMPILE_CACHE: join(import.meta.dirname, "../node_modules/.cache/tests"),
        ...process.env,
        AGENCY_TEST_STORES: stores,
        AGENCY_TEST_LENGTH: length,
        AGENCY_TEST_DRAWS:
          process.env["AGENCY_TEST_DRAWS"] ?? (length === "quick" && wanted.length === 0 ? "1" : "0"),
        AGENCY_TEST_SEED: seed,
        ...postgres?.env,
      });
    } finally {
      await postgres?.stop();
    }
    const left = interrupted.signal.aborted ? [] : folder.left();
    if (left.length > 0) {
      console.log(`FAILED the tests left behind: ${left.join(", ")}`);
      for (const file of folder.newestFiles(10)) console.log(`  | ${file}`);
    }
    for (const notRun of [leftOut, ...others]) if (notRun !== "") console.log(notRun);
    const isRequired = process.env["AGENCY_TEST_SANDBOX"] === "required";
    const isIncomplete = leftOut !== "" && isRequired;
    return { ...sum, failed: sum.failed + (left.length > 0 ? 1 : 0) + (isIncomplete ? 1 : 0) };
  } finally {
    folder.remove();
  }
}

/** Whether any file was left out. A file that passed in a shorter run has not passed in this one. */
function leaveOutPassed(lanes: Lane[]): boolean {
  if (mode.resume === undefined || !existsSync(mode.resume)) return false;
  const passed = new Set(readFileSync(mode.resume, "utf8").split("\n"));
  let count = 0;
  for (const { files } of lanes) {
    const left = files.filter((file) => !passed.has(notedAs(file)));
    count += files.length - left.length;
    files.splice(0, files.length, ...left);
  }
  const which = count === 1 ? "1 file" : `${count} files`;
  console.log(`${which} passed before (${mode.resume}) and ${count === 1 ? "is" : "are"} left out`);
  return count > 0;
}

function notedAs(file: string): string {
  return `${length} ${file}`;
}

/** Returns the files that can't run, with the reason. Empty if the sandbox works or is not needed. */
async function leaveOutSandbox(lanes: Lane[], folder: string): Promise<string> {
  const wanted = lanes.flatMap(({ files }) => files.filter(needsSandbox));
  if (wanted.length === 0) return "";
  const sandbox = keepSandbox({ folder, wanted: true, unsandboxedAllowed: false });
  const { status, says, remedy } = await sandbox.tried;
  sandbox.stop();
  rmSync(folder, { recursive: true });
  if (status === "works") return "";
  return leaveOut(lanes, needsSandbox, () => false, `there is no sandbox here (${says} ${remedy})`);
}

function hasTerminals(): boolean {
  return spawnSync("sh", ["-c", "command -v script && command -v bash"]).status === 0;
}

/** Returns the files that can't run, with the reason. Empty if they can run or are not needed. */
function leaveOut(
  lanes: Lane[],
  which: (file: string) => boolean,
  canRun: () => boolean,
  why: string,
): string {
  const wanted = lanes.flatMap(({ files }) => files.filter(which));
  if (wanted.length === 0 || canRun()) return "";
  for (const { files } of lanes) files.splice(0, files.length, ...files.filter((file) => !which(file)));
  return `NOT RUN, because ${why}: ${wanted.join(", ")}.`;
}

/**
 * One server for the whole run, with a database to copy. It is not durable, because it is shared: a test that kills a server
 * starts a separate one.
 */
async function postgresFor(
  files: string[],
  stores: string,
): Promise<{ env: NodeJS.ProcessEnv; stop: () => Promise<void> } | undefined> {
  const usesStore = files.some((file) => file.endsWith(".db.test.ts") || file.startsWith("e2e/"));
  if (!stores.split(",").includes("postgres") || !usesStore) return undefined;
  const given = process.env["AGENCY_TEST_DATABASE_URL"];
  const server = given === undefined ? await startPostgres({ durable: false }) : undefined;
  const url = given ?? server?.url ?? "";
  const template = await createTemplate(url);
  return {
    env: { AGENCY_TEST_DATABASE_URL: url, AGENCY_TEST_TEMPLATE: template.name },
    stop: () => (server === undefined ? template.drop() : server.stop()),
  };
}

async function runAll(lanes: Lane[], env: NodeJS.ProcessEnv): Promise<Total> {
  const sum: Total = { passed: 0, failed: 0 };
  const ended = (result: FileResult): void => {
    report(result);
    sum.passed += result.passed;
    sum.failed += result.failures.length;
    if (result.failures.length === 0) {
      if (mode.resume !== undefined) appendFileSync(mode.resume, `${notedAs(result.file)}\n`);
      return;
    }
    failedFiles.push(result.file);
    if (mode.bail) interrupted.abort();
  };
  const turns = new Turns(lanes, length);
  if (interrupted.signal.aborted) turns.close();
  else interrupted.signal.addEventListener("abort", () => turns.close());
  const work = async (): Promise<void> => {
    for (let turn = await turns.next(); turn !== undefined; turn = await turns.next()) {
      const { lane } = turn;
      let first: string | undefined = turn.file;
      await serve({
        next: () => {
          const file = first ?? turns.follow(lane);
          first = undefined;
          return file;
        },
        shared: lane.shared,
        env: { ...env, ...lane.env },
        minutesPerFile: length === "long" ? 240 : 25,
        interrupted: interrupted.signal,
        ended: (result) => {
          turns.end(result.file);
          ended(result);
        },
      });
      if (first !== undefined && !interrupted.signal.aborted)
        throw new Error(`the process ended before it asked for ${first}`);
    }
  };
  await Promise.all(Array.from({ length: mostProcesses }, work));
  if (interrupted.signal.aborted) sum.failed ||= 1;
  return sum;
}

function report({ file, seconds, computing, passed, failures, output }: FileResult): void {
  const outcome = failures.length === 0 ? "ok    " : "FAILED";
  const counts = failures.length === 0 ? `${passed}` : `${passed} passed, ${failures.length} failed`;
  console.log(`${outcome} ${file} (${counts}, ${seconds.toFixed(1)} s, ${computing.toFixed(1)} computing)`);
  for (const failure of failures) console.log(indent(failure, "  ✗ ", "    "));
  if (failures.length > 0 && output !== "") console.log(indent(output.trimEnd(), "  | ", "  | "));
}

function indent(text: string, first: string, rest: string): string {
  return text
    .split("\n")
    .map((line, index) => (index === 0 ? first : rest) + line)
    .join("\n");
}
