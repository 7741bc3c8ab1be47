// The brain `acp` with two real programs: Claude Code and Codex, each behind its adapter for the Agent Client Protocol. Only the
// model is played. The first request must have Agency's tools: the scripts fail if it does not.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pauseAgent } from "../../src/contract/agents.ts";
import { always, steps, use } from "../../src/testing/fake-model/script.ts";
import { gone, sessionProcesses } from "../support/processes.ts";
import { type Adapter, claude, codex } from "./support/adapters.ts";
import { testKeySearch } from "./support/key-search.ts";
import { finish, turns, onBrain } from "./support/stage.ts";

const otherModel = "test-model-1";

const agents: Readonly<Record<string, Adapter>> = {
  "Claude Code": {
    ...claude,
    type: "acp",
    configOf: (url) => ({
      command: "claude-agent-acp",
      env: {
        ANTHROPIC_BASE_URL: `${url}/model/fake`,
        ANTHROPIC_MODEL: claude.model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: claude.model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_MAX_RETRIES: "0",
        // Otherwise Claude hides MCP tools behind a search.
        ENABLE_TOOL_SEARCH: "false",
      },
    }),
  },
  Codex: {
    ...codex,
    // Codex hides MCP tools behind a search for the models that it knows.
    model: otherModel,
    type: "acp",
    configOf: (url) => ({
      command: "codex-acp",
      env: {
        NO_BROWSER: "1",
        MODEL_PROVIDER: "agency",
        INITIAL_AGENT_MODE: "agent-full-access",
        CODEX_CONFIG: JSON.stringify({
          model: otherModel,
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
              request_max_retries: 0,
            },
          },
        }),
      },
    }),
  },
};

for (const [name, adapter] of Object.entries(agents))
  describe(`the brain acp with ${name}`, { concurrency: 2 }, () => {
    test("works with shell and tools; its words are on record, and every call is counted to the token", () =>
      onBrain(
        adapter,
        steps(
          ...turns(
            adapter.shell("echo made-by-the-shell > note.txt && cat note.txt"),
            use("create_file", { description: "Report", content: "All is well." }),
          ),
        ),
        async (stage) => {
          await stage.tell("Write a report.");
          const session = await stage.ended(1, 120);
          const entries = await stage.transcript(session);
          const shown = JSON.stringify(entries);
          stage.model.check();
          assert.deepEqual([session.exitCode, session.summarized], [0, true], shown);
          assert.ok(
            entries.some(({ kind, text }) => kind === "result" && text.includes("made-by-the-shell")),
            shown,
          );
          assert.ok(
            entries.some(({ kind, tool }) => kind === "tool" && tool?.includes("create_file") === true),
            shown,
          );
          assert.ok(
            entries.some(({ kind, text }) => kind === "text" && text.includes("All is done.")),
            shown,
          );
          const tokens = stage.model.calls.flatMap(({ tokens: one }) => one ?? []);
          const sum = (of: "input" | "output"): number => tokens.reduce((total, one) => total + one[of], 0);
          assert.deepEqual(
            [session.usage.inputTokens, session.usage.outputTokens],
            [sum("input"), sum("output")],
          );
        },
      ));

    test("kill -9 of the daemon leaves nothing, and the next session continues the conversation", () => {
      let isFirst = true;
      const script = always((conversation) => {
        if (conversation.entries.every((entry) => entry.kind !== "call"))
          return use("read_inbox")(conversation);
        return isFirst ? { fault: "hang" } : finish(conversation);
      });
      return onBrain(adapter, script, async (stage) => {
        await stage.tell("Hello.");
        await stage.asked(2, 120);
        const { home } = stage.daemon();
        const before = stage.model.calls.length;
        await stage.kill();
        await gone(() => sessionProcesses(home), 5000, "after kill -9 of the daemon");
        isFirst = false;
        await stage.start();
        const session = await stage.ended(2, 120);
        assert.deepEqual([session.exitCode, session.summarized], [0, true]);
        const continued = JSON.stringify(stage.model.calls[before]?.conversation.body);
        assert.match(continued, /previous session was cut off/);
      });
    });

    test("a session whose model hangs ends when its agent is paused", () =>
      onBrain(
        adapter,
        always(() => ({ fault: "hang" })),
        async (stage) => {
          await stage.tell("Hello.");
          await stage.asked(1, 120);
          const { board, home } = stage.daemon();
          await board.call(pauseAgent, { id: stage.agentId });
          await stage.ended(1, 15);
          await gone(() => sessionProcesses(home), 12_000, "a session that was paused");
        },
      ));

    test("a refused key ends the session with that reason, and the provider is asked once", () =>
      onBrain(
        adapter,
        always(() => ({ fault: 401 })),
        async (stage) => {
          await stage.tell("Hello.");
          const session = await stage.ended(1, 120);
          assert.notEqual(session.exitCode, 0);
          assert.match(session.endReason ?? "", /401|does not accept|authenticat/i);
          // Claude asks for a title at the same time, without tools.
          const asked = stage.model.calls.filter(({ conversation }) => conversation.tools.length > 0);
          assert.equal(asked.length, 1);
        },
      ));

    testKeySearch(adapter);
  });
