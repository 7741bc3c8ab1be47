import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Heard } from "./brain.ts";
import { findBrain } from "./registry.ts";

/** The output of the real programs (`npm run test:brains` makes the recordings and checks that they are still true). */
function heardIn(type: string, recording: string): Heard[] {
  const file = new URL(`../testing/recordings/${type}-${recording}.jsonl`, import.meta.url);
  const ear = findBrain(type).ear?.();
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => [...(ear?.(line) ?? [])]);
}
const textsOf = (heard: readonly Heard[], wanted: string): string[] =>
  heard.flatMap((one) => (one.kind === wanted && "text" in one ? [one.text] : []));

const shells: Readonly<Record<string, string>> = { claude_local: "Bash", codex_local: "shell" };

for (const [type, shell] of Object.entries(shells)) {
  test(`${type}: words, calls, results and the conversation are told apart`, () => {
    const heard = heardIn(type, "work");
    const [thread, ...rest] = heard.filter(({ kind }) => kind !== "output");
    assert.ok(thread?.kind === "thread" && /^[0-9a-f-]{36}$/.test(thread.id));
    assert.deepEqual(textsOf(rest, "text"), ["I write it down.", "All is done."]);
    const calls = rest.flatMap((one) => (one.kind === "tool" ? [one.tool?.replace(/^.*(?:__|\.)/, "")] : []));
    assert.deepEqual(calls, ["read_inbox", shell, "create_file", "acknowledge_message", "submit_summary"]);
    const results = rest.flatMap((one) => (one.kind === "result" ? [one] : []));
    assert.deepEqual(
      results.map(({ tool }) => tool?.replace(/^.*(?:__|\.)/, "")),
      calls,
    );
    assert.match(results[0]?.text ?? "", /Write a report\./);
    assert.match(results[1]?.text ?? "", /^made-by-the-shell/);
    assert.match(textsOf(rest, "tool")[2] ?? "", /"content":"All is well\."/);
    assert.deepEqual(textsOf(rest, "error"), []);
    assert.equal(rest.at(-1)?.kind, "text");
  });

  test(`${type}: a refused key is an error, not the agent's words`, () => {
    const heard = heardIn(type, "refused");
    assert.deepEqual(textsOf(heard, "text"), []);
    const errors = textsOf(heard, "error").join("\n");
    assert.match(errors, /does not accept its key/);
    const judged = findBrain(type).judge?.({
      code: 1,
      signal: null,
      said: "",
      toolCalls: 0,
      errors,
      named: errors,
    });
    assert.equal(judged?.cause, "signed_out");
  });

  test(`${type}: a session that may use a server that is down works, and its end is judged as done`, () => {
    const heard = heardIn(type, "server-down");
    const calls = heard.flatMap((one) =>
      one.kind === "tool" ? [one.tool?.replace(/^.*(?:__|\.)/, "")] : [],
    );
    assert.deepEqual(calls, ["read_inbox", shell, "create_file", "acknowledge_message", "submit_summary"]);
    const said = textsOf(heard, "text");
    assert.deepEqual(said, ["I write it down.", "All is done."]);
    // Claude names the server. Codex does not, so the daemon reports it (daemon/server-keeper.ts).
    const errors = textsOf(heard, "error");
    if (type === "claude_local")
      assert.match(errors.join("\n"), /^MCP server broken did not connect \(\w+\)\.$/);
    else assert.deepEqual(errors, []);
    const end = { code: 0, signal: null, said: said.join(""), toolCalls: calls.length };
    const judged = findBrain(type).judge?.({ ...end, errors: errors.join("\n"), named: errors.at(-1) ?? "" });
    assert.equal(judged?.cause, "done");
  });

  test(`${type}: a line that is not of the protocol is ignored`, () => {
    const ear = findBrain(type).ear?.();
    for (const line of [
      "",
      "hello",
      "[]",
      "null",
      '{"type":7}',
      '{"type":"item.completed"}',
      '{"type":"assistant"}',
    ])
      assert.deepEqual(ear?.(line), [], line);
  });
}

test("claude_local: servers that did not connect are errors, and the words of sub-agents are not the agent's", () => {
  const ear = findBrain("claude_local").ear?.();
  const say = (line: unknown): readonly Heard[] => ear?.(JSON.stringify(line)) ?? [];
  const mcp_servers = [
    { name: "agency", status: "connected" },
    { name: "slack", status: "failed" },
  ];
  assert.deepEqual(say({ type: "system", subtype: "init", session_id: "one", mcp_servers }), [
    { kind: "thread", id: "one" },
    { kind: "error", text: "MCP server slack did not connect (failed)." },
  ]);
  const usage = {
    input_tokens: 5,
    output_tokens: 7,
    cache_read_input_tokens: 11,
    cache_creation_input_tokens: 13,
  };
  const said = (id: string, parent: string | null) =>
    say({
      type: "assistant",
      parent_tool_use_id: parent,
      message: { id, content: [{ type: "text", text: "Hi." }], usage },
    });
  assert.deepEqual(said("m1", null), [{ kind: "text", text: "Hi." }]);
  const consultants = { inputTokens: 29, outputTokens: 7, costUsd: 0 };
  const none = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  // The message comes in several lines, and counts once.
  for (const _ of [1, 2])
    assert.deepEqual(said("m2", "call"), [{ kind: "usage", usage: { ...none, consultants } }]);
});
