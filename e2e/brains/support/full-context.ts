// A session whose context is nearly full saves what it knows, and the work continues in a new, empty conversation.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Conversation } from "../../../src/testing/fake-model/conversation.ts";
import { always, use } from "../../../src/testing/fake-model/script.ts";
import type { Adapter } from "./adapters.ts";
import { answerOf, finish, onBrain } from "./stage.ts";

const saved = "Half of the report is written.";

export function testFullContext(given: Adapter): void {
  // Programs guess the context of an unknown model. The first context here is larger than the guess, the second much smaller.
  const adapter = { ...given, model: "house-model" };
  for (const contextTokens of adapter.compacts === true ? [1_200_000] : [1_200_000, 60_000])
    test(`a context of ${contextTokens} tokens that is nearly full: the state is saved, and the work continues`, () => {
      /** Most of the input was read from the cache. */
      const usage = { input: contextTokens * 0.02, cacheRead: contextTokens * 0.85 };
      const script = always((conversation) => {
        const { entries } = conversation;
        const did = (tool: string): boolean =>
          entries.some((entry) => entry.kind === "call" && entry.tool.endsWith(tool));
        if (!did("read_inbox")) return use("read_inbox")(conversation);
        if (isAfter(conversation)) return finish(conversation);
        if (!isAsked(conversation)) return use("list_permissions", {}, { usage })(conversation);
        if (!did("read_file")) return readState(conversation);
        if (!did("write_file")) return saveState(conversation);
        if (adapter.compacts === true) return { text: saved };
        return did("submit_summary")
          ? { text: "I stop." }
          : use("submit_summary", { summary: saved })(conversation);
      });
      return onBrain(
        adapter,
        script,
        async (stage) => {
          await stage.tell("Write a report.");
          const count = adapter.compacts === true ? 1 : 2;
          const last = await stage.ended(count);
          for (const { exitCode, summarized } of await stage.sessions())
            assert.deepEqual([exitCode, summarized], [0, true]);
          const asked = stage.model.calls.map(({ conversation }) => conversation);
          const before = asked.filter((one) => !isAfter(one) && one.tools.length > 0);
          assert.ok(asked.some(isAfter), "nothing was asked with the saved state");
          // The programs have not summarized by themselves: the conversation only grew.
          if (adapter.compacts !== true)
            for (const [at, { entries }] of before.slice(1).entries())
              assert.deepEqual(
                entries.filter(({ kind }) => kind === "user"),
                before[at]?.entries.filter(({ kind }) => kind === "user"),
              );
          assert.ok((await stage.transcript(last)).every(({ kind }) => kind !== "error"));
        },
        { contextTokens },
      );
    });
}

const wordsOf = ({ entries }: Conversation, kind: "user" | "result"): string =>
  entries.map((entry) => (entry.kind === kind ? entry.text : "")).join("\n");

/** The briefing, or the summary of the same session, contains the saved text. */
const isAfter = (conversation: Conversation): boolean => wordsOf(conversation, "user").includes(saved);

const isAsked = (conversation: Conversation): boolean =>
  /context is nearly full.*submit_summary/.test(wordsOf(conversation, "result")) ||
  /Your context is \d+ % full/.test(JSON.stringify(conversation.body));

const stateFile = ({ system }: Conversation): string =>
  /Your state document is kb file ([\w-]+)/.exec(system)?.[1] ?? "";

const readState = use("read_file", (conversation) => ({ id: stateFile(conversation) }));

const saveState = use("write_file", (conversation) => {
  const { version, hash } = answerOf(conversation, "read_file");
  return { id: stateFile(conversation), version, hash, content: saved };
});
