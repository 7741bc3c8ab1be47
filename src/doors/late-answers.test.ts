import assert from "node:assert/strict";
import { Socket } from "node:net";
import { describe, test } from "node:test";
import { LateAnswers } from "./late-answers.ts";

const closing = () => new AbortController();
const open = () => ({ remoteAddress: "127.0.0.1", destroyed: false, destroy: () => assert.fail("closed") });

describe("answers to callers that send too much", () => {
  test("are sent a few at a time, one caller after another", async () => {
    const stop = closing();
    const late = new LateAnswers(stop.signal);
    const left: string[] = [];
    const [flood, honest] = [{}, {}];
    const all = Array.from({ length: 60 }, () => late.wait(flood, open()).then(() => left.push("flood")));
    await late.wait(honest, open());
    // The honest caller came last, and its answer was among the first.
    assert.ok(left.length < 5, `${left.length} left before`);
    const begun = performance.now();
    await Promise.all(all);
    // 60 answers take 30 steps of 10 ms. On a busy machine they only take longer.
    assert.ok(performance.now() - begun > 150);
    // The pace starts again after a rest.
    await late.wait(flood, open());
    stop.abort();
  });

  test("are all sent when the daemon stops, and none waits after that", async () => {
    const stop = closing();
    const late = new LateAnswers(stop.signal);
    let left = 0;
    for (let count = 0; count < 1000; count++) void late.wait(late, open()).then(() => left++);
    stop.abort();
    await late.wait(late, open());
    await new Promise(setImmediate);
    assert.equal(left, 1000);
  });

  test("are bounded: beyond the maximum the connection is closed at once", async () => {
    const stop = closing();
    const late = new LateAnswers(stop.signal);
    const all = Array.from({ length: 2000 }, () => late.wait(late, open()));
    const socket = new Socket();
    await late.wait({}, socket);
    assert.ok(socket.destroyed);
    stop.abort();
    await Promise.all(all);
  });

  test("do not hold up others if their clients have hung up", async () => {
    const stop = closing();
    const late = new LateAnswers(stop.signal);
    const gone = Array.from({ length: 500 }, () => late.wait(late, { ...open(), destroyed: true }));
    await late.wait(late, open());
    await Promise.all(gone);
    stop.abort();
  });
});
