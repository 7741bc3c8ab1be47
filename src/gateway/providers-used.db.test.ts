import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listEvents } from "../contract/ledger.ts";
import { putProvider } from "../contract/providers.ts";
import { always, answers } from "../testing/fake-model/script.ts";
import { gatewayScene, providerKey, sceneModel } from "../testing/gateway-scene.ts";
import { storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`the providers that an agent may use on ${kind}`, () => {
    /** The agent's brain names the provider `fake`. Other providers of the company have the same default model. */
    async function scene(agentModel?: string | null) {
      const made = await gatewayScene(kind, always(answers("Hi.")), { defaultModel: sceneModel }, agentModel);
      const { org, thinkWith, agent, fake, ask } = made;
      const { companyId, board } = org;
      const config = {
        dialect: "anthropic" as const,
        baseUrl: fake.url,
        secret: "MODEL_KEY",
        models: { [sceneModel]: { price: { input: 5, output: 25 } } },
        defaultModel: sceneModel,
      };
      for (const name of ["dear", "anthropic"]) await board(putProvider, { companyId, name, config });
      /** The status of a call by a new session of the agent, with this brain. */
      const statusWith = async (type: string, brain: object, provider: string): Promise<number> => {
        await thinkWith(agent.id, type, brain);
        const { token } = await org.session(agent.id);
        return (await ask({}, { token, path: `${provider}/v1/messages` })).status;
      };
      return { ...made, companyId, board, statusWith };
    }

    test("a call to another provider of the company is refused and recorded once, and is not sent", async () => {
      const { ask, fake, agent, board, companyId } = await scene();
      for (let tries = 0; tries < 2; tries++) {
        const refused = await ask({}, { path: "dear/v1/messages" });
        assert.equal(refused.status, 403);
        assert.match(await refused.text(), /does not use the provider \\"dear\\"/);
      }
      for (const path of ["dear/", "dear/v1/messages/count_tokens", "dear/v1/models"])
        assert.equal((await ask({}, { path })).status, 403, path);
      assert.equal(fake.calls.length, 0);
      const { events } = await board(listEvents, { companyId, limit: 200 });
      assert.deepEqual(
        events.flatMap(({ operation, subject, data }) =>
          operation === "model.refuse" ? [[subject, Object(data).provider]] : [],
        ),
        [[agent.id, "dear"]],
      );
      assert.equal((await ask()).status, 200);
      assert.ok(fake.calls.every(({ credential }) => credential === providerKey));
    });

    test("a brain uses the provider it names, and a command uses the provider that has the agent's model", async () => {
      const { statusWith } = await scene();
      for (const [type, config, provider, status] of [
        ["human", {}, "dear", 403],
        ["rehearsal", {}, "anthropic", 403],
        ["claude_local", {}, "dear", 403],
        ["claude_local", {}, "anthropic", 200],
        ["claude_local", { provider: "dear" }, "dear", 200],
        ["claude_local", { provider: "dear" }, "anthropic", 403],
        ["codex_local", { provider: "fake" }, "dear", 403],
        ["anthropic_api", { provider: "dear" }, "dear", 200],
        ["process", { command: "agent" }, "dear", 200],
        ["acp", { command: "agent" }, "dear", 200],
      ] as const)
        assert.equal(
          await statusWith(type, config, provider),
          status,
          `${type} ${JSON.stringify(config)} at ${provider}`,
        );
    });

    test("without a model, a command gets the default model only where its brain leads it", async () => {
      const { statusWith } = await scene(null);
      for (const [type, config, provider, status] of [
        ["claude_local", { provider: "dear" }, "dear", 200],
        ["process", { command: "agent" }, "dear", 403],
        ["process", { command: "agent" }, "anthropic", 403],
        ["acp", { command: "agent" }, "dear", 403],
        ["acp", { command: "agent" }, "anthropic", 200],
      ] as const)
        assert.equal(await statusWith(type, config, provider), status, `${type} at ${provider}`);
    });

    test("a session that runs may finish its turn when the agent gets another provider", async () => {
      const { ask, thinkWith, agent } = await scene();
      assert.equal((await ask()).status, 200);
      await thinkWith(agent.id, "claude_local", { provider: "dear" });
      assert.equal((await ask()).status, 200);
    });
  });
