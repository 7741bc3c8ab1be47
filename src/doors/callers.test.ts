import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { searchFiles, viewHistory } from "../contract/knowledge.ts";
import { Limits } from "../contract/limits.ts";
import { Refusal, type RefusalCode } from "../contract/refusal.ts";
import type { Caller } from "../dispatch/identity.ts";
import { unauthenticated } from "../dispatch/texts.ts";
import { Callers } from "./callers.ts";

const caller = (kind: "agent" | "board"): Caller => ({
  actor: { kind, agentId: kind === "agent" ? "a" : null, sessionId: null, personId: null },
  companyId: null,
  workspace: null,
});

function callersWith(limits: Partial<Limits>) {
  const seen = { now: 0, asked: 0, revoked: false };
  const callers = new Callers({
    closing: new AbortController().signal,
    limits: Limits.parse(limits),
    clock: () => seen.now,
    sleep: async () => undefined,
    authenticate: async (token) => {
      seen.asked++;
      if (token === undefined || token === "wrong" || seen.revoked) throw unauthenticated("no");
      return caller(token === "board" ? "board" : "agent");
    },
  });
  const admit = (token: string | undefined, remoteAddress = "127.0.0.1") =>
    callers.admit(token, { remoteAddress, destroyed: false, destroy: () => assert.fail("closed") });
  return { callers, seen, admit };
}

const code =
  (expected: RefusalCode) =>
  (error: unknown): boolean =>
    error instanceof Refusal && error.code === expected && error.hint !== "";

describe("the rate of a caller", () => {
  test("allows a burst, then a steady rate, and each caller has a separate account", async () => {
    const { admit, seen } = callersWith({ agentCallsPerSecond: 2, boardCallsPerSecond: 4 });
    for (let count = 0; count < 50; count++) await admit("one");
    await assert.rejects(admit("one"), code("limited"));
    await admit("two");
    for (let count = 0; count < 100; count++) await admit("board");
    await assert.rejects(admit("board"), code("limited"));
    seen.now += 1000;
    await admit("one");
    await admit("one");
    await assert.rejects(admit("one"), code("limited"));
  });

  test("without a valid credential the callers at one address share an account, and take nothing from the others", async () => {
    const { admit } = callersWith({ strangerCallsPerSecond: 1 });
    await admit("one");
    for (let count = 0; count < 25; count++)
      await assert.rejects(admit(count % 2 === 0 ? undefined : "wrong"), code("unauthenticated"));
    await assert.rejects(admit("wrong"), code("limited"));
    await assert.rejects(admit(undefined), code("limited"));
    await assert.rejects(admit("wrong", "127.0.0.2"), code("unauthenticated"));
    await admit("one");
    await admit("new");
  });

  test("the credential is looked up again after two seconds, and an idle account is forgotten", async () => {
    const { admit, seen } = callersWith({ agentCallsPerSecond: 1 });
    for (let count = 0; count < 10; count++) await admit("one");
    assert.equal(seen.asked, 1);
    seen.revoked = true;
    seen.now += 2000;
    await assert.rejects(admit("one"), code("unauthenticated"));
    seen.revoked = false;
    seen.now += 120_000;
    await admit("one");
    assert.equal(seen.asked, 3);
  });
});

test("the bytes of unanswered requests are limited for a caller and for all together", async () => {
  const { admit } = callersWith({ heldBytes: 4096, heldBytesPerCaller: 3000 });
  const [one, two] = [await admit("one"), await admit("two")];
  one.hold(3000);
  assert.throws(() => one.hold(1), code("limited"));
  two.hold(1096);
  assert.throws(() => two.hold(1), code("limited"));
  one.release(3000);
  two.hold(1000);
  two.release(2096);
  one.hold(3000);
});

describe("the calls of a caller", () => {
  /** Calls that stay open until the test ends them. */
  function open(limits: Partial<Limits>) {
    const { callers, admit } = callersWith(limits);
    const running: { token: string | undefined; end: () => void }[] = [];
    const dispatch = callers.fairly(({ token }) => {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      running.push({ token, end: () => resolve(undefined) });
      return promise;
    });
    return { admit, running, dispatch };
  }
  const light = (token: string, bytes = 0) => ({ operation: viewHistory, token, input: {}, bytes });
  const heavy = (token: string, gone = new AbortController().signal) => ({
    operation: searchFiles,
    token,
    input: {},
    gone,
  });
  const settle = () => new Promise(setImmediate);

  test("run a few at a time, the next ones wait, and calls beyond the maximum are refused", async () => {
    const { admit, running, dispatch } = open({ callsAtOnce: 2, callsWaiting: 1 });
    await admit("one");
    await admit("two");
    const calls = [dispatch(light("one")), dispatch(light("one")), dispatch(light("one"))];
    await assert.rejects(dispatch(light("one")), code("limited"));
    const other = dispatch(light("two"));
    await settle();
    assert.deepEqual(
      running.map(({ token }) => token),
      ["one", "one", "two"],
    );
    running[0]?.end();
    await calls[0];
    await settle();
    assert.equal(running.length, 4);
    for (const { end } of running) end();
    await Promise.all([...calls, other]);
  });

  test("that take long or carry much data run one at a time, and each caller has one in the queue", async () => {
    const { admit, running, dispatch } = open({ bodyBytes: 1024 });
    await admit("one");
    await admit("two");
    const calls = [
      dispatch(heavy("one")),
      dispatch(light("one", 1025)),
      dispatch(heavy("one")),
      dispatch(heavy("two")),
      dispatch(light("one")),
    ];
    const order: (string | undefined)[] = [];
    for (let count = 0; count < calls.length; count++) {
      await settle();
      assert.ok(running.length <= 2, "one long call, one short");
      const next = running.shift();
      order.push(next?.token);
      next?.end();
    }
    await Promise.all(calls);
    // The second caller need not wait for all earlier calls of the first one.
    assert.deepEqual(order, ["one", "one", "two", "one", "one"]);
  });

  test("that take long do not run if their caller hung up while they were in the queue", async () => {
    const { admit, running, dispatch } = open({});
    await admit("one");
    const left = new AbortController();
    const calls = [dispatch(heavy("one")), dispatch(heavy("one", left.signal)), dispatch(heavy("one"))];
    left.abort();
    await settle();
    running[0]?.end();
    await assert.rejects(calls[1] ?? Promise.resolve(), code("unavailable"));
    await settle();
    assert.equal(running.length, 2);
    running[1]?.end();
    await Promise.all([calls[0], calls[2]]);
  });
});

test("calls that arrive together take a few milliseconds of each turn of the event loop", async () => {
  const { admit, seen } = callersWith({});
  await admit("one");
  await admit("two");
  let turn = 0;
  const turns: string[] = [];
  const count = (): void => void (++turn < 50 && setImmediate(count));
  const call = async (token: string): Promise<void> => {
    await admit(token);
    turns.push(`${token} ${turn > 0 ? "later" : "at once"}`);
    seen.now += 2;
  };
  seen.now = 1000;
  setImmediate(() => setImmediate(count));
  const started = ["one", "one", "one", "two"].map(call);
  await Promise.all(started);
  assert.deepEqual(turns.toSorted(), ["one at once", "one at once", "one later", "two at once"]);
});

test("only some calls of a caller wait for a person", async () => {
  const { callers, admit } = callersWith({});
  await admit("one");
  const ends = Array.from({ length: 20 }, () => callers.mayWait("one"));
  assert.equal(callers.mayWait("one"), undefined);
  assert.ok(callers.mayWait("two") !== undefined);
  ends[0]?.();
  assert.ok(callers.mayWait("one") !== undefined);
});
