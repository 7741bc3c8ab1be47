import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ModelMessage } from "ai";
import { hearOwn, judgeOwn } from "../own-program.ts";
import { openConversation } from "./conversation.ts";

const home = mkdtempSync(join(tmpdir(), "agency-conversation-"));
after(() => rmSync(home, { recursive: true, force: true }));

const call: ModelMessage = {
  role: "assistant",
  content: [
    { type: "text", text: "I look." },
    { type: "tool-call", toolCallId: "1", toolName: "read", input: { path: "a" } },
  ],
};

test("a conversation that was cut off is continued: a torn line is left out, and a call gets a result", () => {
  const first = openConversation(home, "one");
  assert.equal(first.resumed, 0);
  first.add({ role: "user", content: "Begin." }, call);
  appendFileSync(join(home, "conversations", "one.jsonl"), '{"role":"tool","cont');
  const second = openConversation(home, "one");
  assert.equal(second.resumed, 3);
  assert.deepEqual(second.messages.slice(0, 2), [{ role: "user", content: "Begin." }, call]);
  assert.match(JSON.stringify(second.messages[2]), /"toolCallId":"1".*cut off during this call/);
  second.replace([{ role: "user", content: "Short." }]);
  assert.deepEqual(openConversation(home, "one").messages, [{ role: "user", content: "Short." }]);
  openConversation(home, "two");
  assert.deepEqual(readdirSync(join(home, "conversations")), ["two.jsonl"]);
});

test("the daemon understands the lines of the program, and why it ended", () => {
  assert.deepEqual(hearOwn('{"kind":"tool","tool":"read","text":"{}"}'), [
    { kind: "tool", tool: "read", text: "{}" },
  ]);
  assert.deepEqual(hearOwn('{"kind":"thread","id":"7"}'), [{ kind: "thread", id: "7" }]);
  for (const line of ["a warning", '{"kind":"usage","usage":{}}', "[]", '{"kind":"text"}'])
    assert.deepEqual(hearOwn(line), [{ kind: "output", text: `${line}\n` }]);
  const end = { code: 0, signal: null, said: "", toolCalls: 1, errors: "", named: "" };
  assert.equal(judgeOwn(end).cause, "done");
  assert.equal(judgeOwn({ ...end, toolCalls: 0, said: "Hi." }).cause, "done");
  assert.equal(judgeOwn({ ...end, toolCalls: 0, said: " \n" }).cause, "failed");
  assert.deepEqual(judgeOwn({ ...end, code: 71, errors: "noise\nNo key.\n" }), {
    cause: "signed_out",
    says: "No key.",
  });
  assert.deepEqual(judgeOwn({ ...end, code: 1, errors: "No route.\n}", named: "Lost:\n  no route" }), {
    cause: "failed",
    says: "Lost: no route",
  });
  assert.deepEqual(judgeOwn({ ...end, code: null, signal: "SIGKILL" }), {
    cause: "failed",
    says: "ended by SIGKILL",
  });
  assert.equal(judgeOwn({ ...end, code: 143 }).cause, "failed");
});
