import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keepCodexLogins } from "../brains/codex/login.ts";
import { boardInbox } from "../contract/mail.ts";
import { listProviders, putProvider } from "../contract/providers.ts";
import { setSecret } from "../contract/secrets.ts";
import { fakeAccessToken, fakeAccount, fakeLogin } from "../testing/codex-login.ts";
import { always, answers } from "../testing/fake-model/script.ts";
import { gatewayScene, sceneModel } from "../testing/gateway-scene.ts";
import { storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`a linked login of Codex on ${kind}`, () => {
    test("is used for sessions, renewed once for all of them, and shown to none", async (t) => {
      const login = fakeLogin();
      t.after(() => login.remove());
      const [expired, next, last, refused] = [
        fakeAccessToken(-10),
        ...[1, 2, 3].map(() => fakeAccessToken(3600)),
      ];
      const tokens = [expired, next, last, refused].map((token) => token ?? assert.fail());
      const hi = always(answers("Hi."));
      const logins = keepCodexLogins({ path: login.path });
      const { org, ask, fake, bugs, agent, thinkWith } = await gatewayScene(
        kind,
        hi,
        {},
        sceneModel,
        logins,
        {
          [tokens[1] ?? ""]: hi,
          [tokens[2] ?? ""]: hi,
          [tokens[3] ?? ""]: always(() => ({ fault: 401 })),
        },
      );
      const { board, companyId } = org;
      await thinkWith(agent.id, "codex_local", { login: "subscription" });
      const seen: string[] = [];
      const call = async (): Promise<number> => {
        const answer = await ask(
          { input: "Hello.", max_output_tokens: 100, tools: [{ type: "function", name: "look" }] },
          { path: "codex-subscription/v1/responses" },
        );
        seen.push(JSON.stringify([...answer.headers]), await answer.text());
        return answer.status;
      };
      const state = async () => {
        const { providers } = await board(listProviders, { companyId });
        return providers.find(({ name }) => name === "codex-subscription") ?? assert.fail();
      };
      const { config } = await state();
      for (const baseUrl of [
        "https://evil.example/codex",
        "https://chatgpt.com.evil.example",
        "http://chatgpt.com",
      ])
        await assert.rejects(
          board(putProvider, { companyId, name: "codex-subscription", config: { ...config, baseUrl } }),
          /only with.*https address of chatgpt.com/,
        );
      await board(putProvider, {
        companyId,
        name: "codex-subscription",
        config: {
          ...config,
          baseUrl: `${fake.url}/backend-api/codex`,
          models: { [sceneModel]: { price: { input: 5, output: 25 } } },
        },
      });
      assert.deepEqual([(await state()).status, await call()], ["no_key", 401]);
      await board(setSecret, { companyId, name: "CODEX_LOGIN_FILE", value: login.file });
      assert.deepEqual([(await state()).status, await call()], ["signed_out", 401]);
      assert.match(seen.at(-1) ?? "", /can't read the file.*codex login/);

      login.signIn(tokens[0] ?? "");
      login.renewsTo(tokens[1]);
      assert.equal((await state()).status, "ready");
      assert.deepEqual(new Set(await Promise.all(Array.from({ length: 20 }, call))), new Set([200]));
      assert.equal(login.renewals(), 1);
      assert.deepEqual(new Set(fake.calls.map(({ credential }) => credential)), new Set([tokens[1]]));
      for (const { headers, conversation } of fake.calls) {
        assert.equal(headers["chatgpt-account-id"], fakeAccount);
        const { store, max_output_tokens: most } = Object(conversation.body);
        assert.deepEqual([store, most], [false, undefined]);
      }
      assert.equal(
        (await ask({}, { path: "codex-subscription/v1/chat/completions" })).status,
        404,
        "only Responses are offered",
      );

      // The provider refuses the token, so it is renewed once. It refuses the new token as well: the board is told, and the
      // provider is not asked again.
      login.signIn(tokens[3] ?? "");
      login.renewsTo(tokens[2]);
      assert.equal(await call(), 200);
      assert.equal(login.renewals(), 2);
      login.signIn(tokens[3] ?? "");
      login.renewsTo(`${tokens[3]}`);
      assert.equal(await call(), 401);
      const before = fake.calls.length;
      assert.equal(await call(), 401);
      assert.equal(fake.calls.length, before);
      const { status, says } = await state();
      assert.equal(status, "waiting");
      assert.match(says, /could not renew.*codex login/);
      const { messages } = await board(boardInbox, { companyId });
      assert.equal(messages.filter(({ body }) => body?.includes("codex login") === true).length, 1);
      login.signIn(fakeAccessToken(3600));
      assert.equal((await state()).status, "ready", "a new login is used at once");

      const shown = JSON.stringify([seen, messages, await state(), bugs]);
      for (const token of [...tokens, login.refreshToken(), login.file]) assert.ok(!shown.includes(token));
    });
  });
