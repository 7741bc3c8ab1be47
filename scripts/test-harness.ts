// The module that test files get when they import "node:test" in a process of the runner (test-entry.ts). It has the parts that
// the tests use. Node's own module follows every promise of the process to know its test, which took a quarter of the CPU time
// of a run. Here an AsyncLocalStorage knows the test of a call, at no measurable cost. A scope is a file, a suite or a test.
// Files and suites first collect their tests and then run them. A test that a running test declares runs at once.
import { AsyncLocalStorage } from "node:async_hooks";
import type { TestOptions } from "node:test";
import { inspect } from "node:util";

/** A process asks for its next file, and reports that a test of a file passed or failed, or that the file has ended. */
export type Report =
  | { readonly type: "next" }
  | { readonly type: "passed" | "ended"; readonly file: string }
  | { readonly type: "failed"; readonly file: string; readonly failure: string };

type Work = (context: Context) => unknown;
type Declaration = readonly [options: TestOptions, work: Work];

interface Scope {
  readonly kind: "file" | "suite" | "test";
  readonly path: readonly string[];
  readonly file: string;
  readonly parent: Scope | undefined;
  readonly concurrency: number;
  readonly hooks: Record<"before" | "after" | "beforeEach" | "afterEach", Work[]>;
  /** The tests that a file or a suite still has to run. */
  readonly children: (() => Promise<void>)[];
  /** The tests that a running test declared, one after another. */
  inner: Promise<void> | undefined;
  /** Ends a running test with an error that was thrown outside of its calls. */
  fail: ((error: unknown) => void) | undefined;
}

interface Context {
  readonly name: string;
  readonly test: typeof test;
  readonly after: (work: Work) => void;
  readonly diagnostic: (message: string) => void;
}

export { mock } from "node:test";
export const it = test;

const scopes = new AsyncLocalStorage<Scope>();
let file: Scope | undefined;

export function test(name: string, ...rest: readonly (TestOptions | Work | undefined)[]): Promise<void> {
  const [options, work] = declared(rest);
  const parent = here();
  const scope = newScope("test", name, parent);
  const run = (): Promise<void> => runTest(scope, options, work);
  if (parent.kind !== "test") {
    parent.children.push(run);
    return Promise.resolve();
  }
  const previous = parent.inner ?? Promise.resolve();
  parent.inner = previous.then(run);
  return parent.inner;
}

export function describe(name: string, ...rest: readonly (TestOptions | Work | undefined)[]): void {
  const [{ concurrency }, work] = declared(rest);
  const parent = here();
  const scope = newScope("suite", name, parent, typeof concurrency === "number" ? concurrency : 1);
  const collected = caught(scope, () => work(contextOf(scope)));
  parent.children.push(async () => {
    const error = await collected;
    if (error === none) await runChildren(scope);
    else failed(scope, error);
  });
}

export const before = hook("before");
export const after = hook("after");
export const beforeEach = hook("beforeEach");
export const afterEach = hook("afterEach");

/** Loads a file, runs its tests and reports each of them. */
export async function runFile(path: string, load: () => Promise<unknown>): Promise<void> {
  const scope = newScope("file", path, undefined);
  file = scope;
  const error = await caught(scope, load);
  if (error === none) await runChildren(scope);
  else failed(scope, error);
  send({ type: "ended", file: path });
}

export function send(report: Report): void {
  process.send?.(report);
}

/** An unhandled error fails the test that caused it. If that test has ended, the error fails the file. */
for (const event of ["uncaughtException", "unhandledRejection"] as const)
  process.on(event, (error: unknown) => {
    const scope = scopes.getStore() ?? file;
    if (scope?.fail !== undefined) scope.fail(error);
    else if (scope !== undefined)
      send({ type: "failed", file: scope.file, failure: `the file itself\n${textOf(error)}` });
    else throw error;
  });

function declared(rest: readonly (TestOptions | Work | undefined)[]): Declaration {
  const options = rest.find((value) => typeof value === "object") ?? {};
  const work = rest.find((value) => typeof value === "function") ?? ((): void => undefined);
  return [options, work];
}

