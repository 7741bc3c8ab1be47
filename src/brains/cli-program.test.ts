import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { judgeCli, probeCli } from "./cli-program.ts";
import { toml } from "./codex/toml.ts";
import { serverFailed } from "./texts.ts";

const program = {
  name: "Sage",
  command: "sage",
  install: "npm install --global sage",
  providers: { key: "sage", subscription: "sage-subscription" },
  subscribed: "a token, SAGE_TOKEN",
};
const end = { code: 1, signal: null, said: "", toolCalls: 0, errors: "", named: "" };

test("the end of a session is judged by the program's last message", () => {
  const cases: readonly (readonly [Partial<typeof end>, string])[] = [
    [{ code: 0, said: "Done." }, "done"],
    [{ code: 0, toolCalls: 1 }, "done"],
    [{ code: 0 }, "failed"],
    [{ code: 0, said: " \n" }, "failed"],
    [{ code: 0, said: "I see no tools.", errors: serverFailed("kb") }, "failed"],
    [{ code: 0, said: "Done.", toolCalls: 3, errors: serverFailed("slack") }, "done"],
    [{ code: 0, said: "Done.", toolCalls: 3, errors: `${serverFailed("agency")}\nBad luck.` }, "failed"],
    [{ code: 0, said: "Done.", toolCalls: 3, errors: serverFailed("agency", "needs-auth") }, "failed"],
    [{ code: 0, said: "Done.", toolCalls: 3, errors: serverFailed("agency", "pending") }, "done"],
    [{ code: 0, said: "No tools.", errors: serverFailed("agency", "pending") }, "failed"],
    [{ code: 0, said: "Done.", toolCalls: 3, errors: serverFailed("agency-mail") }, "done"],
    [{ code: 127, errors: "sh: 1: exec: sage: not found" }, "missing"],
    [{ code: 126, errors: "sh: 1: exec: sage: Permission denied" }, "missing"],
    [{ errors: "Failed to authenticate. API Error: 401 bad key" }, "signed_out"],
    [{ errors: "unexpected status 401 Unauthorized: bad key" }, "signed_out"],
    [{ errors: "API Error: 529 overloaded_error" }, "overloaded"],
    [{ errors: "API Error: 503 Service Unavailable" }, "overloaded"],
    [{ errors: "unexpected status 503 Service Unavailable: try again later" }, "overloaded"],
    [{ errors: "exceeded retry limit, last status: 429 Too Many Requests" }, "overloaded"],
    [{ errors: "Prompt is too long" }, "out_of_context"],
    [{ errors: "Codex ran out of room in the model's context window." }, "out_of_context"],
    [{ errors: "Segmentation fault" }, "failed"],
    // The program was killed, whatever it had complained about before.
    [{ code: 137, errors: "API Error: 529 overloaded_error" }, "failed"],
  ];
  for (const [change, cause] of cases) {
    const judged = judgeCli(program, { ...end, ...change });
    assert.equal(judged.cause, cause, JSON.stringify(change));
    assert.notEqual(judged.says, "");
  }
  assert.match(judgeCli(program, { ...end, errors: "one\nBad luck." }).says, /Bad luck\./);
});

test("a probe names the missing program and how to install it, and runs no program that a configuration names", async () => {
  const missing = await probeCli({ ...program, command: "no-such-program-here" }, undefined);
  assert.equal(missing.available, false);
  assert.match(missing.says, /no-such-program-here.*npm install --global sage/);
  assert.equal((await probeCli(program, "/nowhere/sage")).available, false);
  // The program `false` fails when it runs.
  assert.deepEqual(
    [
      (await probeCli(program, "false")).available,
      (await probeCli({ ...program, command: "false" }, undefined)).available,
    ],
    [true, false],
  );
  const { available, version } = await probeCli({ ...program, command: process.execPath }, undefined);
  assert.deepEqual([available, version], [true, process.version.slice(1)]);
});

test("settings of Codex survive any text", () => {
  const text = 'Say "hi" \\ to\nall\t\u007f \u{1F600} """ \'\'\' [x] # no';
  const written = toml({ a: text, b: true, list: ["x", text], "odd key": 1, table: { of: { deep: text } } });
  const lines = written.split("\n");
  assert.deepEqual(lines.slice(1, 2).concat(lines.slice(3)), [
    "b = true",
    '"odd key" = 1',
    "[table.of]",
    `deep = ${lines[0]?.slice("a = ".length)}`,
  ]);
  // One line for each value, and each is the text itself: YAML escapes a quoted string in the same way.
  assert.equal(parse(lines[0]?.slice("a = ".length) ?? ""), text);
  assert.doesNotMatch(written, /\u007f/);
});
