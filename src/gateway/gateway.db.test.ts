import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { endSessions } from "../agents/table.ts";
import { viewAgent } from "../contract/agents.ts";
import { listApprovals } from "../contract/approvals.ts";
import { viewAttention } from "../contract/attention.ts";
import { setBudget } from "../contract/budgets.ts";
import { boardInbox } from "../contract/mail.ts";
import { listProviders, type ProviderConfig, putProvider } from "../contract/providers.ts";
import { viewSession } from "../contract/sessions.ts";
import { newId } from "../daemon/ids.ts";
import { setSecret } from "../contract/secrets.ts";
import { why } from "../contract/why.ts";
import { gatewayScene, providerKey, sceneModel } from "../testing/gateway-scene.ts";
import { storeKinds } from "../testing/organization.ts";
import { runLength } from "../testing/run-length.ts";
import { always, answers, failing, type ModelScript } from "../testing/fake-model/script.ts";
import { noticesFor } from "../runtime/tool-notices.ts";

for (const kind of storeKinds)
  describe(`the model gateway on ${kind}`, () => {
    const scene = (script: ModelScript, change: Partial<ProviderConfig> = {}, agentModel?: string) =>
      gatewayScene(kind, script, change, agentModel);
    const usage = { input: 1000, output: 20, cacheRead: 400, cacheWrite: 80 };
    const spent = { input: 1000 * 5, output: 20 * 25, cacheRead: 400 * 0.5, cacheWrite: 80 * 6.25 };
    const cost = Object.values(spent).reduce((sum, one) => sum + one, 0) / 1e6;

    test("puts the key in place of the session's token, and books the usage", async () => {
      const { ask, fake, org, session, booked: isBooked } = await scene(always(answers("Hi.", { usage })));
      for (const stream of [false, true]) {
        const answer = await ask({ stream });
        assert.equal(answer.status, 200);
        assert.match(await answer.text(), /Hi\./);
      }
      fake.check();
      assert.ok(fake.calls.every(({ credential }) => credential === providerKey));
      assert.ok(fake.calls.every(({ headers }) => !JSON.stringify(headers).includes(session.token)));
      await isBooked();
      const { usage: booked, models } = await org.board(viewSession, { id: session.id });
      const costUsd = Math.round(2 * cost * 1e6) / 1e6;
      assert.deepEqual(
        [booked.inputTokens, booked.outputTokens, booked.costUsd],
        [2 * 1480, 2 * 20, costUsd],
      );
      const [{ provider: _, model: __, ...used } = {}, ...others] = models;
      assert.deepEqual(others, []);
      assert.deepEqual(used, {
        calls: 2,
        inputTokens: 2 * 1000,
        outputTokens: 2 * 20,
        cacheReadTokens: 2 * 400,
        cacheWriteTokens: 2 * 80,
        costUsd,
      });
    });

    test("refuses another model, a model without a price, and requests that need the internet", async () => {
      const { ask, fake } = await scene(always(answers("Hi.")));
      assert.match(
        await (await ask({ model: "claude-haiku-4-5" })).text(),
        /permission_error.*may not use the model/,
      );
      for (const more of [
        { mcp_servers: [{ type: "url", url: "https://evil.example" }] },
        {
          messages: [
            {
              role: "user",
              content: [{ type: "image", source: { type: "url", url: "https://evil.example" } }],
            },
          ],
        },
      ]) {
        const refused = await ask(more);
        assert.equal(refused.status, 403);
        assert.match(await refused.text(), /no access to the internet/);
      }
      const search = await ask({ tools: [{ type: "web_search_20250305", name: "web_search" }] });
      assert.deepEqual([search.status, /no known price/.test(await search.text())], [400, true]);
      const unknown = await scene(always(answers("Hi.")), { models: { mystery: {} } }, "mystery");
      assert.match(await (await unknown.ask({ model: "mystery" })).text(), /no known price/);
      assert.equal(fake.calls.length + unknown.fake.calls.length, 0);
    });

    test("forwards only known paths, for running sessions, to known providers", async () => {
      const { ask, org, agent, opened } = await scene(always(answers("Hi.")));
      assert.equal((await ask({}, { path: "fake/v1/files" })).status, 404);
      assert.equal((await ask({}, { path: "fake/../../etc" })).status, 404);
      for (const name of ["other", "constructor", "toString", "__proto__"])
        assert.equal((await ask({}, { path: `${name}/v1/messages` })).status, 404, name);
      assert.equal((await ask({}, { token: "nothing" })).status, 401);
      assert.equal((await ask({}, { token: org.boardToken })).status, 403);
      const { token } = await org.agent("Ben");
      assert.equal((await ask({}, { token })).status, 403);
      await opened.store.write((tx) =>
        tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: "ended" }),
      );
      assert.equal((await ask()).status, 401);
    });

    test("stops within one call of the budget, also with calls at the same time", async () => {
      const { ask, org, agent, session, fake } = await scene(
        always(answers("Hi.", { usage: { input: 20, output: 100 } })),
      );
      // Each call costs 20 × $5 + 100 × $25 per million tokens, which is $0.0026, and at most a little more.
      await org.board(setBudget, { id: agent.id, usd: 0.02 });
      const all = await Promise.all(Array.from({ length: 20 }, () => ask().then(({ status }) => status)));
      const { usage: booked } = await org.board(viewSession, { id: session.id });
      assert.ok(booked.costUsd <= 0.02, `${booked.costUsd}`);
      assert.equal(fake.calls.length, all.filter((status) => status === 200).length);
      assert.ok(all.includes(403) || all.includes(401), all.join(" "));
    });

    test("a small file that may be many pages is asked only if the budget covers the model's whole window", async () => {
      const { ask, fake, org, agent, session, booked } = await scene(
        always(answers("Hi.", { usage: { input: 120_000, output: 10 } })),
      );
      // 128,000 tokens at $6.25 a million cost $0.80.
      const file = (type: string, media_type: string) => ({
        messages: [
          { role: "user", content: [{ type, source: { type: "base64", media_type, data: "AAAA" } }] },
        ],
      });
      await org.board(setBudget, { id: agent.id, usd: 1.5 });
      assert.equal((await ask(file("document", "application/pdf"))).status, 200);
      await booked();
      assert.equal((await ask(file("image", "image/png"))).status, 200);
      await booked();
      const { costUsd } = (await org.board(viewSession, { id: session.id })).usage;
      assert.ok(costUsd > 1.2 && costUsd < 1.5, `${costUsd}`);
      const { token } = await org.session(agent.id);
      assert.equal((await ask(file("document", "application/pdf"), { token })).status, 403);
      assert.equal(fake.calls.length, 2);
    });

    test("a call right after an answer is asked once that answer is booked", async () => {
      const { ask, org, agent, afterAnswer } = await scene(
        always(answers("Hi.", { usage: { input: 20, output: 100 } })),
      );
      // Both fit, but not with the most that the first could have used.
      await org.board(setBudget, { id: agent.id, tokens: 1500 });
      const next = Promise.withResolvers<Response>();
      afterAnswer(() => next.resolve(ask({ max_tokens: 1000 })));
      assert.equal((await ask({ max_tokens: 1000 })).status, 200);
      assert.equal((await next.promise).status, 200);
    });

    test("a budget with too little left for a call pauses the agent until there is more, and the board is asked once", async () => {
      const { ask, org, agent, session, fake, booked } = await scene(
        always(answers("Hi.", { usage: { input: 20, output: 100 } })),
      );
      const { board, companyId } = org;
      const id = agent.id;
      const status = async () => (await board(viewAgent, { id })).status;
      const requests = async () => (await board(listApprovals, { companyId })).approvals;
      // A call is booked with 120 tokens, and could have used a few hundred.
      await board(setBudget, { id, tokens: 100_000 });
      assert.equal((await ask({ max_tokens: 1000 })).status, 200);
      await booked();
      const refused = await ask({ max_tokens: 99_900 });
      assert.equal(refused.status, 403);
      const reason = "The token budget of Ada has too little left for a call of its model";
      assert.match(await refused.text(), new RegExp(`${reason}. The session ends`));
      assert.equal(fake.calls.length, 1);
      assert.equal((await board(viewSession, { id: session.id })).endReason, reason);
      assert.equal(await status(), "paused");
      const [request, ...others] = await requests();
      assert.deepEqual([request?.type, request?.status, others], ["budget_override", "pending", []]);
      const { says } = await board(why, { id });
      assert.match(says, /has too little left for a call of its model \(spent 120 tokens.*asked to raise it/);
      const { items } = await board(viewAttention, { companyId });
      const item = items.find(({ kind: what }) => what === "budget");
      assert.match(item?.reason ?? "", /^It has too little left for a call of a model: .*1 agent paused/);

      // A budget for another agent, or a lower one for this agent, does not give it more.
      const other = await org.agent("Ben");
      await board(setBudget, { id: other.id, tokens: 10 });
      await board(setBudget, { id, tokens: 90_000 });
      assert.deepEqual([await status(), (await requests())[0]?.status], ["paused", "pending"]);
      await board(setBudget, { id, tokens: 200_000 });
      assert.equal(await status(), "idle");
      assert.notEqual((await requests())[0]?.status, "pending");
    });

    test("waits and asks again at 429 and 529, and tells the board once when the key is refused", async () => {
      const { ask, fake } = await scene(
        always(failing(2, { fault: 529, headers: { "retry-after": "0" } }, answers("Hi."))),
      );
      assert.equal((await ask()).status, 200);
      assert.equal(fake.calls.length, 3);
      const wrong = await scene(always(() => ({ fault: 401 })));
      for (let tries = 0; tries < 3; tries++) assert.equal((await wrong.ask()).status, 401);
      assert.equal(wrong.fake.calls.length, 1);
      const { org } = wrong;
      const { messages } = await org.board(boardInbox, { companyId: org.companyId });
      assert.equal(
        messages.filter(({ body }) => body?.includes("does not accept the key") === true).length,
        1,
      );
      const { providers } = await org.board(listProviders, { companyId: org.companyId });
      assert.equal(providers.find(({ name }) => name === "fake")?.status, "refused");
      // After a change of the configuration or the key, the provider is tried at once.
      await org.board(putProvider, {
        companyId: org.companyId,
        name: "fake",
        config: providers.find(({ name }) => name === "fake")?.config ?? assert.fail(),
      });
      await wrong.ask();
      assert.equal(wrong.fake.calls.length, 2);
      await org.board(setSecret, {
        companyId: org.companyId,
        name: "MODEL_KEY",
        value: "another-key-12345678",
      });
      await wrong.ask();
      assert.equal(wrong.fake.calls.length, 3);
    });

    test("tries a refused key again after waits that grow, and one call decides", async () => {
      let refuses = true;
      const { ask, fake, org, advance } = await scene(
        always((asked) => (refuses ? { fault: 401 } : answers("Hi.")(asked))),
      );
      const { companyId } = org;
      const asks = async (): Promise<number> => {
        for (let tries = 0; tries < 3; tries++) await (await ask()).text();
        return fake.calls.length;
      };
      assert.equal(await asks(), 1);
      const { messages } = await org.board(boardInbox, { companyId });
      const again = /Agency tries again at (\S+), then after longer/.exec(messages[0]?.body ?? "")?.[1];
      const { providers } = await org.board(listProviders, { companyId });
      assert.equal(again, providers.find(({ name }) => name === "fake")?.until);
      for (const [wait, calls] of [
        [31_000, 2],
        [31_000, 2],
        [31_000, 3],
      ] as const) {
        advance(wait);
        assert.equal(await asks(), calls);
      }
      for (let tries = 0; tries < 8; tries++) {
        advance(3_601_000);
        await asks();
      }
      assert.equal(fake.calls.length, 11, "at least once an hour");
      refuses = false;
      advance(3_601_000);
      assert.equal((await ask()).status, 200);
      assert.equal((await org.board(boardInbox, { companyId })).messages.length, 1);
      // The next refusal counts as the first again.
      refuses = true;
      await asks();
      advance(31_000);
      const before = fake.calls.length;
      assert.equal(await asks(), before + 1);
    });

    test("an account that can't be used counts as a refused key, but a refused model does not", async () => {
      for (const [fault, says, code] of [
        [402, "Insufficient Balance"],
        [403, "Your API key has no permission for this organization."],
        [403, "Country, region, or territory not supported"],
        [400, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."],
        [
          429,
          "You exceeded your current quota, please check your plan and billing details.",
          "insufficient_quota",
        ],
        [429, "Your account is not active.", "billing_not_active"],
      ] as const) {
        const { ask, fake, org } = await scene(
          always(() => ({ fault, says, ...(code === undefined ? {} : { code }) })),
        );
        for (let tries = 0; tries < 2; tries++) {
          const answer = await ask();
          assert.equal(answer.status, 401, says);
          assert.ok((await answer.text()).includes(says));
        }
        assert.equal(fake.calls.length, 1);
        const { messages } = await org.board(boardInbox, { companyId: org.companyId });
        assert.deepEqual([messages.length, messages[0]?.body?.includes(says)], [1, true]);
      }
      for (const [fault, says] of [
        [403, "Project p1 does not have access to model gpt-9, ask your organization."],
        [403, "Your input was flagged."],
        [400, 'messages.0: the text "Your credit balance is too low" is not valid here'],
      ] as const) {
        const { ask, fake, org } = await scene(always(() => ({ fault, says })));
        for (let tries = 0; tries < 2; tries++) assert.equal((await ask()).status, fault, says);
        assert.equal(fake.calls.length, 2);
        assert.deepEqual((await org.board(boardInbox, { companyId: org.companyId })).messages, []);
      }
    });

    test("asks a session to stop when its context is nearly full", async () => {
      const { ask, org, session, opened, booked } = await scene(
        always(({ entries }) => ({
          text: "Hi.",
          usage: { input: 1000, cacheRead: entries.length > 1 ? 7600 : 7400, output: 1 },
        })),
        { models: { [sceneModel]: { price: { input: 5, output: 25 }, contextTokens: 10_000 } } },
      );
      const told = () => noticesFor(opened.store, newId, session.token);
      await (await ask()).text();
      assert.deepEqual(await told(), []);
      const more = { messages: [1, 2, 3].map((at) => ({ role: "user", content: `${at}` })) };
      await (await ask(more)).text();
      await booked();
      assert.match((await told())[0] ?? "", /its context is nearly full.*submit_summary/);
      assert.equal((await org.board(viewSession, { id: session.id })).endedAt, null);
    });

    test("does not ask a session whose brain continues from a summary", async () => {
      const { ask, agent, session, opened, booked, thinkWith } = await scene(
        always(() => ({ text: "Hi.", usage: { input: 9900, output: 1 } })),
        { models: { [sceneModel]: { price: { input: 5, output: 25 }, contextTokens: 10_000 } } },
      );
      const told = () => noticesFor(opened.store, newId, session.token);
      const think = (type: string) => thinkWith(agent.id, type, { provider: "fake" });
      await think("anthropic_api");
      await (await ask()).text();
      await booked();
      assert.deepEqual(await told(), []);
      await think("claude_local");
      await (await ask()).text();
      await booked();
      assert.equal((await told()).length, 1);
    });

    test("counts to the token over many calls, also when the program is killed in the middle", async () => {
      const { ask, fake, org, session, booked } = await scene(
        always(({ entries }) => ({
          text: "x".repeat(1000),
          after: entries.length % 3,
          usage: { cacheRead: 7 },
        })),
      );
      const calls = Array.from({ length: runLength === "long" ? 1000 : 120 }, async (_, at) => {
        const signal = at % 4 === 0 ? AbortSignal.timeout(1 + (at % 30)) : undefined;
        const answer = await ask(
          { stream: at % 2 === 0, messages: [{ role: "user", content: `${at}` }] },
          signal === undefined ? {} : { signal },
        );
        await answer.text();
      });
      await Promise.allSettled(calls);
      await booked();
      const { input, cacheRead, cacheWrite, output } = fake.tokensOf(providerKey);
      const { inputTokens, outputTokens } = (await org.board(viewSession, { id: session.id })).usage;
      assert.deepEqual([inputTokens, outputTokens], [input + cacheRead + cacheWrite, output]);
      assert.ok(outputTokens > 0);
    });
  });
