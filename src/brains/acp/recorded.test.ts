import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { heardOverAcp } from "../../testing/acp-recording.ts";

/** The output of the real programs (`npm run test:brains` makes the recordings and checks that they are still true). */
const recordings = { claude: ["work", "server-down"], codex: ["work", "server-down"], opencode: ["work"] };

for (const [program, names] of Object.entries(recordings))
  for (const recording of names)
    test(`${program} over ACP, ${recording}: words, calls and results are told apart`, () => {
      const file = new URL(`../../testing/recordings/acp-${program}-${recording}.jsonl`, import.meta.url);
      const heard = heardOverAcp(readFileSync(file, "utf8").trim().split("\n"));
      const said = (wanted: string): string[] =>
        heard.flatMap((one) => (one.kind === wanted && "text" in one ? [one.text] : []));
      // Some programs print a notice first.
      assert.match(said("text").join("\n"), /All is done\.$/);
      assert.deepEqual(said("error"), []);
      const calls = heard.flatMap((one) => (one.kind === "tool" ? [one.tool ?? ""] : []));
      const results = heard.flatMap((one) => (one.kind === "result" ? [one] : []));
      assert.deepEqual(
        results.map(({ tool }) => tool),
        calls,
      );
      const order = ["read_inbox", "create_file", "acknowledge_message", "submit_summary"];
      const known = calls.flatMap((call) => order.find((name) => call.endsWith(name)) ?? []);
      assert.deepEqual(known, order);
      assert.equal(calls.length, order.length + 1, "one call is of the shell");
      assert.match(results[0]?.text ?? "", /Write a report\./);
      assert.match(results[1]?.text ?? "", /made-by-the-shell/);
      assert.match(said("tool")[2] ?? "", /All is well\./);
    });
