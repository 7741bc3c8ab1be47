// `agency brains test` sends one small question the same way as a session's calls, and gives a plain answer for each possible
// fault.
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { listCosts } from "../src/contract/budgets.ts";
import { createCompany, freezeCompany, updateCompany, viewCompany } from "../src/contract/companies.ts";
import { testBrain } from "../src/contract/hiring.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { type ProviderConfig, putProvider } from "../src/contract/providers.ts";
import { setSecret } from "../src/contract/secrets.ts";
import { always, answers } from "../src/testing/fake-model/script.ts";
import { type FakeModel, startFakeModel } from "../src/testing/fake-model/server.ts";
import {
  agency,
  type BuiltDaemon,
  type DaemonOptions,
  startDaemon,
  temporaryFolder,
} from "./support/daemon.ts";

const key = "sk-key-of-the-test-0123456789";
const model = "claude-opus-4-5";
const price = { input: 5, output: 25 };
const folder = temporaryFolder("brain-test");
/** Answers with the status in the path of the provider's address. */
const faults = createServer((request, response) => {
  const status = Number(request.url?.split("/")[1]);
  const message = status === 404 ? "model: no-such-model" : `The provider says ${status} to ${key}.`;
  response.writeHead(status, { "content-type": "application/json", "retry-after": "600" });
  response.end(JSON.stringify({ error: { message } }));
});
let fake: FakeModel;
let options: DaemonOptions;
let daemon: BuiltDaemon;

before(async () => {
  fake = await startFakeModel({ [key]: always(answers("OK")) });
  await once(faults.listen(0, "127.0.0.1"), "listening");
  const bin = join(folder.path, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "codex"), "#!/bin/sh\necho codex-cli 0.166.0\n");
  chmodSync(join(bin, "codex"), 0o755);
  options = { home: join(folder.path, "home"), env: { PATH: `${bin}:/usr/bin:/bin` } };
  daemon = await startDaemon(options).ready;
  await daemon.board.call(setSecret, { companyId: daemon.companyId, name: "KEY", value: key });
});
after(async () => {
  await daemon.stop();
  await fake.stop();
  faults.close().closeAllConnections();
  folder.remove();
});

const provide = (name: string, change: Partial<ProviderConfig> = {}) =>
  daemon.board.call(putProvider, {
    companyId: daemon.companyId,
    name,
    config: {
      dialect: "anthropic",
      baseUrl: fake.url,
      secret: "KEY",
      models: { [model]: { price } },
      defaultModel: model,
      ...change,
    },
  });

const run = (type: string, provider: string, ...more: readonly string[]) =>
  runWith(type, { provider }, ...more);
const runWith = (type: string, config: object, ...more: readonly string[]) =>
  agency(["brains", "test", type, "--adapter-config", JSON.stringify(config), ...more], options);

