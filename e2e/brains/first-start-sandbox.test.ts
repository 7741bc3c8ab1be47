// The first start on a machine with Claude Code or Codex and a key: the root agent works without any further setting. Only the
// addresses of the providers are changed, because they would be on the internet.
import assert from "node:assert/strict";
import { test } from "node:test";
import { viewAgent } from "../../src/contract/agents.ts";
import { viewCompany } from "../../src/contract/companies.ts";
import { sendMessage } from "../../src/contract/mail.ts";
import { listProviders, putProvider } from "../../src/contract/providers.ts";
import { listAgentSessions, viewTranscript } from "../../src/contract/sessions.ts";
import { startFakeModel } from "../../src/testing/fake-model/server.ts";
import { startDaemon, temporaryFolder } from "../support/daemon.ts";
import { type Adapter, claude, codex, pathFor } from "./support/adapters.ts";
import { diligent, until } from "./support/stage.ts";

const cases: readonly [adapter: Adapter, variable: string, key: string, provider: string][] = [
  [claude, "ANTHROPIC_API_KEY", "sk-ant-api03-of-the-environment-0123456789", "anthropic"],
  [claude, "CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-of-the-environment-0123456789", "claude-subscription"],
  [codex, "OPENAI_API_KEY", "sk-of-the-environment-0123456789", "openai"],
];

for (const [adapter, variable, key, provider] of cases)
  test(`${adapter.type} with ${variable}: the root agent works with the provider's default model`, async () => {
    const home = temporaryFolder("first-start");
    const model = await startFakeModel({ [key]: diligent() });
    const env = {
      PATH: pathFor(adapter),
      AGENCY_BRAIN: "",
      AGENCY_MODEL_PORTS: "",
      AGENCY_ALLOW_UNSANDBOXED: "",
      [variable]: key,
    };
    const daemon = await startDaemon({ home: home.path, env }).ready;
    try {
      const { board, companyId } = daemon;
      const { rootAgentId: id } = await board.call(viewCompany, { companyId });
      assert.equal((await board.call(viewAgent, { id })).adapterType, adapter.type);
      const { providers } = await board.call(listProviders, { companyId });
      const { config } = providers.find(({ name }) => name === provider) ?? assert.fail();
      const price = { input: 1, output: 1 };
      const models = { [config.defaultModel ?? ""]: { price } };
      await board.call(putProvider, {
        companyId,
        name: provider,
        config: { ...config, baseUrl: model.url, models },
      });
      await board.call(sendMessage, { companyId, body: "Hello." });
      const session = await until(
        async () => (await board.call(listAgentSessions, { id })).sessions.find(({ endedAt }) => endedAt),
        60,
        async () => `no session ended: ${daemon.log()}`,
      );
      const { entries } = await board.call(viewTranscript, { id: session.id });
      assert.equal(session.exitCode, 0, JSON.stringify(entries));
      assert.ok(model.calls.length > 0);
      for (const { conversation } of model.calls)
        assert.equal(Object(conversation.body).model, config.defaultModel);
      assert.ok(!JSON.stringify(entries).includes(key));
      // A program that does not know the model complains here.
      assert.doesNotMatch(JSON.stringify(entries), /metadata for|model.*not found/i);
    } finally {
      await daemon.stop();
      await model.stop();
      home.remove();
    }
  });