function here(): Scope {
  const scope = scopes.getStore() ?? file;
  if (scope === undefined) throw new Error("no test file is running");
  return scope;
}

function newScope(kind: Scope["kind"], name: string, parent: Scope | undefined, concurrency = 1): Scope {
  return {
    kind,
    path: parent === undefined ? [] : [...parent.path, name],
    file: parent?.file ?? name,
    parent,
    concurrency,
    hooks: { before: [], after: [], beforeEach: [], afterEach: [] },
    children: [],
    inner: undefined,
    fail: undefined,
  };
}

function hook(kind: keyof Scope["hooks"]) {
  return (work: Work): void => {
    here().hooks[kind].push(work);
  };
}

function contextOf(scope: Scope): Context {
  return {
    name: scope.path.at(-1) ?? scope.file,
    test: (...declaration) => scopes.run(scope, () => test(...declaration)),
    after: (work) => void scope.hooks.after.push(work),
    diagnostic: (message) => console.log(message),
  };
}

async function runChildren(scope: Scope): Promise<void> {
  let error = await runHooks(scope, scope.hooks.before);
  if (error === none) {
    const left = [...scope.children];
    const work = async (): Promise<void> => {
      for (let child = left.shift(); child !== undefined; child = left.shift()) await child();
    };
    await Promise.all(Array.from({ length: scope.concurrency }, work));
  }
  const afterwards = await runHooks(scope, scope.hooks.after);
  if (error === none) error = afterwards;
  if (error !== none) failed(scope, error);
}

async function runTest(scope: Scope, { skip, todo, timeout }: TestOptions, work: Work): Promise<void> {
  if ((skip ?? false) !== false || (todo ?? false) !== false) {
    failed(scope, "The test is skipped or marked as to do. Finish it or delete it.");
    return;
  }
  const stopped = new Promise<unknown>((resolve) => {
    scope.fail = resolve;
  });
  const limit = timeout === undefined ? undefined : setTimeout(() => scope.fail?.(tooLate(timeout)), timeout);
  const around = ancestors(scope);
  let error = await runHooks(
    scope,
    around.toReversed().flatMap(({ hooks }) => hooks.beforeEach),
  );
  const whole = async (): Promise<void> => {
    await work(contextOf(scope));
    await scope.inner;
  };
  if (error === none) error = await Promise.race([caught(scope, whole), stopped]);
  clearTimeout(limit);
  const ending = [...scope.hooks.after, ...around.flatMap(({ hooks }) => hooks.afterEach)];
  const afterwards = await runHooks(scope, ending);
  scope.fail = undefined;
  if (error === none) error = afterwards;
  if (error !== none) failed(scope, error);
  else if (scope.inner === undefined) send({ type: "passed", file: scope.file });
}

function tooLate(milliseconds: number): Error {
  return new Error(`did not end within ${milliseconds} milliseconds`);
}

/** From the inside out. */
function ancestors({ parent }: Scope): Scope[] {
  return parent === undefined ? [] : [parent, ...ancestors(parent)];
}

/** Returns the first error, after all have run. */
async function runHooks(scope: Scope, hooks: readonly Work[]): Promise<unknown> {
  let first: unknown = none;
  for (const work of hooks) {
    const error = await caught(scope, () => work(contextOf(scope)));
    if (first === none) first = error;
  }
  return first;
}

const none = Symbol("no error");

async function caught(scope: Scope, work: () => unknown): Promise<unknown> {
  try {
    await scopes.run(scope, work);
    return none;
  } catch (error) {
    return error;
  }
}

function failed(scope: Scope, error: unknown): void {
  const name = scope.kind === "file" ? "the file itself" : scope.path.join(" › ");
  send({ type: "failed", file: scope.file, failure: `${name}\n${textOf(error)}` });
}

/** The error without Node's own frames. Of an assertion only the text is shown, which has the difference. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === "string" ? error : inspect(error);
  const isAssertion = "code" in error && error.code === "ERR_ASSERTION";
  const whole = isAssertion ? (error.stack ?? error.message) : inspect(error);
  return whole.replaceAll(/\n +at .*\(?node:.*?( \{)?$/gm, "$1");
}
