// Calls of models through a daemon that is killed at random moments. Every answer that a program has received whole is booked to
// the token, and nothing is booked twice. Of a call that was under way, either what the answer had said is booked, or the
// estimate of what the model read.
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
/** The figures of each call are its own, so a booked row tells which call it is. */
const figuresOf = (number: number) => ({ input: 100_000 + number, output: 1000 + number });
const numberIn = (text: string): number => Number(/call (\d+)/.exec(text)?.[1]);

test(`${(kills + 1) * callsPerRound} calls and ${kills} kills of the daemon: what was answered is booked to the token`, async () => {
  const home = temporaryFolder("gateway-kill");
  const fake = await startFakeModel({
    "": always(({ entries }) => {
      const number = numberIn(JSON.stringify(entries));
      return { text: "x".repeat(500), after: number % 40, usage: figuresOf(number) };
    }),
  });
  const options = { home: home.path, port: await fixedPort() };
  let daemon = await startDaemon(options).ready;
  try {
    const { board, companyId } = daemon;
    await board.call(updateCompany, { companyId, monthlyBudget: { usd: 1e6 } });
    const price = { input: 1, output: 1 };
    const config = { dialect: "anthropic" as const, baseUrl: fake.url, models: { [model]: { price } } };
    await board.call(putProvider, { companyId, name: "fake", config });
    const { id } = await board.call(createAgent, {
      companyId,
      name: "Ada",
      role: "Caller",
      model,
      ...sleeper,
    });
    await board.call(sendMessage, { companyId, to: id, body: "Call." });

    const received = new Set<number>();
    const bodyOf = (number: number): string =>
      JSON.stringify({
        model,
        max_tokens: 100,
        stream: number % 2 === 0,
        tools: [{ name: "look" }],
        messages: [{ role: "user", content: `call ${number} ` }],
      });
    for (let round = 0; round <= kills; round++) {
      const { token } =
        (await tokensOf(home.path, round + 1)).find(({ id: one }) => !ended.has(one)) ?? assert.fail();
      const before = received.size;
      const calls = Array.from({ length: callsPerRound }, async (_, at) => {
        const number = round * callsPerRound + at;
        await sleep(at * 4);
        const answer = await fetch(`${daemon.url}/model/fake/v1/messages`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: bodyOf(number),
        });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        if (number % 2 === 1 || text.includes("message_stop")) received.add(number);
      });
      let isOver = false;
      const all = Promise.allSettled(calls).finally(() => (isOver = true));
      if (round === kills) {
        for (const call of await all) assert.equal(call.status, "fulfilled", JSON.stringify(call));
        break;
      }
      // At a random moment between the answers.
      const most = Math.floor(Math.random() * callsPerRound * 0.9);
      while (received.size - before < most && !isOver) await sleep(1);
      for (const { id: one } of await tokensOf(home.path, round + 1)) ended.add(one);
      await daemon.kill();
      await all;
      daemon = await startDaemon(options).ready;
    }

    await daemon.stop();
    const db = new DatabaseSync(join(home.path, "agency.db"), { readOnly: true });
    const rows = db.prepare("select * from model_calls").all();
    const booked = db
      .prepare("select sum(input_tokens) as input, sum(output_tokens) as output from sessions")
      .get();
    db.close();
    const exact = new Set<number>();
    let estimates = 0;
    for (const { status, input_tokens: input, output_tokens: output } of rows) {
      const number = Number(input) - 100_000;
      if (number >= 0 && Number(output) === 1000 + number) {
        assert.ok(!exact.has(number), `call ${number} is booked twice`);
        exact.add(number);
      } else {
        assert.deepEqual([status, output], ["cut", 0]);
        assert.ok(Number(input) <= Math.ceil(bodyOf(9999).length / 3), `${String(input)} is not an estimate`);
        estimates += 1;
      }
    }
    for (const number of received)
      assert.ok(exact.has(number), `call ${number} was answered and is not booked`);
    const sum = (of: "input_tokens" | "output_tokens"): number =>
      rows.reduce((total, row) => total + Number(row[of]), 0);
    assert.deepEqual([booked?.["input"], booked?.["output"]], [sum("input_tokens"), sum("output_tokens")]);
    console.log(
      `${fake.calls.length} calls reached the model, ${kills} kills: ${received.size} answered whole, ${exact.size} booked to the token, ${estimates} estimated`,
    );
  } finally {
    await daemon.stop();
    await fake.stop();
    home.remove();
  }
});

const ended = new Set<string>();