const addressOf = (status: number): string => {
  const address = faults.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/${status}`;
};

test("the test of a working brain reports model, time, tokens and cost, and the cost is booked", async () => {
  const { board, companyId } = daemon;
  await provide("good");
  await provide("good-openai", { dialect: "openai" });
  const cases = [
    ["anthropic_api", "good"],
    ["openai_compatible", "good-openai"],
    ["openai_compatible", "good-openai", { api: "responses" }],
  ] as const;
  for (const [type, provider, more] of cases) {
    const { code, out, err } = await runWith(type, { provider, ...more });
    assert.equal(code, 0, out + err);
    assert.match(
      out,
      new RegExp(
        `^${type} works \\(.+\\)\\. ${model} of ${provider} answered in \\d+\\.\\d s with \\d+ tokens, for \\$0\\.\\d+\\.`,
      ),
    );
  }
  const asked = fake.calls.map(({ conversation }) => conversation.dialect);
  assert.deepEqual(asked, ["anthropic", "chat", "responses"]);
  const { input, output } = fake.tokensOf(key);
  assert.equal(fake.calls.length, cases.length);
  const { total } = await board.call(listCosts, { companyId });
  assert.deepEqual([total.inputTokens, total.outputTokens, total.sessions], [input, output, 0]);
  assert.ok(Math.abs(total.costUsd - (input * price.input + output * price.output) / 1e6) < 1e-5);
  const { events } = await board.call(listEvents, { companyId, operation: "brain.test" });
  assert.equal(events.length, cases.length);
});

test("each fault has its own sentence and remedy, and the command fails", async () => {
  const { board, companyId } = daemon;
  const far = await startFakeModel({});
  await far.stop();
  await provide("keyless", { secret: "NOT_SET" });
  await provide("refusing", { baseUrl: addressOf(401) });
  await provide("busy", { baseUrl: addressOf(429) });
  await provide("ignorant", { baseUrl: addressOf(404) });
  await provide("broken", { baseUrl: addressOf(500) });
  await provide("gone", { baseUrl: far.url });
  const unpriced: ProviderConfig = { dialect: "anthropic", baseUrl: fake.url, defaultModel: "mystery-1" };
  await board.call(putProvider, { companyId, name: "unpriced", config: unpriced });
  const cases: readonly [type: string, provider: string, says: RegExp, ...more: readonly string[]][] = [
    ["claude_local", "good", /Claude Code is not installed.*npm install --global @anthropic-ai\/claude-code/],
    ["anthropic_api", "keyless", /The secret NOT_SET is not set\..*agency secrets set NOT_SET/],
    [
      "anthropic_api",
      "refusing",
      /refusing does not accept its key: .*\nSet another key: agency secrets set KEY/,
    ],
    ["anthropic_api", "busy", /busy asks to wait: .*\nTry again later/],
    ["anthropic_api", "ignorant", /does not offer the model ".*": model: no-such-model\nTry another model/],
    ["anthropic_api", "broken", /broken answered with status 500: .*\n/],
    ["anthropic_api", "gone", /gone can't be reached\. Is the server at http:.* running\?/],
    ["anthropic_api", "nowhere", /There is no provider called "nowhere"/],
    ["anthropic_api", "unpriced", /"mystery-1" has no known price/],
    ["anthropic_api", "good", /may not use the model "other".*\nTry another model/, "--model", "other"],
    ["anthropic_api", "good-openai", /speaks the dialect openai/],
  ];
  for (const [type, provider, says, ...more] of cases) {
    const { code, out, err } = await run(type, provider, ...more);
    assert.equal(code, 1, `${provider}: ${out}${err}`);
    assert.match(out, says);
    assert.match(out, new RegExp(`^${type} does not work\\.`));
    assert.ok(!`${out}${err}`.includes(key), "it shows the key");
  }
  const asked = fake.calls.length;
  await board.call(updateCompany, { companyId, monthlyBudget: { usd: 0 } });
  const { out } = await run("anthropic_api", "good");
  assert.match(
    out,
    /money budget of the company has too little left for a call of its model.*\nRaise the company's budget/,
  );
  assert.equal(fake.calls.length, asked, "a model was asked without a budget");
  const wrong = await agency(["brains", "test", "telepathy"], options);
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.err, /There is no brain called "telepathy"/);
});

test("a program runs as in a session, can change nothing, and leaves nothing", async () => {
  const { board, companyId } = daemon;
  const agent = fileURLToPath(new URL("support/acp-agent.mjs", import.meta.url));
  const acp = (part: string) => ({ command: process.execPath, args: [agent], env: { ACP_PART: part } });
  const sh = (line: string) => ({ command: "/bin/sh", args: ["-c", line] });
  const cases: readonly [type: string, config: object, code: number, says: RegExp][] = [
    [
      "acp",
      acp("works"),
      0,
      /^acp works\. .*node.* was started as in a session with a test message, and ended with exit code 0 .*It said: .*All done\. No model was asked through Agency/,
    ],
    [
      "acp",
      acp("signed-out"),
      1,
      /^acp does not work\. .*asks to sign in.*Sign in with the vendor.*\nCheck its program/,
    ],
    ["acp", acp("crashes"), 1, /^acp does not work\. .*ended before it answered \(exit code 3\)/],
    [
      "process",
      sh('read -r line; echo "heard: $line"; pwd; test -n "$AGENCY_TOKEN"'),
      0,
      /^process works\. .*exit code 0 after .*It said: heard: This is a test, not work\. .*\/trials\/workspaces\//,
    ],
    ["process", sh("exit 3"), 1, /^process does not work\. .*exited with code 3\.\nCheck its program/],
    [
      "process",
      { command: "no-such-agent" },
      1,
      /^process does not work\. There is no program called "no-such-agent"/,
    ],
  ];
  for (const [type, config, code, says] of cases) {
    const { code: ended, out, err } = await runWith(type, config);
    assert.match(out, says, err);
    assert.equal(ended, code, out);
  }
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  const { events } = await board.call(listEvents, { companyId, actor: rootAgentId });
  assert.deepEqual(events, [], "a test acted as the root agent");
  assert.equal(existsSync(join(options.home, "trials")), false);
});

test("a brain without a model is checked without a session, and a test exists only in its company", async () => {
  const { board, companyId } = daemon;
  const list = (await agency(["brains"], options)).out;
  for (const row of [
    /codex_local +available +0\.166\.0 +Codex 0\.166\.0, with the provider good-openai\./,
    /claude_local +not available +- +Claude Code is not installed/,
    /rehearsal +available/,
  ])
    assert.match(list, row);
  const missing = ["brains", "use", "acp", "--adapter-config", '{"command":"no-such-agent"}'];
  assert.match(
    (await agency(missing, options)).out,
    /It can't work yet\. There is no program called "no-such-agent"/,
  );
  assert.match(
    (await agency(["brains", "use", "rehearsal"], options)).out,
    /Try it: agency brains test rehearsal/,
  );
  const { code, out } = await agency(["brains", "test", "rehearsal"], options);
  assert.deepEqual([code, out.trim()], [0, "rehearsal works. No model was asked: built in, no model."]);
  const { test: id } = await board.call(testBrain, { companyId, type: "rehearsal" });
  const seen = async () => (await board.call(testBrain, { companyId, type: "rehearsal", test: id })).status;
  let status = await seen();
  for (; status === "running"; status = await seen()) await sleep(50);
  assert.equal(status, "works");
  const other = await board.call(createCompany, { name: "Other" });
  await assert.rejects(
    board.call(testBrain, { companyId: other.id, type: "rehearsal", test: id }),
    /There is no test/,
  );
});

test("a test ends when its company is frozen", async () => {
  const { board } = daemon;
  const { id: companyId } = await board.call(createCompany, { name: "Cold" });
  const sleeps = { type: "process", adapterConfig: { command: "/bin/sleep", args: ["70"] } };
  const testing = board.call(testBrain, { companyId, ...sleeps });
  const isBegun = async () =>
    (await board.call(listEvents, { companyId, operation: "brain.test" })).events.length > 0;
  while (!(await isBegun())) await sleep(50);
  await board.call(freezeCompany, { companyId });
  let result = await testing;
  while (result.status === "running")
    result = await board.call(testBrain, { companyId, type: "process", test: result.test });
  assert.deepEqual(
    [result.status, result.says, result.remedy],
    ["fails", "The company was frozen, which ended the test.", "Thaw it, then test again: agency thaw."],
  );
});
