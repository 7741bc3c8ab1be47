import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { z } from "zod";
import { lastResult } from "./conversation.ts";
import { always, failing, answers, type ModelScript, steps, use } from "./script.ts";
import { type FakeModel, startFakeModel } from "./server.ts";

/** A request of each dialect, with one tool, and with the exchanges so far. */
const dialects = {
  anthropic: {
    path: "/v1/messages",
    body: (exchanges: readonly Exchange[]) => ({
      messages: [
        { role: "user", content: "Begin." },
        ...exchanges.flatMap(({ id, result }) => [
          { role: "assistant", content: [{ type: "tool_use", id, name: "mcp__agency__look", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
        ]),
      ],
      tools: [{ name: "mcp__agency__look" }],
    }),
  },
  responses: {
    path: "/v1/responses",
    body: (exchanges: readonly Exchange[]) => ({
      input: [
        { role: "user", content: "Begin." },
        ...exchanges.flatMap(({ id, result }) => [
          { type: "function_call", call_id: id, namespace: "mcp__agency", name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: id, output: result },
        ]),
      ],
      tools: [{ type: "namespace", name: "mcp__agency", tools: [{ name: "look" }] }],
    }),
  },
  chat: {
    path: "/v1/chat/completions",
    body: (exchanges: readonly Exchange[]) => ({
      messages: [
        { role: "user", content: "Begin." },
        ...exchanges.flatMap(({ id, result }) => [
          {
            role: "assistant",
            content: "",
            tool_calls: [{ id, type: "function", function: { name: "look", arguments: "{}" } }],
          },
          { role: "tool", tool_call_id: id, content: result },
        ]),
      ],
      tools: [{ type: "function", function: { name: "look" } }],
    }),
  },
};
interface Exchange {
  readonly id: string;
  readonly result: string;
}

const models: FakeModel[] = [];
const start = async (script: ModelScript): Promise<FakeModel> => {
  const model = await startFakeModel({ ada: script });
  models.push(model);
  return model;
};
after(async () => {
  for (const model of models) await model.stop();
});

for (const [name, { path, body }] of Object.entries(dialects))
  describe(`a fake model that speaks ${name}`, () => {
    const ask = (model: FakeModel, exchanges: readonly Exchange[] = [], stream = false, key = "ada") =>
      fetch(model.url + path, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: "m", stream, ...body(exchanges) }),
      });
    const seen = [{ id: "call_1_1", result: "the door is open" }];

    test("plays one step for each turn, and reads earlier results", async () => {
      const model = await start(
        steps(use("look"), (c) => ({ text: `I saw: ${lastResult(c, "look") ?? ""}` })),
      );
      assert.match(await (await ask(model)).text(), /look/);
      assert.match(await (await ask(model, seen)).text(), /I saw: the door is open/);
      model.check();
    });

    test("streams the same answer", async () => {
      const model = await start(steps(use("look"), answers("Done.")));
      const first = await ask(model, [], true);
      assert.equal(first.headers.get("content-type"), "text/event-stream");
      assert.match(await first.text(), /look/);
      assert.match(await (await ask(model, seen, true)).text(), /Done\./);
      model.check();
    });

    test("reports unused steps and unexpected calls", async () => {
      const model = await start(steps(use("look"), answers("Done.")));
      await ask(model);
      assert.throws(() => model.check(), /ada: Step 2 was never asked for/);
      const beyond = await start(steps(answers("Done.")));
      assert.equal((await ask(beyond, seen)).status, 400);
      assert.throws(() => beyond.check(), /turn 2 was asked for/);
      const stranger = await start(always(answers("Done.")));
      assert.equal((await ask(stranger, [], false, "eve")).status, 400);
      assert.throws(() => stranger.check(), /no script for the credential eve/);
      const missing = await start(steps(use("jump")));
      assert.equal((await ask(missing)).status, 400);
      assert.throws(() => missing.check(), /jump is not offered/);
    });

    test("fails as planned, with a status, a cut stream or no answer", async () => {
      const model = await start(
        steps(failing(2, { fault: 529, headers: { "retry-after": "1" } }, answers("Done."))),
      );
      const refused = await ask(model);
      assert.equal(refused.status, 529);
      assert.equal(refused.headers.get("retry-after"), "1");
      assert.equal((await ask(model)).status, 529);
      assert.equal((await ask(model)).status, 200);
      const cut = await start(always(() => ({ fault: "cut" })));
      await assert.rejects(async () => (await ask(cut, [], true)).text());
      const hanging = await start(always(() => ({ fault: "hang" })));
      const answer = fetch(hanging.url + path, {
        method: "POST",
        headers: { authorization: "Bearer ada" },
        body: JSON.stringify({ model: "m", ...body([]) }),
        signal: AbortSignal.timeout(200),
      });
      await assert.rejects(answer, { name: "TimeoutError" });
    });

    test("counts the tokens of complete answers only", async () => {
      const usage = { input: 100, output: 7, cacheRead: 50, cacheWrite: 25 };
      const model = await start(steps(failing(1, { fault: "cut" }, answers("Done.", { usage }))));
      await ask(model, [], true)
        .then((cut) => cut.text())
        .catch(() => undefined);
      assert.deepEqual(model.tokensOf("ada"), { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 });
      const answer = z
        .looseObject({ usage: z.record(z.string(), z.unknown()) })
        .parse(await (await ask(model)).json());
      assert.deepEqual(model.tokensOf("ada"), usage);
      assert.ok(JSON.stringify(answer.usage).includes("50"));
    });
  });
