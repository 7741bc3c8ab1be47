import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { marker } from "../redaction/redact.ts";
import { localTranscript, readTranscript, writeTranscript } from "./transcript.ts";

const lineOf = (text: string): string =>
  `${JSON.stringify({ at: "2026-01-01T00:00:00.000Z", kind: "text", text })}\n`;

test("a long transcript is read from its end, or in parts from its beginning", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "agency-transcript-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const many = Array.from({ length: 40_000 }, (_, at) => `line ${at}`);
  writeFileSync(join(folder, "many.jsonl"), many.map(lineOf).join(""));
  const read = (id: string, after?: number) => readTranscript(localTranscript(folder, id), after);
  const end = await read("many");
  assert.equal(end.truncated, true);
  assert.ok(end.entries.length > 1000 && end.entries.length < 10_000, `${end.entries.length} entries`);
  assert.deepEqual(
    end.entries.map(({ text }) => text),
    many.slice(-end.entries.length),
  );
  assert.deepEqual((await read("many", end.next)).entries, []);
  // The place of an entry leads back to it, even if characters take several bytes.
  writeFileSync(join(folder, "places.jsonl"), ["zwölf", "thirteen", "vierzehn – 14"].map(lineOf).join(""));
  for (const { place, text } of (await read("places")).entries)
    assert.equal((await read("places", place)).entries[0]?.text, text);
  const all: string[] = [];
  for (let from = 0, isMore = true; isMore;) {
    const part = await read("many", from);
    all.push(...part.entries.map(({ text }) => text));
    isMore = part.next > from;
    from = part.next;
  }
  assert.deepEqual(all, many);

  // The last entry alone is longer than the part that is read from an end.
  writeFileSync(join(folder, "wide.jsonl"), lineOf("first") + lineOf("x".repeat(400_000)));
  assert.equal((await read("wide")).entries.at(-1)?.text.length, 400_000);
});

test("the arguments and the answers of calls are kept without secrets, also as JSON", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "agency-transcript-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const transcript = writeTranscript(folder, "calls", []);
  const input = { command: "mysql", args: ["-uroot", "-pPw"], env: { MODE: "swordfish" } };
  transcript.add({ kind: "tool", tool: "run --token swordfish", text: JSON.stringify(input) });
  transcript.add({ kind: "result", text: JSON.stringify(input, null, 2) });
  transcript.add({ kind: "result", text: `${JSON.stringify(input)}\n${JSON.stringify(input)}` });
  transcript.close();
  await transcript.closed;
  const shown = JSON.stringify({ command: "mysql", args: ["-uroot", `-p${marker}`], env: { MODE: marker } });
  const { entries } = await readTranscript(localTranscript(folder, "calls"));
  assert.deepEqual(
    entries.map(({ tool, text }) => [tool, text]),
    [
      [`run --token ${marker}`, shown],
      [undefined, shown],
      [undefined, `${shown}\n${shown}`],
    ],
  );
});
