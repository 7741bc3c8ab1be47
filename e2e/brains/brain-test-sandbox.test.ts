// `agency brains test` with the real programs. The test works like a session, so the model gets the program's own request.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { testBrain } from "../../src/contract/hiring.ts";
import { always, answers } from "../../src/testing/fake-model/script.ts";
import { type Adapter, anthropicApi, claude, codex, openAiResponses } from "./support/adapters.ts";
import { acpAgents } from "./support/acp-agents.ts";
import { type BrainStage, onBrain, providerOf, price } from "./support/stage.ts";

const subscription: Adapter = { ...claude, config: { login: "subscription" } };
/** Each brain, and a tool that only its program has. */
const cases: Readonly<Record<string, readonly [Adapter, tool: string]>> = {
  "Claude Code": [claude, "Bash"],
  "Claude Code with a subscription": [subscription, "Bash"],
  Codex: [codex, "exec_command"],
  anthropic_api: [anthropicApi, "shell"],
  "openai_compatible with Responses": [openAiResponses, "shell"],
  "acp with Claude Code": [acpAgents["Claude Code"], "Bash"],
  "acp with Codex": [acpAgents.Codex, "exec_command"],
};

async function tested({ type, config, configOf }: Adapter, stage: BrainStage) {
  const { board, companyId, url } = stage.daemon();
  const adapterConfig = configOf?.(url) ?? { ...config, provider: "fake" };
  let found = await board.call(testBrain, { companyId, type, adapterConfig });
  while (found.status === "running")
    found = await board.call(testBrain, { companyId, type, test: found.test });
  return found;
}

describe("the test of a brain", { concurrency: 2 }, () => {
  for (const [name, [adapter, tool]] of Object.entries(cases)) {
    test(`${name} answers as in a session, and every token is booked`, () =>
      onBrain(adapter, always(answers("OK")), async (stage) => {
        const found = await tested(adapter, stage);
        assert.equal(found.status, "works", `${found.says} ${found.remedy}`);
        assert.deepEqual([found.provider, found.model], [providerOf(adapter), adapter.model]);
        const asked = stage.model.calls.filter(({ conversation }) => conversation.tools.length > 0);
        assert.ok(asked.length > 0, "no request of the program");
        for (const { conversation } of asked) {
          const tools = JSON.stringify(conversation.tools);
          assert.ok(tools.includes(tool) && tools.includes("read_inbox"), tools);
        }
        const tokens = stage.model.calls.flatMap(({ tokens: one }) => one ?? []);
        const sum = (of: "input" | "output" | "cacheRead" | "cacheWrite"): number =>
          tokens.reduce((total, one) => total + one[of], 0);
        const all = sum("input") + sum("output") + sum("cacheRead") + sum("cacheWrite");
        assert.equal(found.tokens, all);
        const usd = sum("input") * price.input + sum("output") * price.output;
        assert.ok(found.costUsd > 0 && (sum("cacheRead") > 0 || Math.abs(found.costUsd - usd / 1e6) < 1e-5));
        assert.ok(found.milliseconds > 0);
      }));

    test(`${name} with a refused key says so, and what to do`, () =>
      onBrain(
        adapter,
        always(() => ({ fault: 401 })),
        async (stage) => {
          const found = await tested(adapter, stage);
          assert.equal(found.status, "fails");
          assert.ok(found.says.includes(`${providerOf(adapter)} does not accept its key`), found.says);
          assert.match(found.remedy, /agency secrets set FAKE_KEY/);
        },
      ));
  }
});
