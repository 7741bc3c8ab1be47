// Calls of models through a daemon that is killed at random moments, in every dialect, streamed and whole, some of them longer
// than the daemon is away. Afterwards the gateway's figures equal the model's for every call, to the token.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { updateCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { putProvider } from "../src/contract/providers.ts";
import { always } from "../src/testing/fake-model/script.ts";
import { startFakeModel } from "../src/testing/fake-model/server.ts";
import { campaign } from "../src/testing/run-length.ts";
import { fixedPort, sleeper, tokensOf } from "./support/agents.ts";
import { startDaemon, temporaryFolder } from "./support/daemon.ts";

const model = "claude-opus-4-5";
const kills = campaign({ quick: 1, whole: 2, long: 40 });
const callsPerRound = 50;
/** Each call has unique figures, so a booked row shows which call it is. */
const figuresOf = (number: number) => ({
  input: 100_000 + number,
  output: 1000 + number,
  cacheRead: 10 + (number % 7),
  cacheWrite: 20 + (number % 11),
});
const price = { input: 1, output: 3, cacheRead: 0.5, cacheWrite: 1.25 };
const costOf = ({ input, output, cacheRead, cacheWrite }: ReturnType<typeof figuresOf>): number =>
  Math.ceil(
    input * price.input + output * price.output + cacheRead * price.cacheRead + cacheWrite * price.cacheWrite,
  );
/** Some answers take longer than the daemon needs to start again. */
const delayOf = (number: number): number => (number % 9 === 0 ? 6000 : number % 40);
const numberIn = (text: string): number => Number(/call (\d+)/.exec(text)?.[1]);

test(`${(kills + 1) * callsPerRound} calls and ${kills} kills of the daemon: the gateway's figures are the model's to the token`, async () => {
  const home = temporaryFolder("gateway-kill");
  const fake = await startFakeModel({
    "": always(({ entries }) => {
      const number = numberIn(JSON.stringify(entries));
      return { text: "x".repeat(500), after: delayOf(number), usage: figuresOf(number) };
    }),
  });
  const options = { home: home.path, port: await fixedPort() };
  let daemon = await startDaemon(options).ready;
  try {
    const { board, companyId } = daemon;
    await board.call(updateCompany, { companyId, monthlyBudget: { usd: 1e6 } });
    for (const dialect of ["anthropic", "openai"] as const) {
      const config = { dialect, baseUrl: fake.url, models: { [model]: { price } } };
      await board.call(putProvider, { companyId, name: dialect, config });
    }
    const { id } = await board.call(createAgent, {
      companyId,
      name: "Ada",
      role: "Caller",
      model,
      ...sleeper,
    });
    await board.call(sendMessage, { companyId, to: id, body: "Call." });

    const received = new Set<number>();
    const bodyOf = (number: number) => {
      const said = [{ role: "user", content: `call ${number} ` }];
      const asked = { model, stream: number % 2 === 0 };
      const ways = [
        ["anthropic/v1/messages", { max_tokens: 100, tools: [{ name: "look" }], messages: said }],
        ["openai/v1/responses", { tools: [{ type: "function", name: "look" }], input: said }],
        [
          "openai/v1/chat/completions",
          { tools: [{ type: "function", function: { name: "look" } }], messages: said },
        ],
      ] as const;
      const [path, body] = ways[number % 3] ?? assert.fail();
      return { path, body: JSON.stringify({ ...asked, ...body }) };
    };
    const lastEvent = /message_stop|response\.completed|\[DONE\]/;
    for (let round = 0; round <= kills; round++) {
      const { token } =
        (await tokensOf(home.path, round + 1)).find(({ id: one }) => !ended.has(one)) ?? assert.fail();
      const before = received.size;
      const calls = Array.from({ length: callsPerRound }, async (_, at) => {
        const number = round * callsPerRound + at;
        await sleep(at * 4);
        const { path, body } = bodyOf(number);
        const answer = await fetch(`${daemon.url}/model/${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body,
        });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        if (number % 2 === 1 || lastEvent.test(text)) received.add(number);
      });
      let isOver = false;
      const all = Promise.allSettled(calls).finally(() => (isOver = true));
      if (round === kills) {
        for (const call of await all) assert.equal(call.status, "fulfilled", JSON.stringify(call));
        break;
      }
      // The kill comes at a random moment between the answers.
      const most = Math.floor(Math.random() * callsPerRound * 0.9);
      while (received.size - before < most && !isOver) await sleep(1);
      for (const { id: one } of await tokensOf(home.path, round + 1)) ended.add(one);
      await daemon.kill();
      await all;
      daemon = await startDaemon(options).ready;
    }

    const db = new DatabaseSync(join(home.path, "agency.db"), { readOnly: true, timeout: 60_000 });
    // Requests from before a kill may still be answered.
    while (Number(db.prepare("select count(*) as n from model_calls where status = 'open'").get()?.["n"]) > 0)
      await sleep(50);
    await daemon.stop();
    const rows = db.prepare("select * from model_calls").all();
    const booked = db
      .prepare("select sum(input_tokens) as input, sum(output_tokens) as output from sessions")
      .get();
    db.close();
    const exact = new Set<number>();
    for (const row of rows) {
      const [input, output, cacheRead, cacheWrite] = [
        row["input_tokens"],
        row["output_tokens"],
        row["cache_read_tokens"],
        row["cache_write_tokens"],
      ];
      // The call was recorded, and then the daemon was killed before it asked the model.
      if (row["status"] === "failed")
        assert.deepEqual([input, output, cacheRead, cacheWrite, row["cost"]], [0, 0, 0, 0, 0]);
      else {
        const number = Number(input) - 100_000;
        const figures = figuresOf(number);
        const said = { input, output, cacheRead, cacheWrite, cost: row["cost"] };
        assert.deepEqual(
          { status: row["status"], ...said },
          { status: "done", ...figures, cost: costOf(figures) },
        );
        assert.ok(!exact.has(number), `call ${number} is booked twice`);
        exact.add(number);
      }
    }
    for (const number of received)
      assert.ok(exact.has(number), `call ${number} was answered and is not booked`);
    assert.equal(exact.size, fake.calls.length);
    const { input, output, cacheRead, cacheWrite } = fake.tokensOf("");
    assert.deepEqual([booked?.["input"], booked?.["output"]], [input + cacheRead + cacheWrite, output]);
    console.log(
      `${fake.calls.length} calls reached the model, ${kills} kills: ${received.size} answered whole, ${exact.size} booked to the token`,
    );
  } finally {
    await daemon.stop();
    await fake.stop();
    home.remove();
  }
});

const ended = new Set<string>();
