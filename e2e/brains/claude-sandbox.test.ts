import assert from "node:assert/strict";
import { test } from "node:test";
import { use } from "../../src/testing/fake-model/script.ts";
import { claude } from "./support/adapters.ts";
import { testBrain } from "./support/list.ts";
import { diligent, onBrain } from "./support/stage.ts";

testBrain(claude);

test("a subscription: the daemon puts its token in place of the session's, and no session sees it", () => {
  const key = "sk-ant-oat01-the-token-of-a-subscription-0123456789";
  return onBrain(
    claude,
    diligent(
      claude.shell("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; ls -aR $HOME/.claude | head -50"),
      use("list_permissions"),
    ),
    async (stage) => {
      await stage.tell("Hello.");
      const session = await stage.ended(1);
      assert.equal(session.exitCode, 0);
      for (const { headers, conversation } of stage.model.calls) {
        assert.equal(headers.authorization, `Bearer ${key}`);
        assert.equal(headers["x-api-key"], undefined);
        // Without this, the provider does not take such a token.
        assert.match(String(headers["anthropic-beta"]), /oauth/);
        assert.ok(!JSON.stringify(conversation.body).includes(key));
      }
      const shown = JSON.stringify(await stage.transcript(session));
      assert.match(shown, /CLAUDE_CODE_OAUTH_TOKEN=/);
      assert.doesNotMatch(shown, /sk-ant-oat01|\.credentials\.json/);
    },
    { config: { login: "subscription" }, key },
  );
});
