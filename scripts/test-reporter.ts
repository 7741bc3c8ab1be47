// Loaded into a test process with --test-reporter. It sends the result of each test to the runner.
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";

/** A process asks for its next file, and reports that a test of a file passed or failed, or that the file has ended. */
export type Report =
  | { readonly type: "next" }
  | { readonly type: "passed" | "ended"; readonly file: string }
  | { readonly type: "failed"; readonly file: string; readonly failure: string };

// oxlint-disable-next-line import/no-default-export -- Node takes a reporter from there.
export default async function* tellRunner(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Set<string>();
  const names: string[] = [];
  let previousDepth = 0;
  for await (const { type, data } of events) {
    if (type === "test:start") names.splice(data.nesting, Infinity, data.name);
    const [file = ""] = names;
    files.add(file);
    const fail = (name: string, why: string, where = file): void =>
      send({ type: "failed", file: where, failure: `${name}\n${why}` });
    // An error that was thrown after its test had passed. Node reports it when the process ends.
    if (type === "test:diagnostic" && data.message.includes("activity after the test ended"))
      fail(
        "the file itself",
        data.message,
        [...files].find((known) => data.message.includes(known)),
      );
    if (type !== "test:pass" && type !== "test:fail") continue;

    // Children are reported before their parent. The outermost test is the file.
    const isFile = data.nesting === 0;
    const isLeaf = !isFile && data.details.type !== "suite" && previousDepth <= data.nesting;
    previousDepth = data.nesting;
    const name = isFile ? "the file itself" : [...names.slice(1, data.nesting), data.name].join(" › ");
    const failure = type === "test:fail" ? failureOf(data.details.error) : undefined;
    if (failure !== undefined) fail(name, failure);
    else if (type === "test:pass" && (data.skip !== undefined || data.todo !== undefined))
      fail(name, "The test is skipped or marked as to do. Finish it or delete it.");
    else if (type === "test:pass" && isLeaf) send({ type: "passed", file });
    if (isFile) send({ type: "ended", file });
  }
  yield "";
}

function send(report: Report): void {
  process.send?.(report);
}

/** The error without Node's own frames. An assertion is shown as its text only, which has the difference. */
function failureOf(error: Error): string | undefined {
  if ("failureType" in error && error.failureType === "subtestsFailed") return undefined;
  const cause = error.cause ?? error;
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : inspect(cause);
  const isAssertion = "code" in cause && cause.code === "ERR_ASSERTION";
  const whole = isAssertion ? (cause.stack ?? cause.message) : inspect(cause);
  return whole.replaceAll(/\n +at .*\(?node:.*?( \{)?$/gm, "$1");
}
