// The brain `acp` with a real program: Codex behind its adapter for the Agent Client Protocol. Only the model is played.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isTool } from "../../src/testing/fake-model/conversation.ts";
import { always, use } from "../../src/testing/fake-model/script.ts";
import { modelName, withModelCompany } from "../support/model-company.ts";
import { fileOfProgram } from "./support/adapters.ts";
import { firstMessage } from "./support/stage.ts";

const adapterConfig = (url: string) => ({
  command: fileOfProgram("codex-acp"),
  env: {
    NO_BROWSER: "1",
    MODEL_PROVIDER: "agency",
    INITIAL_AGENT_MODE: "agent-full-access",
    CODEX_CONFIG: JSON.stringify({
      model: modelName,
      model_provider: "agency",
      approval_policy: "never",
      sandbox_mode: "danger-full-access",
      web_search: "disabled",
      model_providers: {
        agency: {
          name: "Agency",
          base_url: `${url}/model/fake/v1`,
          env_key: "AGENCY_TOKEN",
          wire_api: "responses",
        },
      },
    }),
  },
});

test("Codex behind ACP works with Agency's tools, and the gateway counts what it used", () =>
  withModelCompany(
    {
      adapterType: "acp",
      adapterConfig,
      dialect: "openai",
      script: always((c) => {
        const did = (tool: string): boolean =>
          c.entries.some((entry) => entry.kind === "call" && entry.tool.endsWith(tool));
        // On a busy machine, Codex asks the model before its MCP servers are connected.
        if (!c.tools.some((tool) => isTool(tool, "read_inbox")))
          return use("exec_command", { cmd: "sleep 1" })(c);
        if (!did("read_inbox")) return use("read_inbox")(c);
        if (!did("acknowledge_message"))
          return use("acknowledge_message", { id: firstMessage(c), result: "done" })(c);
        return did("submit_summary")
          ? { text: "All is done." }
          : use("submit_summary", { summary: "Done." })(c);
      }),
      env: { AGENCY_ALLOW_UNSANDBOXED: "" },
    },
    async ({ fake, tell, ended, transcriptOf }) => {
      await tell("Hello.");
      const [session] = await ended(1, 90);
      const entries = await transcriptOf(session?.id ?? "");
      const shown = JSON.stringify(entries);
      assert.deepEqual([session?.exitCode, session?.summarized], [0, true], `${session?.endReason} ${shown}`);
      fake.check();
      assert.ok(
        entries.some(({ kind, text }) => kind === "text" && text.includes("All is done.")),
        shown,
      );
      assert.ok(
        entries.some(({ kind, tool }) => kind === "tool" && tool?.includes("read_inbox") === true),
        shown,
      );
      const tokens = fake.calls.flatMap(({ tokens: one }) => one ?? []);
      const output = tokens.reduce((sum, one) => sum + one.output, 0);
      assert.equal(session?.usage.outputTokens, output);
    },
  ));
