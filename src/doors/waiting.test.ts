import assert from "node:assert/strict";
import { test } from "node:test";
import { requestAgent, waitForApproval } from "../contract/create-agent.ts";
import type { DispatchRequest } from "../dispatch/dispatch.ts";
import { patient } from "./waiting.ts";

const pending = { ok: false, status: "pending", created: false, requestId: "r" };
const created = { ok: true, status: "created", created: true };

/** Answers `pending` this many times, then `created`, and remembers the requests. */
function scripted(times: number) {
  const asked: DispatchRequest[] = [];
  const dispatch = async (request: DispatchRequest) => {
    asked.push(request);
    return asked.length > times ? created : pending;
  };
  return { asked, dispatch };
}

test("asks again with the other operation until there is an answer", async () => {
  const { asked, dispatch } = scripted(3);
  const call = patient(dispatch, async () => undefined);
  const input = { name: "Ada" };
  assert.deepEqual(await call({ operation: requestAgent, token: "t", input, key: "k" }), created);
  assert.deepEqual(
    asked.map(({ operation, key, token }) => [operation.name, key, token]),
    [
      ["agent.request", "k", "t"],
      ...Array.from({ length: 3 }, () => ["agent.wait_for_approval", undefined, "t"]),
    ],
  );
  assert.deepEqual(asked[1]?.input, { requestId: "r" });
});

test("waits at most as long as the call says, as a number or as text of a query string", async () => {
  for (const waitSeconds of [0, "0"]) {
    const { asked, dispatch } = scripted(1000);
    const call = patient(dispatch, async () => undefined);
    const input = { requestId: "r", waitSeconds };
    assert.deepEqual(await call({ operation: waitForApproval, token: "t", input }), pending);
    assert.equal(asked.length, 1);
  }
});

test("stops when the caller is gone or the daemon closes", async () => {
  for (const how of ["gone", "closing"] as const) {
    const { asked, dispatch } = scripted(1000);
    const end = new AbortController();
    const changed = async () => {
      if (asked.length === 3) end.abort();
    };
    const call = patient(dispatch, changed, how === "closing" ? end.signal : undefined);
    const gone = how === "gone" ? { gone: end.signal } : {};
    await call({ operation: requestAgent, token: "t", input: { name: "Ada" }, ...gone });
    assert.ok(asked.length <= 4);
  }
});

test("a call that may not wait is answered at once, and one that waited makes room", async () => {
  let left = 1;
  const mayWait = () => (left-- > 0 ? () => left++ : void left++);
  const slow = scripted(2);
  const call = patient(slow.dispatch, async () => undefined, undefined, mayWait);
  const request = { operation: requestAgent, token: "t", input: { name: "Ada" } };
  const [first, second] = await Promise.all([call(request), call(request)]);
  assert.deepEqual([first, second], [created, pending]);
  assert.equal(left, 1);
});
