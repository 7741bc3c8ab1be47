// The brain `acp` with three real programs: OpenCode, and Claude Code and Codex, each behind its adapter for the Agent Client
// Protocol. Only the model is played. The first request must have Agency's tools: the scripts fail if it does not.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pauseAgent, updateAgent } from "../../src/contract/agents.ts";
import { always, type Step, steps, use } from "../../src/testing/fake-model/script.ts";
import { gone, sessionProcesses } from "../support/processes.ts";
import { acpAgents, coreOnly } from "./support/acp-agents.ts";
import { testKeySearch } from "./support/key-search.ts";
import { testRecordings } from "./support/recording.ts";
import { testServerDown } from "./support/server-down.ts";
import { finish, turns, onBrain, until } from "./support/stage.ts";

/** Ends at once: only the request counts. */
const finishing: Step = () => ({ text: "OK" });

for (const [name, adapter] of Object.entries(acpAgents))
  describe(`the brain acp with ${name}`, { concurrency: 2 }, () => {
    const isCore = coreOnly.has(name);
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

    test("works with the agent's model and effort, whatever its own settings say", () => {
      const own = adapter.configOf;
      const chosen = { ...adapter, model: adapter.dialect === "openai" ? "gpt-5.5" : adapter.model };
      // Values of env are secrets. A model's name among them would also be hidden in the agent's own model.
      const unset = (url: string) => {
        const env = Object.entries(own(url).env).filter(([name]) => !name.endsWith("_MODEL"));
        return { ...own(url), env: Object.fromEntries(env) };
      };
      return onBrain({ ...chosen, configOf: unset }, always(finishing), async (stage) => {
        const { board } = stage.daemon();
        await board.call(updateAgent, { id: stage.agentId, model: chosen.model, effort: "high" });
        await stage.tell("Hello.");
        // A program may ask for a title first, without tools.
        const asked = await until(
          async () => stage.model.calls.find(({ conversation }) => conversation.tools.length > 0),
          120,
          async () => "the model was not asked",
        );
        const { model, reasoning, output_config: output, reasoning_effort } = Object(asked.conversation.body);
        assert.deepEqual([model, (reasoning ?? output)?.effort ?? reasoning_effort], [chosen.model, "high"]);
        await board.call(pauseAgent, { id: stage.agentId });
        const shown = JSON.stringify(await stage.transcript(await stage.ended(1, 30)));
        assert.ok(!shown.includes("has no effect"), shown);
      });
    });

    testRecordings(adapter, adapter.program, isCore ? ["work"] : ["work", "server-down"]);
    testKeySearch(adapter);
    if (isCore) return;

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

    testServerDown(adapter);
  });
