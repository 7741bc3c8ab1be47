import assert from "node:assert/strict";
import { test } from "node:test";
import { gistOf, runWords } from "../src/web/features/session/deed-words.ts";
import { colouredParts, terminalLines } from "../src/web/features/session/terminal-colours.ts";
import { chipOf, linesOf } from "../src/web/features/session/transcript-lines.ts";

const call = (tool: string, text = "{}") => ({ kind: "tool", tool, text });
const result = (tool: string, text: string) => ({ kind: "result", tool, text });

test("calls of one tool in a row are one line that says what they did, and a failed call stands apart", () => {
  const entries = [
    ...[1, 2, 3].flatMap((at) => [
      call("mcp__kb__read_file"),
      result("mcp__kb__read_file", `{"title":"File ${at}"}`),
    ]),
    { kind: "error", tool: "mcp__kb__read_file", text: "no" },
    call("read_inbox"),
    call("read_inbox"),
    call("Bash", '{"command":"ls"}'),
  ];
  const rows = linesOf(entries, new Set());
  assert.deepEqual(
    rows.map((row) => [chipOf(row), row.text]),
    [
      ["read 3 files", "File 1 · File 2 · File 3"],
      ["mcp__kb__read_file", "no"],
      ["read_inbox, 2 times", ""],
      ["Bash", "command ls"],
    ],
  );
  assert.equal(linesOf(entries, new Set([0])).length, 9);
  assert.deepEqual(
    [runWords("Bash", 3), runWords("publish_branch", 2), runWords("delegate_outcome", 2)],
    ["ran 3 commands", "published 2 branches", "delegated 2 outcomes"],
  );
});

test("a result without details is shown as done", () => {
  assert.deepEqual(
    linesOf([call("submit_summary", "{}"), result("submit_summary", "{}")], new Set()).map(
      ({ text }) => text,
    ),
    ["", "done"],
  );
});

test("a result is cut to 8 lines, and an agent's words are shown completely", () => {
  const tall = Array.from({ length: 11 }, (_, at) => `line ${at}`).join("\n");
  const rows = linesOf([result("Bash", tall), { kind: "text", text: tall }], new Set());
  assert.equal(rows.length, 9 + 11);
  assert.deepEqual([rows[7]?.text, rows[8]?.text, rows[8]?.left], ["line 7", "", 3]);
  assert.deepEqual([rows[9]?.isFirst, rows[10]?.isFirst], [true, false]);
});

test("JSON is summarized in a few words, without ids and empty values", () => {
  const id = "01a1ecdf-c7ed-7e3b-b113-27e1688db6b1";
  const said = gistOf(
    JSON.stringify({
      id,
      title: "Print it",
      status: "open",
      parents: [id],
      by: { id, name: "Ada" },
      note: null,
    }),
  );
  assert.equal(said, "Print it, status open, 1 parent, by Ada");
  assert.equal(gistOf('{"entries":[]}'), "no entries");
  assert.equal(gistOf('{"messages":[],"waiting":0,"nextCursor":null}'), "no messages");
  assert.equal(gistOf('{"tasks":[1,2],"hired":[],"late":true}'), "2 tasks, late");
  assert.equal(gistOf(`{"at":"2026-11-18T07:31:11.822Z","hash":"${"0a".repeat(32)}"}`), "");
  assert.match(gistOf(JSON.stringify({ note: "long ".repeat(100) })), /^note long .{150,200}…$/);
  assert.equal(gistOf('{"cut'), '{"cut');
  assert.equal(gistOf("plain"), "plain");
});

test("colours of a terminal become names of a fixed set, and every other control sequence is dropped", () => {
  assert.deepEqual(
    colouredParts("a\u001b[1;31mb\u001b[0m\u001b[2J\u001b]0;title\u0007c\u001b[38;5;200md\u001b[93me"),
    [
      { text: "a", look: "" },
      { text: "b", look: "red bold" },
      { text: "c", look: "" },
      { text: "d", look: "" },
      { text: "e", look: "yellow" },
    ],
  );
  // A colour continues over the end of a line until it is taken back.
  const looks = terminalLines("\u001b[32mone\ntwo\u001b[0m\nthree").map(
    (line) => colouredParts(line).at(-1)?.look,
  );
  assert.deepEqual(looks, ["green", "green", ""]);
});

test("a usage entry separates neither calls of one kind nor a call from its result", () => {
  const usage = {
    kind: "usage",
    text: "410 tokens in (400 from the cache, 0 written to it), 3 out",
  };
  const one = (at: number) => [usage, call("read_file"), result("read_file", `{"title":"File ${at}"}`)];
  const rows = linesOf([...one(1), ...one(2), usage, call("Bash", '{"command":"ls"}')], new Set());
  assert.deepEqual(
    rows.map((row) => row.text),
    [usage.text, "File 1 · File 2", "command ls"],
  );
  const late = linesOf([call("Bash", '{"command":"ls"}'), usage, result("Bash", "a file")], new Set());
  assert.deepEqual(
    late.map(({ text, answers }) => [text, answers]),
    [
      ["command ls", false],
      [usage.text, false],
      ["a file", true],
    ],
  );
});
