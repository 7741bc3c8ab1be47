import assert from "node:assert/strict";
import { test } from "node:test";
import { entriesOf } from "./updates.ts";

test("words are reported as a whole before the call that follows them, and a call keeps its name", () => {
  const told: unknown[] = [];
  const { hear, end } = entriesOf((entry) => told.push(entry));
  const words = (text: string): void =>
    hear({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  words("I ");
  words("look.");
  hear({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Hidden." } });
  hear({
    sessionUpdate: "tool_call",
    toolCallId: "1",
    title: "read a.txt",
    name: "read",
    rawInput: { path: "a" },
  });
  hear({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "in_progress" });
  const content = [{ type: "content" as const, content: { type: "text" as const, text: "the file" } }];
  hear({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed", content });
  hear({ sessionUpdate: "tool_call", toolCallId: "2", title: "ls", status: "failed" });
  const terminal = [{ type: "terminal" as const, terminalId: "t" }];
  hear({ sessionUpdate: "tool_call", toolCallId: "3", title: "date" });
  const rawOutput = { output: "Tuesday" };
  hear({
    sessionUpdate: "tool_call_update",
    toolCallId: "3",
    status: "completed",
    content: terminal,
    rawOutput,
  });
  hear({ sessionUpdate: "tool_call", toolCallId: "4", title: "ls", status: "in_progress" });
  const pieces = [
    { terminal_output: { data: "a.txt\n", terminal_id: "4" } },
    { terminal_output_delta: { data: "b" } },
  ];
  for (const _meta of pieces) hear({ sessionUpdate: "tool_call_update", toolCallId: "4", _meta });
  hear({
    sessionUpdate: "tool_call_update",
    toolCallId: "4",
    status: "completed",
    rawOutput: { exit_code: 0 },
  });
  hear({ sessionUpdate: "tool_call", toolCallId: "5", title: "bash", status: "pending", rawInput: {} });
  hear({ sessionUpdate: "tool_call_update", toolCallId: "5", status: "pending", rawInput: { cwd: "/w" } });
  words("I wait.");
  const late = { command: "date", cwd: "/w" };
  hear({ sessionUpdate: "tool_call_update", toolCallId: "5", status: "in_progress", rawInput: late });
  hear({ sessionUpdate: "tool_call_update", toolCallId: "5", status: "completed", rawInput: late, content });
  hear({ sessionUpdate: "notice", severity: "error", title: "Lost.", description: "No server." });
  words("Done.");
  end();
  end();
  assert.deepEqual(told, [
    { kind: "text", text: "I look." },
    { kind: "tool", tool: "read", text: '{"path":"a"}' },
    { kind: "result", tool: "read", text: "the file" },
    { kind: "tool", tool: "ls", text: "{}" },
    { kind: "result", tool: "ls", text: "failed" },
    { kind: "tool", tool: "date", text: "{}" },
    { kind: "result", tool: "date", text: '{"output":"Tuesday"}' },
    { kind: "tool", tool: "ls", text: "{}" },
    { kind: "result", tool: "ls", text: "a.txt\nb" },
    { kind: "text", text: "I wait." },
    { kind: "tool", tool: "bash", text: '{"command":"date","cwd":"/w"}' },
    { kind: "result", tool: "bash", text: "the file" },
    { kind: "error", text: "Lost. No server." },
    { kind: "text", text: "Done." },
  ]);
});
