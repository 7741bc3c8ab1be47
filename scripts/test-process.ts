// The runner's side of a process that runs test files.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "./test-harness.ts";

export type FileResult = {
  file: string;
  seconds: number;
  /** The CPU seconds of the process and of its ended children. 0 if the system does not report them. */
  computing: number;
  passed: number;
  failures: string[];
  output: string;
};

export interface Service {
  /** Returns the next file to run. A process that runs several files asks again after each. */
  readonly next: () => string | undefined;
  readonly shared: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly minutesPerFile: number;
  readonly interrupted: AbortSignal;
  readonly ended: (result: FileResult) => void;
}

/** A process ends by itself after its last file, unless a test left a connection or a timer open. */
const patience = Number(process.env["AGENCY_TEST_PATIENCE"] ?? 60_000);
/** The processes together use all cores, so garbage collection in other threads gains nothing. It costs a tenth. */
const collecting = ["--single-threaded-gc", "--max-semi-space-size=64"];
const leftOpen = "left something open that keeps the process alive";

/** Starts a process that runs files until none is left or it crashes. Resolves when the process has ended. */
export async function serve(service: Service): Promise<void> {
  const here = import.meta.dirname;
  const imports = ["--import", join(here, "end-with-runner.ts")];
  const child = spawn(process.execPath, [...collecting, ...imports, join(here, "test-entry.ts")], {
    env: service.env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const running = new Map<string, Running>();
  let last: Running | undefined;
  let stopped: string | undefined;
  const stop = (why: string): void => {
    stopped ??= why;
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 10_000).unref();
  };
  const interrupt = (): void => stop("interrupted");
  service.interrupted.addEventListener("abort", interrupt);

  const begin = (): string | undefined => {
    const file = last === undefined || service.shared ? service.next() : undefined;
    if (file === undefined) return undefined;
    const { minutesPerFile } = service;
    const tooLate = setTimeout(
      () => stop(`did not end within ${minutesPerFile} minutes`),
      minutesPerFile * 60_000,
    );
    last = {
      result: nothing(file),
      start: performance.now(),
      computed: computedBy(child.pid),
      tooLate,
    };
    running.set(file, last);
    return file;
  };
  const end = ({ result, start, computed, tooLate }: Running): void => {
    clearTimeout(tooLate);
    running.delete(result.file);
    if (result.passed + result.failures.length === 0 && !mayBeEmpty(result.file, service.env))
      result.failures.push("the file itself\nran no test");
    result.seconds = (performance.now() - start) / 1000;
    result.computing = Math.max(0, computedBy(child.pid) - computed);
    service.ended(result);
  };

  const hear = (report: Report): void => {
    if (report.type === "next") {
      const file = begin();
      child.send(file === undefined ? {} : { file }, () => undefined);
      if (file === undefined) setTimeout(stop, patience, leftOpen).unref();
      return;
    }
    const about = running.get(report.file);
    if (report.type === "failed" && about === undefined)
      service.ended({ ...nothing(report.file), failures: [report.failure] });
    if (about === undefined) return;
    if (report.type === "passed") about.result.passed += 1;
    else if (report.type === "failed") about.result.failures.push(report.failure);
    else end(about);
  };
  // Output of a test before its report is already in the pipe, but in this turn of the event loop it may be read after the
  // report.
  child.on("message", (report: Report) => void setImmediate(hear, report));
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      if (last !== undefined) last.result.output += chunk;
    });

  await once(child, "close");
  service.interrupted.removeEventListener("abort", interrupt);
  const how = stopped ?? `ended with ${String(child.exitCode ?? child.signalCode)} before its last test`;
  for (const left of running.values()) {
    left.result.failures.push(`the file itself\n${how}`);
    end(left);
  }
  if (running.size === 0 && stopped === leftOpen && last !== undefined)
    service.ended({
      ...nothing(last.result.file),
      failures: [`the file itself, or one before it\n${leftOpen}`],
    });
}

interface Running {
  readonly result: FileResult;
  readonly start: number;
  /** CPU seconds of the process before the file. */
  readonly computed: number;
  readonly tooLate: NodeJS.Timeout;
}

function nothing(file: string): FileResult {
  return { file, seconds: 0, computing: 0, passed: 0, failures: [], output: "" };
}

/** A file for a store that this run leaves out may declare no tests. */
function mayBeEmpty(file: string, env: NodeJS.ProcessEnv): boolean {
  return file.endsWith(".db.test.ts") && env["AGENCY_TEST_STORES"] !== "sqlite,postgres";
}

/** CPU seconds of a process and of the processes it waited for, from /proc (Linux). */
function computedBy(pid = 0): number {
  try {
    const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    // utime, stime, cutime and cstime, in hundredths of a second.
    return (
      fields
        .split(" ")
        .slice(11, 15)
        .map(Number)
        .reduce((sum, ticks) => sum + ticks, 0) / 100
    );
  } catch {
    return 0;
  }
}
