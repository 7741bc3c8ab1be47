// Providers cache the beginning of requests. It must be the same in all sessions of an agent, or each session pays for it
// again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pauseAgent, resumeAgent, viewAgent } from "../../../src/contract/agents.ts";
import { grantPermission } from "../../../src/contract/capabilities.ts";
import { createFile } from "../../../src/contract/knowledge.ts";
import { createOutcome, updateOutcome } from "../../../src/contract/outcomes.ts";
import { setSecret } from "../../../src/contract/secrets.ts";
import type { Conversation } from "../../../src/testing/fake-model/conversation.ts";
import { always, use } from "../../../src/testing/fake-model/script.ts";
import type { Adapter } from "./adapters.ts";
import { finish, key, onBrain } from "./stage.ts";

/** Reads the inbox, acknowledges a message and submits a summary. */
const plain = always((conversation) =>
  conversation.entries.every(({ kind }) => kind !== "call")
    ? use("read_inbox")(conversation)
    : finish(conversation),
);

export function testPrefix(adapter: Adapter): void {
  test("requests begin with the same bytes in all sessions of the agent", (t) =>
    onBrain(adapter, plain, async (stage) => {
      const { companyId } = stage.daemon();
      const id = stage.agentId;
      const board = () => stage.daemon().board;
      const firsts: Prefix[] = [];
      const briefings: string[] = [];
      /** A session after a change. A notice of the change may lead to more than one. */
      const session = async (message: string, change = async () => {}): Promise<void> => {
        // The agent is paused, so no session starts before all steps are done.
        await board().call(pauseAgent, { id });
        await change();
        await stage.tell(message);
        const before = { calls: stage.model.calls.length, sessions: (await stage.sessions()).length };
        await board().call(resumeAgent, { id });
        await stage.ended(before.sessions + 1);
        const own = stage.model.calls.slice(before.calls).map(({ conversation }) => conversation);
        const asked = own.filter(({ tools }) => tools.length > 0);
        const [first = assert.fail("the model was not asked")] = asked.map(prefixOf);
        for (const one of asked) assert.deepEqual(prefixOf(one), first, "within a session");
        firsts.push(first);
        briefings.push(JSON.stringify(asked[0]?.entries.filter(({ kind }) => kind === "user")));
      };
      await session("The first message.");

      // The content of the briefing has changed, and the agent may read one more file.
      const title = "An outcome that the briefing lists as blocked";
      await session("Another message, which is longer than the first one.", async () => {
        const { mandateId } = await board().call(viewAgent, { id });
        const outcome = await board().call(createOutcome, { companyId, title, parents: [mandateId] });
        await board().call(updateOutcome, { id: outcome.id, blocked: { reason: "It waits." } });
        const content = "Be brief.";
        const file = await board().call(createFile, { companyId, description: "Rules", content });
        await board().call(grantPermission, { companyId, to: id, resource: `kb:${file.id}` });
      });

      await stage.stop();
      await stage.start();
      await board().call(setSecret, { companyId, name: "FAKE_KEY", value: key });
      await session("A message after a restart.");
      assert.deepEqual(firsts[1], firsts[0], "after a grant, with another briefing");
      assert.deepEqual(firsts[2], firsts[0], "after a restart");
      assert.deepEqual(
        briefings.map((briefing) => briefing.includes(title)),
        [false, true, true],
      );
      assert.match(
        firsts[0]?.words ?? "",
        /You work in an organization of agents[^]*session of Ada, Engineer/,
      );

      // A right that brings tools adds them to the list. Everything else stays the same.
      await session("Hire if you must.", async () => {
        await board().call(grantPermission, { companyId, to: id, resource: "org:hire" });
      });
      const [before = assert.fail(), after = assert.fail()] = [firsts[0], firsts[3]];
      assert.equal(after.words, before.words);
      assert.ok(after.tools.some((tool) => tool.includes("hire_agent")));
      assert.deepEqual(
        after.tools.filter((tool) => before.tools.includes(tool)),
        before.tools,
      );
      t.diagnostic(`${Buffer.byteLength(before.words)} bytes of words, ${before.tools.length} tools`);
    }));
}

interface Prefix {
  /** Each tool as JSON. */
  readonly tools: readonly string[];
  /** Everything before the briefing. */
  readonly words: string;
}

function prefixOf({ body }: Conversation): Prefix {
  const { tools, system, instructions, messages = [], input = [] } = Object(body);
  // Responses give each part an id. The model does not read it.
  const turns = [...messages, ...input].map(({ id: _, ...turn }: { id?: string; role?: string }) => turn);
  const briefing = turns.findIndex(({ role }) => role === "user");
  return {
    // Codex puts the tools of a server into one entry.
    tools: tools
      .flatMap(({ tools: inner = [], ...own }: { tools?: readonly unknown[] }) => [own, ...inner])
      .map((tool: unknown) => JSON.stringify(tool)),
    words: [system, instructions, ...turns.slice(0, briefing)]
      .filter((part) => part !== undefined)
      .map((part) => (typeof part === "string" ? part : JSON.stringify(part)))
      .join("\n"),
  };
}
